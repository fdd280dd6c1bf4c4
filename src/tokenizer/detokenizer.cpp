// SPDX-License-Identifier: Apache-2.0
// Bytes are held back only while more bytes could still make a character of them.
#include "tokenizer/detokenizer.hpp"

#include <utility>

#include "base/utf8.hpp"

namespace bittern::tokenizer {

std::string StreamingDetokenizer::Push(TokenId id) {
  std::string_view bytes = tokenizer_->TokenBytes(id, render_special_);
  if (strip_space_ && !bytes.empty()) {
    if (bytes.starts_with(' ')) bytes.remove_prefix(1);
    strip_space_ = false;
  }
  pending_ += bytes;
  std::string_view rest = pending_;
  while (!rest.empty() && !IsIncompleteUtf8(rest)) rest.remove_prefix(DecodeUtf8(rest).size);
  const std::size_t whole = pending_.size() - rest.size();
  std::string characters = ReplaceInvalidUtf8(std::string_view(pending_).substr(0, whole));
  pending_.erase(0, whole);
  return characters;
}

std::string StreamingDetokenizer::Finish() {
  return ReplaceInvalidUtf8(std::exchange(pending_, {}));
}

}  // namespace bittern::tokenizer
