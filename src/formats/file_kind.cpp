// SPDX-License-Identifier: Apache-2.0
// Signatures first, then guesses: safetensors, text of any kind, zeros, noise.
#include "formats/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bytes.hpp"
#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

using std::string_view_literals::operator""sv;

/// The first bytes of a kind of file, and why it is refused.
struct Signature {
  std::string_view magic;
  ErrorCode code;
  std::string_view refusal;
};

constexpr auto kUnsupported = ErrorCode::kUnsupported;
constexpr auto kCorrupt = ErrorCode::kCorruptFile;

constexpr std::string_view kLegacyGgml =
    "a GGML file from before GGUF (2023); not supported, look for the model as GGUF";
constexpr std::string_view kPickle =
    "a PyTorch file (pickle); not supported, because unpickling runs code; use the model's GGUF";
constexpr std::string_view kPacked = "a compressed file; unpack it first";

// Longest prefixes need not come first: no magic here is the beginning of another.
constexpr Signature kSignatures[] = {
    {"FUGG"sv, kUnsupported, "a byte-swapped (big-endian) GGUF file; use the little-endian one"},
    {"lmgg"sv, kUnsupported, kLegacyGgml},
    {"fmgg"sv, kUnsupported, kLegacyGgml},
    {"tjgg"sv, kUnsupported, kLegacyGgml},
    {"algg"sv, kUnsupported, kLegacyGgml},
    {"ggml"sv, kUnsupported, kLegacyGgml},
    {"PK\x03\x04"sv, kUnsupported,
     "a zip archive (PyTorch's .bin and .pt files are such); not supported, use the model's GGUF"},
    {"\x80\x02"sv, kUnsupported, kPickle},
    {"\x80\x03"sv, kUnsupported, kPickle},
    {"\x80\x04"sv, kUnsupported, kPickle},
    {"\x80\x05"sv, kUnsupported, kPickle},
    {"\x1f\x8b"sv, kUnsupported, kPacked},
    {"\x28\xb5\x2f\xfd"sv, kUnsupported, kPacked},
    {"\xfd"
     "7zXZ"sv,
     kUnsupported, kPacked},
    {"BZh"sv, kUnsupported, kPacked},
    {"7z\xbc\xaf"sv, kUnsupported, kPacked},
    {"\x89HDF"sv, kUnsupported, "an HDF5 file; not supported, use the model's GGUF"},
};

constexpr std::string_view kLfsPointer = "version https://git-lfs";

/// The first bytes, all that anything here looks at.
std::string_view HeadOf(std::span<const std::byte> bytes) {
  constexpr std::size_t kHeadBytes = 1024;
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kHeadBytes)};
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 0x80 ? std::tolower(c) : c); });
  return lower;
}

/// Without a byte order mark and white space in front.
std::string_view SkipSpace(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  head.remove_prefix(std::min(first, head.size()));
  return head;
}

/// Shows how the text begins: often it is the message of a server.
Error RefuseText(std::string_view head) {
  constexpr std::size_t kShown = 60;
  head = SkipSpace(head);
  if (head.starts_with('{') || head.starts_with('[')) {
    return {kCorrupt, fmt::format("JSON text, not a model: {}", Quoted(head, kShown))};
  }
  return {kCorrupt, fmt::format("a text file, not a model: {}", Quoted(head, kShown))};
}

/// True without control characters; bytes above 127 may be UTF-8.
bool IsText(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](unsigned char c) {
    return c >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

bool LooksLikeGguf(std::span<const std::byte> bytes) noexcept {
  constexpr std::string_view kMagic = "GGUF";
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

/// A length of 8 bytes that is plausible, then the brace of a JSON object.
bool LooksLikeSafetensors(std::span<const std::byte> bytes) noexcept {
  ByteReader reader(bytes);
  const auto length = reader.Number<std::uint64_t>("");
  const auto brace = reader.Chars(1, "");
  return length && brace && *length >= 2 && *length <= std::uint64_t{1} << 32 && *brace == "{";
}

std::optional<Error> RefuseDebris(std::span<const std::byte> bytes) {
  const std::string_view head = HeadOf(bytes);
  if (head.starts_with(kLfsPointer)) {
    return Error{kCorrupt,
                 "a Git LFS pointer, not the file itself; fetch the file with \"git lfs pull\""};
  }
  const std::string lower = Lower(SkipSpace(head));
  if (lower.starts_with("<!doctype html") || lower.starts_with("<html") ||
      lower.starts_with("<?xml") || lower.starts_with("<!--")) {
    return Error{kCorrupt,
                 "a web page, not the file itself; the download address gave a page instead"};
  }
  return std::nullopt;
}

std::optional<Error> RefuseOtherKind(std::span<const std::byte> bytes) {
  const std::string_view head = HeadOf(bytes);
  if (head.empty()) return Error{kCorrupt, "file is empty"};
  for (const Signature& signature : kSignatures) {
    if (head.starts_with(signature.magic)) {
      return Error{signature.code, std::string(signature.refusal)};
    }
  }
  if (auto debris = RefuseDebris(bytes)) return debris;
  if (IsText(head)) return RefuseText(head);
  return std::nullopt;
}

Error RefuseFile(std::span<const std::byte> bytes) {
  if (auto other = RefuseOtherKind(bytes)) return *std::move(other);
  const std::span<const std::byte> start = bytes.first(HeadOf(bytes).size());
  if (LooksLikeSafetensors(start)) {
    return {kUnsupported,
            "a safetensors file alone; it needs the config.json that it was published with, "
            "in the same folder"};
  }
  if (std::all_of(start.begin(), start.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return {kCorrupt, "begins with zeros where a model file has \"GGUF\"; an unfinished download?"};
  }
  std::string found;
  for (const std::byte b : start.first(std::min<std::size_t>(start.size(), 4))) {
    found += fmt::format(" {:02x}", static_cast<unsigned>(b));
  }
  return {kCorrupt,
          fmt::format("not a model file: the bytes \"GGUF\" expected first,{} found", found)};
}

namespace {

/// The names of the model files of a folder, sorted.
struct ModelFiles {
  std::vector<std::string> ggufs, safetensors, pickles;
};

/// Looks at no more than 10,000 entries: a wrong folder may be a huge one.
ModelFiles FindModelFiles(const std::filesystem::path& folder) {
  constexpr std::size_t kMaxSeen = 10000;
  ModelFiles files;
  std::error_code failed;
  auto entry = std::filesystem::directory_iterator(folder, failed);
  for (std::size_t seen = 0;
       !failed && entry != std::filesystem::directory_iterator() && seen < kMaxSeen;
       ++seen, entry.increment(failed)) {
    const std::string extension = Lower(entry->path().extension().string());
    std::string name = Printable(entry->path().filename().string(), 255);
    if (extension == ".gguf") files.ggufs.push_back(std::move(name));
    if (extension == ".safetensors") files.safetensors.push_back(std::move(name));
    const bool is_pickle = extension == ".pt" || extension == ".pth" ||
                           (extension == ".bin" && name.starts_with("pytorch_model"));
    if (is_pickle) files.pickles.push_back(std::move(name));
  }
  for (auto* list : {&files.ggufs, &files.safetensors, &files.pickles}) std::ranges::sort(*list);
  return files;
}

/// "a.gguf, b.gguf": the first few.
std::string List(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxListed = 5;
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kMaxListed; ++i) {
    list += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > kMaxListed ? list + ", ..." : list;
}

}  // namespace

Error RefuseFolder(const std::filesystem::path& folder) {
  const ModelFiles files = FindModelFiles(folder);
  if (!files.ggufs.empty()) {
    return {ErrorCode::kIo, "a folder; name the model file in it: " + List(files.ggufs)};
  }
  if (!files.safetensors.empty()) {
    return {kUnsupported,
            "a folder with safetensors files, but without the config.json that says what they "
            "are"};
  }
  return {ErrorCode::kIo, "a folder; a GGUF file or a Hugging Face model expected"};
}

Error RefuseWeightlessFolder(const std::filesystem::path& folder) {
  constexpr std::string_view kExpected =
      "model.safetensors or model.safetensors.index.json expected in the folder";
  const ModelFiles files = FindModelFiles(folder);
  if (!files.ggufs.empty()) {
    return {ErrorCode::kIo, fmt::format("{}, {} found; name that file instead of the folder",
                                        kExpected, List(files.ggufs))};
  }
  if (!files.safetensors.empty()) {
    return {ErrorCode::kIo,
            fmt::format("{}, {} found; fetch the index, or name the file that holds all weights",
                        kExpected, List(files.safetensors))};
  }
  if (!files.pickles.empty()) {
    return {kUnsupported, fmt::format("{}, {} found, which is not read, because unpickling runs "
                                      "code; convert it to safetensors first",
                                      kExpected, List(files.pickles))};
  }
  return {ErrorCode::kNotFound, fmt::format("{}, no weights found", kExpected)};
}

}  // namespace bittern::formats
