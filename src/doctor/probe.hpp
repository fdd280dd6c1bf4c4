// SPDX-License-Identifier: Apache-2.0
// How much sense a reading of a model makes: nats per token of built-in texts of several kinds. The
// kind that a model knows best counts, since only there a wrong reading must do harm; elsewhere a
// blurred model can be the better guesser.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "doctor/facts/reading.hpp"
#include "doctor/probe_texts.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::doctor {

/// With the answers to plain questions in the model's own chat form, of which only the answers
/// count. A model without a chat form has no such text, and its nats are empty.
inline constexpr std::size_t kNumTexts = kNumPlainTexts + 1;

/// One text's scores.
struct TextProbe {
  std::vector<double> nats;  ///< of each token
  std::size_t bytes = 0;     ///< of the text
  /// The cost of each token that the model itself expects; only with ProbeOptions::order.
  std::vector<double> expected = {};

  [[nodiscard]] double sum() const noexcept;
  [[nodiscard]] double per_token() const noexcept;
  [[nodiscard]] double per_byte() const noexcept;
  /// How much more a token costs than the model expects, and how far chance carries that. A sound
  /// model that reads its own kind of text is right about its doubt: about 0. A damaged one is sure
  /// of what is wrong.
  struct Excess {
    double nats = 0, error = 0;
  };
  [[nodiscard]] Excess excess() const noexcept;
};

struct Probe {
  std::array<TextProbe, kNumTexts> texts;
  /// The worth of word order in the text known best, in nats per token, i.e. how much worse the
  /// same tokens do when shuffled. About 0 for random weights. Only where asked for.
  double order_gain = 0;
  double uniform = 0;  ///< nats per token of a model that knows nothing

  /// The text with the fewest nats per byte; one without nats is never it.
  [[nodiscard]] std::size_t best() const noexcept;
  [[nodiscard]] double nats() const noexcept { return texts[best()].per_token(); }
  [[nodiscard]] TextProbe::Excess excess() const noexcept { return texts[best()].excess(); }
  /// Nats per token, the mean of all texts.
  [[nodiscard]] double nats_of_all() const noexcept;
};

/// How much better `b` is than `a` on the text that `b` knows best, in nats per token of `a`; and
/// whether that is more than chance and than what a harmless difference makes.
struct Gain {
  double nats = 0;
  bool clear = false;
  bool certain = false;  ///< more than chance gives the best of a hundred tries
};
[[nodiscard]] Gain GainOf(const Probe& a, const Probe& b) noexcept;
/// The same of probes with ProbeOptions::more: smaller gains are clear.
[[nodiscard]] Gain GainOfMore(const Probe& a, const Probe& b) noexcept;

struct ProbeOptions {
  int num_threads = 0;
  bool order = false;                    ///< also measure order_gain and TextProbe::expected
  bool more = false;                     ///< longer texts, which tell small differences
  std::optional<std::size_t> only = {};  ///< just this text; the others have no nats
};

/// Loads the reading and scores the texts. Errors: as LoadedModel::Load and eval::Score, e.g.
/// values that are not finite.
[[nodiscard]] Result<Probe> RunProbe(formats::Checkpoint checkpoint, const ProbeOptions& options);

}  // namespace bittern::doctor
