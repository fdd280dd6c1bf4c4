// SPDX-License-Identifier: Apache-2.0
// The rules of llama.cpp's tools/perplexity, which papers and issues quote.
#include "eval/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::eval {
namespace {

/// Refuses sizes that no window fits, and texts that are too short for the method.
Result<void> CheckOptions(std::size_t num_tokens, const WindowOptions& options) {
  if (options.size < 2 || options.stride < 0 || options.stride > options.size) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("windows of {} tokens, {} apart: 2 or more, and at most as many apart, "
                            "expected",
                            options.size, options.stride));
  }
  if (options.method == WindowMethod::kStrided && options.stride < 2) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a stride of 2 or more expected, {} found", options.stride));
  }
  std::size_t least = static_cast<std::size_t>(options.size);
  if (options.method == WindowMethod::kStrided) {
    least += static_cast<std::size_t>(options.stride) / 2 + 1;
  }
  if (options.method == WindowMethod::kEveryToken) least = 2;
  if (num_tokens >= least) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("a text of at least {} tokens expected, {} found", least, num_tokens));
}

/// Windows end to end, of which the second half is scored. A rest that fills no window is left out.
std::vector<Window> Chunks(std::size_t num_tokens, std::size_t size) {
  std::vector<Window> windows;
  for (std::size_t begin = 0; begin + size <= num_tokens; begin += size) {
    windows.push_back({begin, begin + size, begin + std::min(size / 2 + 1, size - 1), true});
  }
  return windows;
}

/// Windows `stride` apart, each scoring its last `stride` tokens.
std::vector<Window> Strided(std::size_t num_tokens, std::size_t size, std::size_t stride) {
  std::vector<Window> windows;
  for (std::size_t begin = 0; begin + size < num_tokens; begin += stride) {
    windows.push_back({begin, begin + size, begin + size - stride, true});
  }
  return windows;
}

/// A window reads `size` tokens and scores what follows each of the last of them.
std::vector<Window> EveryToken(std::size_t num_tokens, std::size_t size, std::size_t stride) {
  std::vector<Window> windows;
  std::size_t scored = 1;
  while (scored < num_tokens) {
    const std::size_t end = std::min(windows.empty() ? size + 1 : scored + stride, num_tokens);
    windows.push_back({end - std::min(end, size + 1), end, scored, false});
    scored = end;
  }
  return windows;
}

}  // namespace

Result<std::vector<Window>> CutWindows(std::size_t num_tokens, const WindowOptions& options) {
  BITTERN_TRY(CheckOptions(num_tokens, options));
  const auto size = static_cast<std::size_t>(options.size);
  const auto stride = static_cast<std::size_t>(options.stride == 0 ? options.size : options.stride);
  std::vector<Window> windows;
  switch (options.method) {
    case WindowMethod::kChunks:
      windows = Chunks(num_tokens, size);
      break;
    case WindowMethod::kStrided:
      windows = Strided(num_tokens, size + stride / 2, stride);
      break;
    case WindowMethod::kEveryToken:
      windows = EveryToken(num_tokens, size, stride);
      break;
  }
  if (options.most >= 0 && windows.size() > static_cast<std::size_t>(options.most)) {
    windows.resize(static_cast<std::size_t>(options.most));
  }
  return windows;
}

/// The first token of a window gives way to BOS, as in llama-perplexity.
ScoreItem ItemOf(const Window& window, std::span<const TokenId> tokens, TokenId bos) {
  const auto part = tokens.subspan(window.begin, window.end - window.begin);
  ScoreItem item{.tokens = {part.begin(), part.end()},
                 .first_scored = window.first_scored - window.begin};
  if (window.starts_with_bos && bos >= 0) item.tokens[0] = bos;
  return item;
}

}  // namespace bittern::eval
