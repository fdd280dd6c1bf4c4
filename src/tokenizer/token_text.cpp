// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/token_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text/display.hpp"
#include "base/utf8.hpp"

namespace bittern::tokenizer {

/// A token may end inside a character; then all bytes but plain ASCII are shown as \xNN.
std::string QuotedPiece(std::string_view bytes) {
  if (ReplaceInvalidUtf8(bytes) == bytes) return Quoted(bytes, bytes.size());
  std::string quoted = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
    quoted += plain ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return quoted + '"';
}

std::string TokenTable(std::span<const TokenId> ids, const Tokenizer& tokenizer) {
  std::string table;
  for (const TokenId id : ids) {
    const std::string_view bytes = tokenizer.TokenBytes(id, /*render_special=*/true);
    table += fmt::format("{:>6}  {}{}\n", id, QuotedPiece(bytes),
                         tokenizer.IsControl(id) ? "  special" : "");
  }
  return table;
}

std::string LossText(const EncodeLoss& loss) {
  const bool one = loss.num_bytes == 1;
  const auto* fate = loss.became_unknown ? "became the unknown token"
                     : one               ? "is left out"
                                         : "are left out";
  return fmt::format("{} {} of the text {} no token and {} (the first: {})", loss.num_bytes,
                     one ? "byte" : "bytes", one ? "has" : "have", fate, QuotedPiece(loss.first));
}

Result<void> AppendIds(std::string_view text, TokenId vocab_size, std::vector<TokenId>* ids) {
  constexpr std::string_view kSeparators = " \t\r\n,[]";
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSeparators), text.size()));
    if (text.empty()) return {};
    const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
    TokenId id = -1;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    const bool whole = error == std::errc() && rest == word.data() + word.size();
    if (!whole || id < 0 || id >= vocab_size) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("a token id of 0 to {} expected, {} found", vocab_size - 1, Quoted(word)));
    }
    ids->push_back(id);
    text.remove_prefix(word.size());
  }
}

}  // namespace bittern::tokenizer
