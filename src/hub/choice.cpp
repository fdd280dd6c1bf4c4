// SPDX-License-Identifier: Apache-2.0
// Files are ranked by the words of their names. A tie is an error that lists the candidates.
#include "hub/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/text/display.hpp"
#include "hub/reference.hpp"

namespace bittern::hub {
namespace {

/// Formats of ternary weights as they stand in names of files, the one to prefer first: those that
/// are read as they are, then the smaller ones that cost more to unpack, then those whose tiling a
/// file need not tell.
constexpr std::string_view kTernary[] = {"i2_s",   "tq2_0",     "q2_0",   "pq2_0",
                                         "tq1_0",  "ptq1_0",    "stq1_0", "iq2_bn",
                                         "iq1_bn", "iq2_bn_r4", "tl2",    "tl1"};
/// Parts of names of GGUF files that are no model of their own.
constexpr std::string_view kNoModel[] = {"mmproj", "imatrix", "vocab-only"};
/// The files that Bittern reads of a folder besides the weights.
constexpr std::string_view kFolderFiles[] = {"config.json",
                                             "generation_config.json",
                                             "tokenizer.json",
                                             "tokenizer.model",
                                             "tokenizer_config.json",
                                             "added_tokens.json",
                                             "special_tokens_map.json",
                                             "chat_template.jinja",
                                             "model.safetensors.index.json"};

bool IsLetter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// True if `word` stands in `name` between characters that could not be part of it.
bool HasWord(std::string_view name, std::string_view word) noexcept {
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !IsLetter(name[at - 1]);
    if (begins && (end == name.size() || !IsLetter(name[end]))) return true;
  }
  return false;
}

constexpr int kMostParts = 999;

/// Returns {3, "a"} for "a-00002-of-00003.gguf", {0, path} for others.
std::pair<int, std::string> SplitName(const std::string& path) {
  constexpr std::size_t kTail = std::string_view("-00002-of-00003.gguf").size();
  if (path.size() <= kTail) return {0, path};
  const std::string_view tail = std::string_view(path).substr(path.size() - kTail);
  int part = 0, count = 0;
  const auto read = [&](std::size_t at, int* number) {
    const auto [end, error] = std::from_chars(tail.data() + at, tail.data() + at + 5, *number);
    return error == std::errc() && end == tail.data() + at + 5;
  };
  const bool split = tail[0] == '-' && tail.substr(6, 4) == "-of-" && read(1, &part) &&
                     read(10, &count) && part >= 1 && part <= count && count <= kMostParts;
  return {split ? count : 0, path.substr(0, path.size() - kTail)};
}

/// The place of the file's format in kTernary by its name; one past the last for other names.
std::size_t RankOf(const std::string& path) {
  const std::string name = Lower(path.substr(path.rfind('/') + 1));
  for (std::size_t i = 0; i < std::size(kTernary); ++i) {
    if (HasWord(name, kTernary[i])) return i;
  }
  return std::size(kTernary);
}

/// True for GGUF files that may be a model of their own.
bool IsModel(const std::string& path) {
  const std::string lower = Lower(path);
  return lower.ends_with(".gguf") && std::ranges::none_of(kNoModel, [&](std::string_view word) {
           return lower.find(word) != std::string::npos;
         });
}

/// The files of a Hugging Face folder, at the top of the repository; none where it is no model.
std::vector<std::string> FolderFiles(std::span<const Candidate> files) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(files, name, &Candidate::path) != files.end();
  };
  if (!has("config.json")) return {};
  const bool sharded = has("model.safetensors.index.json");
  std::vector<std::string> weights, found;
  for (const Candidate& file : files) {
    const bool on_top = file.path.find('/') == std::string::npos;
    if (!on_top || !file.path.ends_with(".safetensors")) continue;
    const bool wanted = sharded
                            ? file.path.starts_with("model-") || file.path == "model.safetensors"
                            : file.path == "model.safetensors";
    if (wanted) weights.push_back(file.path);
  }
  if (weights.empty()) return {};
  for (const std::string_view name : kFolderFiles) {
    if (has(name)) found.emplace_back(name);
  }
  std::ranges::sort(weights);
  found.insert(found.end(), weights.begin(), weights.end());
  return found;
}

/// Refuses to guess between files that are equally good, and lists them.
tl::unexpected<Error> Ambiguous(std::string_view what, const std::vector<const GgufModel*>& found) {
  std::vector<Candidate> list;
  for (const GgufModel* model : found) list.push_back({model->parts.front(), model->size});
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{} files {}; choose one with USER/REPO:FILE:\n{}", found.size(), what,
                          ListFiles(list)));
}

/// Says that nothing fits, and lists the files that are there.
tl::unexpected<Error> NothingFits(std::string_view wanted, std::span<const Candidate> files) {
  const std::string what =
      wanted.empty()
          ? "a GGUF file or a folder of safetensors expected in the repository, none found"
          : fmt::format("{} is not in the repository", Quoted(wanted));
  return Fail(ErrorCode::kNotFound,
              files.empty() ? what + "; it has no files" : what + "; it has\n" + ListFiles(files));
}

Choice OfFolder(std::vector<std::string> files, std::string why) {
  return {.files = std::move(files), .is_folder = true, .why = std::move(why)};
}

/// The files that the user named: a file, the folder, or a word of a file's name.
Result<Choice> ChooseNamed(std::span<const Candidate> files, const std::vector<GgufModel>& ggufs,
                           std::string_view wanted) {
  for (const GgufModel& model : ggufs) {
    if (std::ranges::find(model.parts, wanted) != model.parts.end()) {
      return Choice{.files = model.parts, .why = {}};
    }
  }
  if (std::ranges::find(files, wanted, &Candidate::path) != files.end()) {
    return Choice{.files = {std::string(wanted)}, .why = {}};
  }
  const std::string word = Lower(wanted);
  std::vector<std::string> folder = FolderFiles(files);
  if (word == "safetensors" && !folder.empty()) return OfFolder(std::move(folder), "");
  std::vector<const GgufModel*> found;
  for (const GgufModel& model : ggufs) {
    if (HasWord(Lower(model.parts.front()), word)) found.push_back(&model);
  }
  if (found.empty()) return NothingFits(wanted, files);
  if (found.size() > 1)
    return Ambiguous(fmt::format("have {} in their names", Quoted(wanted)), found);
  return Choice{.files = found.front()->parts,
                .why = fmt::format("the only one with {} in its name", Quoted(wanted))};
}

}  // namespace

/// The models among the files. A split model counts once, and only if all its parts are there.
std::vector<GgufModel> FindGgufs(std::span<const Candidate> files) {
  std::vector<GgufModel> found;
  std::map<std::string, std::pair<int, GgufModel>> split;  // by what the parts' names begin with
  for (const Candidate& file : files) {
    if (!IsModel(file.path)) continue;
    const auto [count, stem] = SplitName(file.path);
    if (count == 0) {
      found.push_back({{file.path}, file.size, RankOf(file.path)});
      continue;
    }
    auto& [expected, model] =
        split.try_emplace(stem, count, GgufModel{{}, 0, RankOf(stem)}).first->second;
    model.parts.push_back(file.path);
    if (model.size && file.size) *model.size += *file.size;
  }
  for (auto& [stem, entry] : split) {
    auto& [expected, model] = entry;
    std::ranges::sort(model.parts);
    if (model.parts.size() == static_cast<std::size_t>(expected)) found.push_back(std::move(model));
  }
  return found;
}

std::string SizeText(std::uint64_t bytes) {
  if (bytes < 10000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", double(bytes) / 1e3);
  return fmt::format("{:.1f} MB", double(bytes) / 1e6);
}

/// A line for each file, for error messages: GGUF files first, then safetensors, then others.
std::string ListFiles(std::span<const Candidate> files) {
  constexpr std::size_t kMostListed = 20;
  std::vector<const Candidate*> sorted;
  for (const Candidate& file : files) sorted.push_back(&file);
  const auto kind = [](const Candidate* file) {
    return file->path.ends_with(".gguf") ? 0 : file->path.ends_with(".safetensors") ? 1 : 2;
  };
  std::ranges::sort(sorted, {}, [&](const Candidate* file) { return std::pair(kind(file), file); });
  std::string list;
  for (std::size_t i = 0; i < sorted.size() && i < kMostListed; ++i) {
    const Candidate& file = *sorted[i];
    list += fmt::format("{}  {}{}", i == 0 ? "" : "\n", Printable(file.path, 200),
                        file.size ? "  " + SizeText(*file.size) : "");
  }
  if (sorted.size() > kMostListed) {
    list += fmt::format("\n  and {} more", sorted.size() - kMostListed);
  }
  return list;
}

/// Prefers the best ternary GGUF file; a folder of safetensors comes before GGUF files whose names
/// name no ternary format.
Result<Choice> Choose(std::span<const Candidate> files, std::string_view wanted) {
  const std::vector<GgufModel> ggufs = FindGgufs(files);
  if (!wanted.empty()) return ChooseNamed(files, ggufs, wanted);
  constexpr std::size_t kOther = std::size(kTernary);
  std::vector<std::string> folder = FolderFiles(files);
  std::size_t best = kOther;
  for (const GgufModel& model : ggufs) best = std::min(best, model.rank);
  if (best == kOther && !folder.empty()) {
    return OfFolder(std::move(folder), ggufs.empty() ? "the repository is a folder of safetensors"
                                                     : "no GGUF file of it is ternary by its name");
  }
  std::vector<const GgufModel*> found;
  for (const GgufModel& model : ggufs) {
    if (model.rank == best) found.push_back(&model);
  }
  if (found.empty()) return NothingFits("", files);
  std::string format = best == kOther ? std::string() : std::string(kTernary[best]);
  std::ranges::transform(format, format.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  if (found.size() > 1) {
    return Ambiguous(best == kOther ? "may be the model" : "hold " + format + " weights", found);
  }
  std::string why = ggufs.size() == 1 ? "the only GGUF file"
                                      : fmt::format("{}, which Bittern prefers of {} GGUF files",
                                                    format, ggufs.size());
  return Choice{.files = found.front()->parts, .why = std::move(why)};
}

}  // namespace bittern::hub
