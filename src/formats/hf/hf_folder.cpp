// SPDX-License-Identifier: Apache-2.0
// Finds the files and puts the parts together; each part is parsed by a reader that sees bytes
// only.
#include "formats/hf/hf_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/json/json.hpp"
#include "base/sort_once.hpp"
#include "base/text/display.hpp"
#include "formats/file_kind.hpp"
#include "formats/hf/hf_config.hpp"
#include "formats/hf/hf_pooling.hpp"
#include "formats/hf/hf_rotation.hpp"
#include "formats/hf/hf_tensors.hpp"
#include "formats/hf/hf_tokenizer.hpp"
#include "formats/safetensors/safetensors_reader.hpp"

namespace bittern::formats {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kSingle = "model.safetensors";

std::string_view TextOf(const MappedFile& file) {
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The file `name` of the folder, nullopt if there is none. Errors carry the whole path.
Result<std::optional<MappedFile>> OpenIfThere(const fs::path& folder, const char* name) {
  std::error_code ignored;
  const fs::path path = folder / name;
  if (!fs::exists(path, ignored)) return std::nullopt;
  return BITTERN_TRY(MappedFile::Open(path));
}

/// A small text file of the folder may be what a failed download left.
Result<void> CheckText(const MappedFile& file, const char* name) {
  if (auto debris = RefuseDebris(file.bytes())) {
    return tl::unexpected(Within(name, *std::move(debris)));
  }
  return {};
}

/// All tensors of all shards, and the files that hold them.
struct Weights {
  std::vector<MappedFile> files;
  std::vector<SafetensorsEntry> entries;
  std::uint64_t data_start = 0;
};

/// Maps one file of weights and adds its tensors. A file of another kind (a pickle, an HTML page of
/// a failed download) is refused by what it is.
Result<void> AddFile(const fs::path& folder, const std::string& name, Weights* weights) {
  MappedFile file = BITTERN_TRY(MappedFile::Open(folder / name));
  if (!LooksLikeSafetensors(file.bytes())) {
    if (auto other = RefuseOtherKind(file.bytes())) {
      return tl::unexpected(Within(Printable(name), *std::move(other)));
    }
  }
  auto contents = ParseSafetensors(file.bytes());
  BITTERN_TRY(file.CheckUnchanged());
  if (!contents) return tl::unexpected(Within(Printable(name), std::move(contents).error()));
  if (weights->files.empty()) weights->data_start = contents->data_start;
  weights->files.push_back(std::move(file));
  for (SafetensorsEntry& entry : contents->entries) weights->entries.push_back(std::move(entry));
  return {};
}

/// Opens every shard once and checks that index and shards name the same tensors.
Result<Weights> OpenShards(const fs::path& folder, std::span<const ShardedTensor> index) {
  std::unordered_map<std::string, std::string> file_of;  // by tensor
  std::vector<std::string> files;
  for (const ShardedTensor& tensor : index) {
    file_of.emplace(tensor.name, tensor.file);
    files.push_back(tensor.file);
  }
  SortOnce(&files);
  if (files.size() > safetensors_limits::kMaxShards) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{}: at most {} shards expected, {} found", kIndex,
                            safetensors_limits::kMaxShards, files.size()));
  }
  Weights weights;
  for (const std::string& file : files) {
    const std::size_t first = weights.entries.size();
    BITTERN_TRY(AddFile(folder, file, &weights));
    for (std::size_t i = first; i < weights.entries.size(); ++i) {
      const std::string& name = weights.entries[i].name;
      const auto found = file_of.find(name);
      if (found == file_of.end() || found->second != file) {
        return Fail(ErrorCode::kCorruptFile,
                    fmt::format("{}: tensor {} is in this file, but not so in {}", Printable(file),
                                Quoted(name), kIndex));
      }
      file_of.erase(found);
    }
  }
  if (file_of.empty()) return weights;
  const auto& [name, file] = *file_of.begin();
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{}: tensor {} is not in {}", kIndex, Quoted(name), Printable(file)));
}

/// Which files hold the tensors: the index's, else model.safetensors, else the one that was named.
Result<Weights> OpenWeights(const fs::path& folder, const std::optional<fs::path>& named) {
  const auto index_file = BITTERN_TRY(OpenIfThere(folder, kIndex));
  if (index_file) {
    BITTERN_TRY(CheckText(*index_file, kIndex));
    auto index = ParseSafetensorsIndex(TextOf(*index_file));
    BITTERN_TRY(index_file->CheckUnchanged());
    if (!index) return tl::unexpected(Within(kIndex, std::move(index).error()));
    const bool listed = !named || std::ranges::find(*index, named->filename().string(),
                                                    &ShardedTensor::file) != index->end();
    if (listed) return OpenShards(folder, *index);
  }
  std::error_code ignored;
  if (!named && !fs::exists(folder / kSingle, ignored)) {
    return tl::unexpected(RefuseWeightlessFolder(folder));
  }
  Weights weights;
  BITTERN_TRY(AddFile(folder, named ? named->filename().string() : kSingle, &weights));
  return weights;
}

/// "hf-packed" of "models/hf-packed/".
std::string FolderName(const fs::path& folder) {
  std::error_code failed;
  const fs::path whole = fs::weakly_canonical(folder, failed);
  return Printable((failed ? folder : whole).filename().string(), 255);
}

/// Reads whichever tokenizer files are there. The mappings live until the reader is done, since the
/// texts are views into them.
Result<void> ReadTokenizer(const fs::path& folder, const Json& config, std::uint64_t vocab_size,
                           Metadata* metadata) {
  std::vector<MappedFile> open;
  open.reserve(std::size(kHfTokenizerFiles));
  HfTokenizerTexts texts;
  for (std::size_t i = 0; i < std::size(kHfTokenizerFiles); ++i) {
    auto file = BITTERN_TRY(OpenIfThere(folder, kHfTokenizerFiles[i].name));
    if (!file) continue;
    BITTERN_TRY(CheckText(*file, kHfTokenizerFiles[i].name));
    open.push_back(*std::move(file));
    texts.*kHfTokenizerFiles[i].text = TextOf(open.back());
  }
  const auto read = ReadHfTokenizer(texts, config, vocab_size, metadata);
  for (const MappedFile& file : open) BITTERN_TRY(file.CheckUnchanged());
  return read;
}

/// hadamard.json, where it is there or must be.
Result<void> ReadRotation(const fs::path& folder, bool needed, HfConfig* config,
                          Metadata* metadata) {
  const auto file = BITTERN_TRY(OpenIfThere(folder, kHfRotationFile));
  if (!file && !needed) return {};
  if (!file) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("{} is missing, which config.json's model_type needs: without it the "
                            "weights mean nothing",
                            kHfRotationFile),
                "it stands beside config.json where the model comes from");
  }
  BITTERN_TRY(CheckText(*file, kHfRotationFile));
  auto json = Json::Parse(TextOf(*file), {});
  BITTERN_TRY(file->CheckUnchanged());
  auto read = json ? ReadHfRotation(*json, config, metadata)
                   : Result<void>(tl::unexpected(std::move(json).error()));
  if (read) return {};
  return tl::unexpected(Within(kHfRotationFile, std::move(read).error()));
}

/// A list of config.json that GGUF files have as a tensor.
void AddFactors(std::string name, const std::vector<float>& factors, HfFolderContents* contents) {
  if (factors.empty()) return;
  const auto bytes = std::as_bytes(std::span(factors));
  const auto& kept = contents->memory.emplace_back(bytes.begin(), bytes.end());
  contents->tensors.push_back({.name = std::move(name),
                               .format = quant::WeightFormat::kF32,
                               .rank = 1,
                               .shape = {factors.size(), 1, 1, 1},
                               .file_offset = 0,
                               .bytes = kept});
}

}  // namespace

bool LooksLikeHfFolder(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kConfig, ignored);
}

/// config.json comes first: without it, neither names nor shapes of tensors mean anything.
Result<HfFolderContents> OpenHfFolder(const fs::path& folder,
                                      const std::optional<fs::path>& weights_file) {
  const MappedFile config_file = BITTERN_TRY(MappedFile::Open(folder / kConfig));
  BITTERN_TRY(CheckText(config_file, kConfig));
  const auto in_config = [](Error error) {
    return tl::unexpected(Within(kConfig, std::move(error)));
  };
  auto json = Json::Parse(TextOf(config_file), {});
  BITTERN_TRY(config_file.CheckUnchanged());
  if (!json) return in_config(std::move(json).error());
  HfFolderContents contents;
  auto config = ReadHfConfig(*json, &contents.metadata);
  if (!config) return in_config(std::move(config).error());
  BITTERN_TRY(ReadRotation(folder, IsRotatedPack(*json), &*config, &contents.metadata));
  BITTERN_TRY(contents.metadata.AddString("general.name", FolderName(folder)));
  Weights weights = BITTERN_TRY(OpenWeights(folder, weights_file));
  HfMapped mapped = BITTERN_TRY(MapHfTensors(*config, weights.entries, &contents.decisions));
  contents.tensors = std::move(mapped.tensors);
  contents.memory = std::move(mapped.memory);
  AddFactors("rope_factors_long.weight", config->long_factors, &contents);
  AddFactors("rope_factors_short.weight", config->short_factors, &contents);
  contents.files = std::move(weights.files);
  contents.data_start = weights.data_start;
  BITTERN_TRY(ReadHfPooling(folder, config->architecture, &contents.metadata));
  BITTERN_TRY(ReadTokenizer(folder, TextConfig(*json), config->vocab_size, &contents.metadata));
  return contents;
}

}  // namespace bittern::formats
