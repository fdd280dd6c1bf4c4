// SPDX-License-Identifier: Apache-2.0
// Reads of mapped files whose bytes are gone. A file that is cut off while it is mapped has no
// bytes behind its new end, and a read there ends the process (SIGBUS). No check before the read
// can help, since the file may be cut off between the two. So a handler puts zeros where the bytes
// were and marks the file as damaged. The reader asks for that mark before it uses the result
// (MappedFile::CheckUnchanged). A program asks for the handler;
// a library that installed one by itself would surprise it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace bittern {

/// From now on a read of a MappedFile's bytes that are gone gives zeros and makes its
/// CheckUnchanged fail; without this call such a read ends the process. Installs a handler
/// for the whole process (of SIGBUS, or of exceptions). Errors elsewhere go to the handler that was
/// there before. Calls after the first do nothing. Any thread. Error kIo: the system refuses the
/// handler.
[[nodiscard]] Result<void> GuardMappedReads();

namespace internal {

/// One mapping where the handler finds it. The handler may run at any time in any thread that reads
/// the mapping, so it takes no lock and allocates nothing; places are reused, never freed.
class GuardedRange {
 public:
  /// `bytes`: a whole mapping. Throws std::bad_alloc.
  explicit GuardedRange(std::span<const std::byte> bytes);
  GuardedRange(const GuardedRange&) = delete;
  GuardedRange& operator=(const GuardedRange&) = delete;
  /// Before the mapping goes.
  ~GuardedRange();

  /// True once a read in the range met bytes that are gone.
  [[nodiscard]] bool damaged() const noexcept;

  struct Place;

 private:
  Place* place_;
};

}  // namespace internal
}  // namespace bittern
