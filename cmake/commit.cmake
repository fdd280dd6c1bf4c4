# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=FOLDER -DOUT=FILE -P commit.cmake: writes a source with the commit that is checked out in FOLDER; with
# none where FOLDER is no repository, or a part of another one.
set(commit "")
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
get_filename_component(source "${SOURCE}" REALPATH)
if(NOT failed AND top STREQUAL source)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(WRITE ${OUT} "#include \"cli/shared/page_origin.hpp\"\nconst char* const bittern::cli::kCommit = \"${commit}\";\n")
