// SPDX-License-Identifier: Apache-2.0
// Keys of config.json that one kind of network has, as the table of architectures tells the kinds
// apart. Any thread.
#pragma once

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "formats/architecture.hpp"
#include "formats/hf/hf_config.hpp"
#include "formats/hf/hf_config_values.hpp"

namespace bittern::formats {

/// Adds the keys of factors, windows, delta layers and experts that a network of `row` has.
/// `config` holds the sizes that all networks have; the sizes of delta layers and experts are
/// added. Errors: kUnsupported (a setting that would change the network, by name), kCorruptFile (a
/// value missing or of another type).
[[nodiscard]] Result<void> WriteNetworkKeys(const Json& json, const ArchitectureSpec& row,
                                            HfConfig* config, config_json::KeyWriter* keys);

}  // namespace bittern::formats
