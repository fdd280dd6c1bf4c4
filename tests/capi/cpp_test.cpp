// SPDX-License-Identifier: Apache-2.0
// The C++ header: every function of it once, and the promises of its types.
#include <gmock/gmock.h>

#include <bittern/bittern.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

namespace bt = bittern::api;
using testing::HasSubstr;

TEST(Cpp, ConstAccess) {
  const auto model = bt::Model::BuiltIn();
  ASSERT_TRUE(model);
  EXPECT_GT(model->Number("vocab_size").value(), 0);
  EXPECT_GT((*model).Number("hidden_size").value(), 0);
  EXPECT_GT(model.value().Number("num_layers").value(), 0);
  const auto none = model->Number("nothing");
  EXPECT_FALSE(none);
  EXPECT_EQ(none.error().status, BITTERN_ERROR_NOT_FOUND);
  EXPECT_THROW(static_cast<void>(none.value()), bt::Exception);
}

TEST(Cpp, ModelsFromFilesAndMemory) {
  double told = -1;
  const auto tell = [&](double done) {
    told = done;
    return true;
  };
  const auto loaded = bt::Model::Load(BITTERN_POCKET, {}, tell).value();
  EXPECT_GE(told, 0);
  std::ifstream file(BITTERN_POCKET, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto in_memory = bt::Model::LoadMemory(std::as_bytes(std::span(bytes)), "it").value();
  EXPECT_EQ(in_memory.Number("vocab_size").value(), loaded.Number("vocab_size").value());
  EXPECT_FALSE(bt::Model::Load(BITTERN_POCKET, {}, [](double) { return false; }));
  EXPECT_THAT(bt::Inspect(BITTERN_POCKET).value().json(), HasSubstr("tensors"));
  EXPECT_EQ(bt::Doctor("/no/such/folder/x").value().json().empty(), false);
  EXPECT_FALSE(
      bt::Convert(BITTERN_POCKET, "/no/such/folder/x", bt::Options::Of({{"to", "i2_s"}}).value()));
}

TEST(Cpp, TextsTokensAndVectors) {
  const auto model = bt::Model::BuiltIn().value();
  const auto prompt = model.Tokenize("A tern is").value();
  EXPECT_FALSE(model.TokenBytes(prompt.ids().back()).value().empty());
  EXPECT_FALSE(model.TokenIsEnd(prompt.ids().back()).value());
  EXPECT_THAT(model.Memory().value().json(), HasSubstr("page_bytes"));
  EXPECT_THAT(model.Info().value().json(), HasSubstr("architecture"));
  EXPECT_EQ(model.Detokenize(prompt.ids()).value().text(), "A tern is");

  auto sequence =
      bt::Sequence::Create(model, bt::Options::Of({{"max_sequences", "2"}}).value()).value();
  size_t rows = 0;
  sequence
      .EvalAll(prompt.ids(),
               [&](size_t position, std::span<const float>) { return position == rows++; })
      .value();
  EXPECT_EQ(sequence.Length().value(), prompt.ids().size());
  auto fork = sequence.Fork(prompt.ids().size()).value();
  auto other = bt::Sequence::Create(model).value();
  std::vector<float> last;
  other
      .EvalHidden(prompt.ids(),
                  [&](size_t, std::span<const float> values) {
                    last.assign(values.begin(), values.end());
                    return true;
                  })
      .value();
  const auto embedding = model.Embed(prompt.ids()).value();
  EXPECT_EQ(std::vector<float>(embedding.floats().begin(), embedding.floats().end()), last);

  const auto options =
      bt::Options::Of({{"n_predict", "8"}, {"temperature", "0"}, {"receipt", "on"}}).value();
  EXPECT_EQ(options.Get("n_predict").value().text(), "8");
  std::vector<int32_t> ids;
  const auto text = fork.Generate(options,
                                  [&](std::string_view) {
                                    const auto part = bt::TextPart().value();
                                    ids.insert(ids.end(), part.ids().begin(), part.ids().end());
                                    return true;
                                  })
                        .value();
  EXPECT_EQ(ids, std::vector<int32_t>(text.ids().begin(), text.ids().end()));
  EXPECT_THAT(model.Verify(text.json()).value().json(), HasSubstr("\"identical\":true"));
  EXPECT_THAT(model.ScoreText("A tern is a bird. A dog is an animal.").value().json(),
              HasSubstr("perplexity"));
  EXPECT_THAT(
      model.ScoreChoices("{\"query\":\"A\",\"choices\":[\" b\",\" c\"],\"gold\":0}").value().json(),
      HasSubstr("\"acc\""));
  EXPECT_EQ(model.ParseAnswer("plain").value().text(), "plain");

  // A sampler with the model makes the same text.
  auto sampler = bt::Sampler::Create(model, options).value();
  auto stepped = bt::Sequence::Create(model).value();
  stepped.Eval(prompt.ids()).value();
  for (const int32_t id : ids) {
    EXPECT_EQ(sampler.Sample(stepped.Logits().value()).value(), id);
    sampler.Accept(id).value();
    stepped.Eval({&id, 1}).value();
  }
  EXPECT_FALSE(bt::Sampler::Create(bt::Options::Of({{"regex", "a"}}).value()));
}

TEST(Cpp, ALogHasAListenerAndATraceItsText) {
  std::vector<std::string> first, second;
  const auto to = [](std::vector<std::string>* lines) {
    return [lines](int32_t level, std::string_view text) {
      EXPECT_EQ(level, BITTERN_LOG_INFO);
      lines->emplace_back(text);
    };
  };
  bt::SetLog(to(&first)).value();
  const auto model = bt::Model::BuiltIn().value();
  EXPECT_THAT(first, testing::Contains(HasSubstr(" = ")));
  const size_t heard = first.size();
  bt::SetLog(to(&second)).value();
  bt::Model::BuiltIn().value();
  EXPECT_EQ(first.size(), heard);
  EXPECT_EQ(second, first);
  bt::SetLog({}).value();
  bt::Model::BuiltIn().value();
  EXPECT_EQ(second.size(), heard);

  const auto ids = model.Tokenize("A tern is").value();
  const std::string folder = testing::TempDir() + "bittern-cpp-trace";
  std::filesystem::remove_all(folder);
  const auto trace = model.Trace(ids.ids()).value();
  EXPECT_THAT(std::string(trace.text()), HasSubstr("attn_norm"));
  EXPECT_EQ(model.Trace(ids.ids(), folder).value().text(), trace.text());
  EXPECT_TRUE(std::filesystem::exists(folder + "/trace.json"));
  std::filesystem::remove_all(folder);
  const int32_t wrong = -1;
  EXPECT_EQ(model.Trace({&wrong, 1}).error().status, BITTERN_ERROR_ARGUMENT);
}

TEST(Cpp, AnEngineTellsTheEndOfEveryRequest) {
  const auto model = bt::Model::BuiltIn().value();
  const auto ids = model.Tokenize("A tern is").value();
  int told = 0;
  {
    auto engine = bt::Engine::Create(model).value();
    const auto on_done = [&](uint64_t, bt::Expected<bt::Result> result) {
      told += !result && result.error().status == BITTERN_ERROR_CANCELLED ? 1 : 0;
    };
    engine.Submit(ids.ids(), {}, on_done).value();
    engine.SubmitJson("{\"prompt\":\"A\"}", {}, on_done).value();
  }
  EXPECT_EQ(told, 2);
}

}  // namespace
