// SPDX-License-Identifier: Apache-2.0
// Values of config.json, checked as they are read, and keys of GGUF, as they are written. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats::config_json {

/// Errors kCorruptFile and kUnsupported.
tl::unexpected<Error> CorruptConfig(std::string message);
tl::unexpected<Error> Unsupported(std::string message);
tl::unexpected<Error> WrongType(std::string_view key, std::string_view expected, const Json& found);

/// The value under `key`; null where it is absent or null.
const Json* Present(const Json& object, std::string_view key);

/// nullopt where the key is absent or null. A size is 1 to 2^24, which keeps products of two sizes
/// far from overflow; a float is no NaN. Error kCorruptFile: another type, or out of range.
Result<std::optional<std::uint64_t>> OptionalSize(const Json& json, std::string_view key);
Result<std::optional<float>> OptionalFloat(const Json& json, std::string_view key);
Result<std::optional<bool>> OptionalBool(const Json& json, std::string_view key);
Result<std::optional<std::string>> OptionalString(const Json& json, std::string_view key);

/// Values that must be there.
Result<std::uint64_t> Size(const Json& json, std::string_view key);
Result<float> Float(const Json& json, std::string_view key);

/// Adds keys below "<architecture>.".
class KeyWriter {
 public:
  KeyWriter(std::string_view architecture, Metadata* metadata)
      : prefix_(std::string(architecture) + "."), metadata_(*metadata) {}

  Result<void> Uint(std::string_view key, std::uint64_t value) {
    return metadata_.AddUint(prefix_ + std::string(key), static_cast<std::uint32_t>(value));
  }
  Result<void> Float(std::string_view key, float value) {
    return metadata_.AddFloat(prefix_ + std::string(key), value);
  }
  Result<void> Floats(std::string_view key, std::span<const float> values) {
    return metadata_.AddFloats(prefix_ + std::string(key), values);
  }
  Result<void> Ints(std::string_view key, std::span<const std::int32_t> values) {
    return metadata_.AddInts(prefix_ + std::string(key), values);
  }
  Result<void> Bools(std::string_view key, const std::vector<bool>& values) {
    return metadata_.AddBools(prefix_ + std::string(key), values);
  }
  Result<void> String(std::string_view key, std::string value) {
    return metadata_.AddString(prefix_ + std::string(key), std::move(value));
  }

 private:
  std::string prefix_;
  Metadata& metadata_;
};

}  // namespace bittern::formats::config_json
