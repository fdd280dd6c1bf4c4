// SPDX-License-Identifier: Apache-2.0
// Small texts of HTTP: names in lower case, queries, keys, the body of an error. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bittern::serve {

/// ASCII letters in lower case.
[[nodiscard]] std::string LowerCase(std::string_view text);

/// True if two tokens of HTTP are the same, capitals or not.
[[nodiscard]] bool IsToken(std::string_view text, std::string_view lower_case);

/// The value of `name` in "a=1&b=2", with %xx and + decoded; nothing if it is not there.
[[nodiscard]] std::optional<std::string> QueryValue(std::string_view query, std::string_view name);

/// Takes a time that depends on the length of `given` alone.
[[nodiscard]] bool SameSecret(std::string_view given, std::string_view secret) noexcept;

/// {"error":{"message","type","param","code"}}: OpenAI's shape with llama.cpp's types and numbers.
/// `param` is the field that is wrong; empty: none.
[[nodiscard]] std::string ErrorBody(int status, std::string_view message,
                                    std::string_view param = {});

/// "invalid_request_error" and the like, for a status.
[[nodiscard]] std::string_view ErrorType(int status) noexcept;

}  // namespace bittern::serve
