// SPDX-License-Identifier: Apache-2.0
// Any bytes as config.json: refused, or keys whose numbers agree with each other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "formats/hf/hf_config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bittern;
  const auto json = Json::Parse({reinterpret_cast<const char*>(data), size}, JsonLimits{});
  if (!json) return 0;
  formats::Metadata metadata;
  const auto config = formats::ReadHfConfig(*json, &metadata);
  if (!config) return 0;
  const auto heads = metadata.GetUint(config->architecture + ".attention.head_count");
  const auto layers = metadata.GetUint(config->architecture + ".block_count");
  const auto activation = metadata.GetString(config->architecture + ".hidden_activation");
  const bool agrees = heads && *heads && config->q_size % **heads == 0 && layers && *layers &&
                      **layers == config->num_layers && activation && *activation;
  if (!agrees) std::abort();
  return 0;
}
