// SPDX-License-Identifier: Apache-2.0
// The names of unfinished files and folders, where the handler of a signal that ends the process
// finds them. The handler takes no lock: it reads flags and names that are set before the thing
// exists and cleared after it is gone.
#pragma once

#include <string>

namespace bittern::internal {

/// One name on the list for as long as this lives. Threads may list names at the same time. Nothing
/// is listed where the list is full or the name too long; such a thing would stay behind.
class ListedName {
 public:
  enum class Kind { kFile, kFolder };

  /// Before the thing is made.
  ListedName(const std::string& name, Kind kind);
  ListedName(const ListedName&) = delete;
  ListedName& operator=(const ListedName&) = delete;
  /// After it has gone or got its final name. That of a folder takes along what MoveIntoFolder
  /// listed in it.
  ~ListedName();

 private:
  struct Place* place_;
};

/// Before a file gets its final name `path`: lists that where it lies in a folder that is listed,
/// for as long as the folder is. A finished file in an unfinished folder goes with it.
void MoveIntoFolder(const std::string& path);

}  // namespace bittern::internal
