// SPDX-License-Identifier: Apache-2.0
// Files of the model told apart from files that merely lie beside it. Split GGUF models:
// convert_test.cpp.
#include <gtest/gtest.h>

#include <fstream>

#include "formats/convert/convert.hpp"
#include "formats/convert/convert_model_for_test.hpp"
#include "formats/open/source_files.hpp"

namespace bittern::formats {
namespace {

TEST(SourceFiles, AFoldersFilesAreTheModels) {
  const ConvertFolder folder;
  ConvertModel model;
  const Checkpoint gguf = model.Write(folder / "m.gguf");
  EXPECT_FALSE(CheckNotSource(gguf, folder / "m.gguf"));
  EXPECT_TRUE(CheckNotSource(gguf, folder / "new.gguf"));
  ConvertOptions options;
  options.to = "safetensors";
  const auto converted = Convert(gguf, folder / "hf", options);
  ASSERT_TRUE(converted) << converted.error().message;
  // As Hugging Face's cache has it: the folder's file is a link to what lies elsewhere.
  std::filesystem::rename(folder / "hf/model.safetensors", folder / "blob");
  std::filesystem::create_symlink("../blob", folder / "hf/model.safetensors");
  std::ofstream(folder / "hf/beside.gguf") << "x";
  for (const char* opened : {"hf", "hf/model.safetensors"}) {
    const auto source = Checkpoint::Open(folder / opened);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_FALSE(CheckNotSource(*source, folder / "hf/config.json")) << opened;
    EXPECT_FALSE(CheckNotSource(*source, folder / "hf/model.safetensors")) << opened;
    EXPECT_FALSE(CheckNotSource(*source, folder / "blob")) << opened;
    EXPECT_TRUE(CheckNotSource(*source, folder / "hf/beside.gguf")) << opened;
    EXPECT_TRUE(CheckNotSource(*source, folder / "hf/new.json")) << opened;
    EXPECT_TRUE(CheckNotSource(*source, folder / "m.gguf")) << opened;
  }
}

}  // namespace
}  // namespace bittern::formats
