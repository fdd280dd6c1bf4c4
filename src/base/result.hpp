// SPDX-License-Identifier: Apache-2.0
// Errors are values: everything that depends on the outside (files, prompts, flags, memory)
// returns Result<T>. Nothing in the library throws, prints or exits.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace bittern {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument = 1,  ///< A value the caller chose is not acceptable.
  kNotFound,             ///< A named thing (file, tensor, key) does not exist.
  kIo,                   ///< The operating system refused.
  kCorruptFile,          ///< A file contradicts itself or its format.
  kUnsupported,          ///< A file is well-formed but needs what this build lacks.
  kOutOfMemory,          ///< An allocation whose size depends on input failed; no more threads.
  kContextFull,          ///< No room left in the KV cache.
  kCancelled,            ///< The caller asked to stop.
  kInternal,             ///< A defect in Bittern.
};

/// Why something failed.
struct Error {
  ErrorCode code;
  std::string message;    ///< names the thing, what was expected and what was found
  std::string hint = {};  ///< what may help; may be empty. Names options as key=value, with the
                          ///< keys of the public API; a program puts its own words for them.
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return Fail(ErrorCode::kIo, "...")` from any function that returns a Result.
inline tl::unexpected<Error> Fail(ErrorCode code, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint)});
}

/// "message; hint", for reports that have one text only.
inline std::string MessageAndHint(const Error& error) {
  return error.hint.empty() ? error.message : error.message + "; " + error.hint;
}

/// Puts "prefix: " before an error's message, for callers that know the file or tensor.
inline Error Within(std::string_view prefix, Error error) {
  error.message = std::string(prefix) + ": " + error.message;
  return error;
}

namespace internal {
template <class T>
T Take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}
}  // namespace internal

}  // namespace bittern

/// Evaluates to the value of a Result, or returns its error from the enclosing function. Stands by
/// itself, not inside a larger expression, which would leak what it has made (tools/check_try.py).
#define BITTERN_TRY(expression)                                                         \
  __extension__({                                                                       \
    auto bittern_try_result = (expression);                                             \
    if (!bittern_try_result.has_value())                                                \
      return ::tl::unexpected<::bittern::Error>(std::move(bittern_try_result).error()); \
    ::bittern::internal::Take(std::move(bittern_try_result));                           \
  })
