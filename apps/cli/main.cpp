// SPDX-License-Identifier: Apache-2.0
// The program `bittern`.
#include "cli/program.hpp"

int main(int argc, char** argv) { return bittern::cli::RunProgram(argc, argv); }
