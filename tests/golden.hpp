// SPDX-License-Identifier: Apache-2.0
// The place of test data outside the repository, and its readers.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/session.hpp"

namespace bittern::testing_support {

/// BITTERN_SHARED, or the folder "shared" beside the checkout.
inline std::filesystem::path SharedPath(const std::string& name) {
  const char* folder = std::getenv("BITTERN_SHARED");
  const std::filesystem::path base =
      folder != nullptr ? folder : std::string(BITTERN_SOURCE_DIR) + "/../shared";
  return base / name;
}

/// null where the file is not there.
inline nlohmann::json ReadJson(const std::string& name) {
  std::ifstream file(SharedPath(name));
  return file ? nlohmann::json::parse(file) : nlohmann::json();
}

inline std::vector<float> ReadFloats(const std::string& name) {
  std::ifstream file(SharedPath(name), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> floats(bytes.size() / 4);
  std::memcpy(floats.data(), bytes.data(), floats.size() * 4);
  return floats;
}

/// The model in the repository.
inline std::string ShippedModelPath() {
  return std::string(BITTERN_SOURCE_DIR) + "/models/kjv-5m-i2s.gguf";
}

/// The random-weight model of the golden files: BITTERN_TINY, or made by ./check in build/data.
inline std::string TinyModelPath() {
  const char* path = std::getenv("BITTERN_TINY");
  return path != nullptr ? path : std::string(BITTERN_SOURCE_DIR) + "/build/data/tiny.gguf";
}

/// nullptr where the file is not there; a file that does not load fails the test.
inline std::shared_ptr<const runtime::LoadedModel> LoadOrSkip(const std::string& name) {
  const std::filesystem::path path =
      name.starts_with("/") ? std::filesystem::path(name) : SharedPath(name);
  if (!std::filesystem::exists(path)) return nullptr;
  auto model = runtime::LoadedModel::Load(path);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model.value();
}

}  // namespace bittern::testing_support
