// SPDX-License-Identifier: Apache-2.0
// The head is a dictionary in Python's spelling. NumPy writes it in one way, so its three parts are
// looked for, not parsed.
#include "base/files/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace bittern {
namespace {

/// The text behind "'key':" and its spaces; empty if there is no such key.
std::string_view ValueBehind(std::string_view head, std::string_view key) {
  const std::size_t at = head.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  const std::size_t value = head.find_first_not_of(' ', at + key.size() + 3);
  return value == std::string_view::npos ? std::string_view() : head.substr(value);
}

/// "(7, 128), ..." gives {7, 128}; nothing where the text is another one.
std::optional<std::vector<std::size_t>> ShapeOf(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  std::vector<std::size_t> shape;
  for (text.remove_prefix(1); !text.starts_with(')');) {
    const char* const end = text.data() + text.size();
    std::size_t size = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, size);
    if (error != std::errc() || shape.size() == 32) return std::nullopt;
    shape.push_back(size);
    text = {rest, static_cast<std::size_t>(end - rest)};
    while (text.starts_with(',') || text.starts_with(' ')) text.remove_prefix(1);
  }
  return shape;
}

/// The product of the sizes; nothing where it is larger than `most`.
std::optional<std::size_t> CountOf(const std::vector<std::size_t>& shape, std::size_t most) {
  std::size_t count = 1;
  for (const std::size_t size : shape) {
    if (size != 0 && count > most / size) return std::nullopt;
    count *= size;
  }
  return count;
}

}  // namespace

/// Magic, version, length of the text, text.
std::string NpyHeader(std::size_t rows, std::size_t cols) {
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

Result<NpyArray> ReadNpy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto wrong = [](std::string message) {
    return Fail(ErrorCode::kCorruptFile, std::move(message));
  };
  if (!text.starts_with("\x93NUMPY") || text.size() < 12) return wrong("no file of NumPy");
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  const std::size_t start = byte(6) == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (start == 12) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) return wrong("the file ends within its head");
  const std::string_view head = text.substr(start, length);
  const std::string_view type = ValueBehind(head, "descr");
  if (!type.starts_with("'<f4'")) {
    return wrong(fmt::format("numbers of type '<f4' (little-endian float32) expected, {} found",
                             type.substr(0, type.find(','))));
  }
  if (!ValueBehind(head, "fortran_order").starts_with("False")) {
    return wrong("values row by row expected (C order), column by column found");
  }
  auto shape = ShapeOf(ValueBehind(head, "shape"));
  if (!shape) return wrong("the head has no shape");
  const auto values = file.subspan(start + length);
  const auto count = CountOf(*shape, values.size());
  if (!count || *count * sizeof(float) != values.size()) {
    return wrong(fmt::format("the shape ({}) and the {} bytes of values do not fit each other",
                             fmt::join(*shape, ", "), values.size()));
  }
  return NpyArray{.shape = *std::move(shape), .values = values};
}

}  // namespace bittern
