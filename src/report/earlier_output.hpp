// SPDX-License-Identifier: Apache-2.0
// Files that this library or its program has written, told by how they begin: whether another
// output may take their place without a question. Reads 4 kB at most. Any thread.
#pragma once

#include <filesystem>

namespace bittern::report {

/// The content of an output. It decides which older file it may replace.
enum class Holds {
  kModel,    // costs too much to be replaced unasked
  kLines,    // results that --resume goes on with; never replaced unasked
  kNumbers,  // says nothing of where it comes from; never replaced unasked
  kPage,
  kReport,
  kCertificate,
  kConversation,
  kTrace,   // a folder
  kManual,  // a folder of pages
};

/// True where the file at `path` can only be an earlier output of this kind.
[[nodiscard]] bool IsEarlierOutput(Holds holds, const std::filesystem::path& path);

/// True where nothing is lost if a file of that name is written.
[[nodiscard]] bool MayReplace(Holds holds, const std::filesystem::path& path);

/// The first file in a folder to be written that is not an earlier output; empty: none.
[[nodiscard]] std::filesystem::path ForeignFileIn(Holds holds, const std::filesystem::path& folder);

/// True if both names are, or would be, one file.
[[nodiscard]] bool IsSameFile(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace bittern::report
