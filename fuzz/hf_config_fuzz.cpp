// SPDX-License-Identifier: Apache-2.0
// Any bytes as config.json: refused, or keys whose numbers agree with each other. What stands
// behind a NUL is tried as hadamard.json beside it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "formats/hf/hf_config.hpp"
#include "formats/hf/hf_rotation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bittern;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\0');
  const auto json = Json::Parse(text.substr(0, end), JsonLimits{});
  if (!json) return 0;
  formats::Metadata metadata;
  auto config = formats::ReadHfConfig(*json, &metadata);
  if (!config) return 0;
  const auto heads = metadata.GetUint(config->architecture + ".attention.head_count");
  const auto layers = metadata.GetUint(config->architecture + ".block_count");
  const auto activation = metadata.GetString(config->architecture + ".hidden_activation");
  const bool agrees = heads && *heads && config->q_size % **heads == 0 && layers && *layers &&
                      **layers == config->num_layers && activation && *activation;
  if (!agrees) std::abort();
  if (end == std::string_view::npos) return 0;
  const auto rotation = Json::Parse(text.substr(end + 1), JsonLimits{});
  if (!rotation || !formats::ReadHfRotation(*rotation, &*config, &metadata)) return 0;
  for (const auto& [width, signs] : config->rotation_signs) {
    if (signs.size() != width) std::abort();
  }
  return 0;
}
