// SPDX-License-Identifier: Apache-2.0
// The text side of a generation: token -> characters -> text that no stop string holds back.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/sampling/stop.hpp"
#include "tokenizer/detokenizer.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// Not thread-safe. `tokenizer` outlives it.
class TextStream {
 public:
  /// on_text receives whole UTF-8 characters; it may be empty. Returning false ends the text.
  TextStream(const tokenizer::Tokenizer& tokenizer, bool render_special,
             std::vector<std::string> stops, std::function<bool(std::string_view)> on_text)
      : detokenizer_(tokenizer, render_special),
        stops_(std::move(stops)),
        on_text_(std::move(on_text)) {}

  void Push(tokenizer::TokenId id) { Show(stops_.Push(detokenizer_.Push(id))); }
  /// Gives out what was held back. Once, at the end.
  void Finish() {
    Show(stops_.Push(detokenizer_.Finish()));
    Show(stops_.Finish());
  }
  /// True once a stop string has been seen.
  [[nodiscard]] bool stopped() const noexcept { return stops_.stopped(); }
  /// That stop string; empty: none.
  [[nodiscard]] const std::string& stopping_word() const noexcept { return stops_.word(); }
  /// True once on_text has returned false; it is not called again.
  [[nodiscard]] bool refused() const noexcept { return refused_; }
  /// All text given out.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void Show(std::string_view text) {
    if (text.empty() || refused_) return;
    text_ += text;
    refused_ = on_text_ && !on_text_(text);
  }

  tokenizer::StreamingDetokenizer detokenizer_;
  StopMatcher stops_;
  std::function<bool(std::string_view)> on_text_;
  std::string text_;
  bool refused_ = false;
};

}  // namespace bittern::runtime
