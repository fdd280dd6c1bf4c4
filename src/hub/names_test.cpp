// SPDX-License-Identifier: Apache-2.0
// The readings of a name, from a list of files and from a hub's answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "hub/choice.hpp"
#include "hub/known_models.hpp"
#include "hub/pull.hpp"
#include "hub/reference.hpp"
#include "hub/repo_info.hpp"

namespace bittern::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Reference, ReadsNames) {
  const auto plain = ParseReference("user/repo").value();
  EXPECT_EQ(plain.repo, "user/repo");
  EXPECT_EQ(plain.revision, "main");
  EXPECT_EQ(plain.file, "");
  const auto full = ParseReference("hf://user/re.po_1@refs/pr/2:a/b-i2_s.gguf").value();
  EXPECT_EQ(full.repo, "user/re.po_1");
  EXPECT_EQ(full.revision, "refs/pr/2");
  EXPECT_EQ(full.file, "a/b-i2_s.gguf");
  EXPECT_EQ(RepoText(full), "user/re.po_1@refs/pr/2");
  const auto page = ParseReference("https://huggingface.co/u/r/blob/v1/d/f.gguf?x=1").value();
  EXPECT_EQ(page.repo, "u/r");
  EXPECT_EQ(page.revision, "v1");
  EXPECT_EQ(page.file, "d/f.gguf");
  EXPECT_EQ(ParseReference("BitNet-2B")->repo, "microsoft/bitnet-b1.58-2B-4T-gguf");
}

TEST(Reference, RefusesWhatCouldLeaveAFolder) {
  for (const char* name : {"", "a", "/", "a/", "/b", "a/b/c", "../b", "a/..", "a/.b", "a--b/c",
                           "a/b:", "a/b:..", "a/b:/x", "a/b:x/../y", "a/b@..", "a/b@/x", "a/b\n",
                           "http://other.example/a/b", "a\\b/c"}) {
    EXPECT_FALSE(ParseReference(name)) << name;
  }
  EXPECT_TRUE(IsSafePath("a/b.gguf"));
  EXPECT_FALSE(IsSafePath(std::string("a\0b", 3)));
  EXPECT_FALSE(IsSafePath("a/b\x7f"));
  EXPECT_FALSE(IsSafePath("gr\xc3\xbc.gguf"));
}

TEST(Reference, SaysWhatToDoWithOtherAddresses) {
  for (const char* name : {"https://other.example/tern.gguf", "HTTP://other.example/a/b",
                           "https://huggingface.co/user", "hf://https://other.example/u/r"}) {
    const auto read = ParseReference(name);
    ASSERT_FALSE(read) << name;
    EXPECT_THAT(read.error().message, testing::HasSubstr("at huggingface.co (https")) << name;
    EXPECT_THAT(read.error().hint, testing::HasSubstr("curl -LO")) << name;
  }
}

TEST(KnownModels, RowsAreNamesAndHashes) {
  std::set<std::string_view> names;
  for (const KnownModel& model : KnownModels()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_EQ(ParseReference(model.name)->repo, model.repo);
    EXPECT_TRUE(ParseReference(model.repo)) << model.repo;
    EXPECT_TRUE(model.sha256.empty() || IsHex(model.sha256, 64)) << model.name;
    EXPECT_TRUE(model.sha256.empty() || model.bytes > 0) << model.name;
    EXPECT_THAT(model.tried, testing::MatchesRegex("(trained|small)(, full)?")) << model.name;
  }
}

// A row that says "as NAME" names one that has a name.
TEST(KnownModels, OtherRepositoriesSayWhetherTheyRun) {
  for (const OtherModel& model : OtherModels()) {
    EXPECT_FALSE(model.formats.empty()) << model.repo;
    EXPECT_THAT(model.runs, testing::MatchesRegex("(yes|no: |not tried|the first).*"))
        << model.repo;
    const auto as = model.runs.find("as ");
    if (as != std::string_view::npos && model.runs.starts_with("yes")) {
      EXPECT_NE(FindKnownModel(model.runs.substr(as + 3)), nullptr) << model.repo;
    }
  }
}

// No hub is asked: this one cannot be.
TEST(KnownModels, ARepositoryThatDoesNotRunIsRefusedBeforeItsDownload) {
  const auto reference = ParseReference("nousresearch/OLMo-Bitnet-1B");
  ASSERT_TRUE(reference);
  Settings settings;
  settings.endpoint = "http://127.0.0.1:1";
  const auto pulled = Pull(*reference, settings, {});
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(pulled.error().message, testing::HasSubstr("does not run here: OLMo"));
}

std::vector<Candidate> Files(std::initializer_list<const char*> names) {
  std::vector<Candidate> files;
  for (const char* name : names) files.push_back({name, 1000});
  return files;
}

TEST(Choice, PrefersTernaryFormatsInOrder) {
  EXPECT_THAT(Choose(Files({"m-TQ2_0.gguf", "m-I2_S.gguf", "m-f16.gguf"}), "")->files,
              ElementsAre("m-I2_S.gguf"));
  EXPECT_THAT(Choose(Files({"m-TQ1_0.gguf", "m.TQ2_0.gguf"}), "")->files,
              ElementsAre("m.TQ2_0.gguf"));
  EXPECT_THAT(Choose(Files({"m-PQ2_0.gguf", "m-Q8_0.gguf"}), "")->files,
              ElementsAre("m-PQ2_0.gguf"));
  EXPECT_THAT(Choose(Files({"plain.gguf", "mmproj-f16.gguf"}), "")->files,
              ElementsAre("plain.gguf"));
  // "xi2_s" is not the format's name.
  EXPECT_THAT(Choose(Files({"mxi2_s.gguf", "m-tl2.gguf"}), "")->files, ElementsAre("m-tl2.gguf"));
}

TEST(Choice, TakesFoldersWhereNoGgufIsTernary) {
  const auto folder = Files({"README.md", "model.safetensors", "config.json", "tokenizer.json",
                             "m-f16.gguf", "other.safetensors", "sub/model.safetensors"});
  const auto choice = Choose(folder, "").value();
  EXPECT_TRUE(choice.is_folder);
  EXPECT_THAT(choice.files, ElementsAre("config.json", "tokenizer.json", "model.safetensors"));
  EXPECT_THAT(Choose(folder, "f16")->files, ElementsAre("m-f16.gguf"));
  const auto shards =
      Choose(Files({"config.json", "model-00002-of-00002.safetensors",
                    "model-00001-of-00002.safetensors", "model.safetensors.index.json"}),
             "")
          .value();
  EXPECT_THAT(shards.files,
              ElementsAre("config.json", "model.safetensors.index.json",
                          "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"));
  EXPECT_FALSE(Choose(Files({"model.safetensors"}), ""));
}

TEST(Choice, PartsOfASplitFileComeTogetherOrNotAtAll) {
  EXPECT_THAT(Choose(Files({"m-00002-of-00002.gguf", "m-00001-of-00002.gguf"}), "")->files,
              ElementsAre("m-00001-of-00002.gguf", "m-00002-of-00002.gguf"));
  EXPECT_FALSE(Choose(Files({"m-00002-of-00002.gguf"}), ""));
}

TEST(Choice, SeveralThatAreAsGoodAreListed) {
  const auto two = Choose(Files({"a-i2_s.gguf", "b-i2_s.gguf"}), "");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(two.error().message, HasSubstr("a-i2_s.gguf  1000 bytes"));
  EXPECT_EQ(Choose(Files({"README.md"}), "x.gguf").error().code, ErrorCode::kNotFound);
}

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

std::string Answer(const std::string& siblings) {
  return std::string("{\"sha\":\"") + kCommit + "\",\"siblings\":[" + siblings + "]}";
}

TEST(RepoInfo, ReadsSizesAndHashes) {
  const std::string hash(64, 'a'), blob(40, 'b');
  const auto info = ParseRepoInfo(Answer(R"({"rfilename":"a.gguf","size":5,"blobId":")" + blob +
                                         R"(","lfs":{"sha256":")" + hash +
                                         R"(","size":7}},{"rfilename":"b","blobId":")" + blob +
                                         R"("},{"rfilename":"../c"})"))
                        .value();
  ASSERT_EQ(info.files.size(), 2U);
  EXPECT_EQ(info.commit, kCommit);
  EXPECT_EQ(info.files[0].size, 7U);
  EXPECT_EQ(info.files[0].sha256, hash);
  EXPECT_EQ(info.files[0].git_sha1, "");  // of the pointer, not of the file
  EXPECT_EQ(info.files[1].size, std::nullopt);
  EXPECT_EQ(info.files[1].git_sha1, blob);
  EXPECT_EQ(info.left_out, 1U);
}

TEST(RepoInfo, RefusesOtherAnswers) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{\"sha\":5,\"siblings\":[]}"), Answer("5"),
        Answer(R"({"rfilename":5})"), Answer(R"({"rfilename":"a","size":-1})"),
        Answer(R"({"rfilename":"a","size":99999999999999999})"), std::string(100, '[')}) {
    EXPECT_FALSE(ParseRepoInfo(text)) << text;
  }
}

}  // namespace
}  // namespace bittern::hub
