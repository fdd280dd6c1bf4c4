// SPDX-License-Identifier: Apache-2.0
// The names of CLI11 that headers need. Sources that use a flag or a command include <CLI/CLI.hpp>,
// which takes two seconds to read.
#pragma once

namespace CLI {
class App;
class FormatterBase;
class Option;
class Validator;
}  // namespace CLI
