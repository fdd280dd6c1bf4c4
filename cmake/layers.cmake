# SPDX-License-Identifier: Apache-2.0
# The system that the folders of src/base/os are chosen by. "plain" knows POSIX alone.
set(bittern_systems linux macos windows plain)
set(bittern_system plain)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(bittern_system linux)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  set(bittern_system macos)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  set(bittern_system windows)
endif()
set(BITTERN_SYSTEM ${bittern_system} CACHE STRING "linux, macos, windows or plain: what src/base/os is made of")
if(NOT BITTERN_SYSTEM IN_LIST bittern_systems)
  message(FATAL_ERROR "BITTERN_SYSTEM: linux, macos, windows or plain expected, \"${BITTERN_SYSTEM}\" found")
endif()
set(bittern_other_systems ${bittern_systems} posix)
list(REMOVE_ITEM bittern_other_systems ${BITTERN_SYSTEM})
if(NOT BITTERN_SYSTEM STREQUAL "windows")
  list(REMOVE_ITEM bittern_other_systems posix)
endif()
string(REPLACE ";" "|" bittern_other_systems "${bittern_other_systems}")

# Tests of these names need a system of POSIX.
set(bittern_other_tests "")
if(BITTERN_SYSTEM STREQUAL "windows")
  set(bittern_other_tests "_posix_test\\.cpp$")
endif()

# bittern_layer(name LINK a b [EXCLUDE regex]): a static library of src/<name>/*.cpp and of the folders below (but
# for kernels, whose folders are compiled by instruction set: kernels.cmake), its unit tests
# (<name>_test, also a ctest of that name) and its micro-benchmarks (<name>_bench). EXCLUDE: files
# that are not compiled.
function(bittern_layer name)
  cmake_parse_arguments(ARG "" "EXCLUDE" "LINK" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cpp ${dir}/*/*_test.cpp)
  if(NOT name STREQUAL "kernels")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  endif()
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  list(FILTER sources EXCLUDE REGEX "/os/(${bittern_other_systems})/")
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(bittern_other_tests)
    list(FILTER tests EXCLUDE REGEX "${bittern_other_tests}")
  endif()
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} PUBLIC ${ARG_LINK})
    bittern_unity(${name})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} INTERFACE ${ARG_LINK})
  endif()
  if(BITTERN_TESTS AND tests)
    bittern_test(${name}_test SOURCES ${tests} LINK ${name} BATCHES)
  endif()
  if(BITTERN_BENCH AND benches)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE ${name} benchmark::benchmark_main)
  endif()
endfunction()

# Compiles a target's files in batches of some 12, which reads each header once a batch: a build takes
# half of the time. Names in anonymous namespaces must then differ within a folder.
# -DBITTERN_UNITY=OFF compiles every file by itself, which rebuilds less after a change.
function(bittern_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${BITTERN_UNITY}
    UNITY_BUILD_BATCH_SIZE ${BITTERN_UNITY_BATCH})
endfunction()

# bittern_test(name SOURCES ... LINK ... [BATCHES]): one GoogleTest program and one ctest entry. With
# BATCHES files are compiled a few at a time, as a layer's: GoogleTest's headers cost more than most tests.
# Where kernels are linked, BITTERN_ISA in the environment forces their instruction set.
function(bittern_test name)
  cmake_parse_arguments(ARG "BATCHES" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_BATCHES)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${BITTERN_UNITY} UNITY_BUILD_BATCH_SIZE 6)
    target_compile_options(${name} PRIVATE -Wno-shadow)  # a local name and a constant of a neighbour
  endif()
  if("${ARG_LINK}" MATCHES "kernels|model|runtime|proof|eval|capi")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/isa_of_environment.cpp)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock
    GTest::gtest_main)
  # Only where it is used: ccache then shares the objects of the other files between source trees.
  foreach(source IN LISTS ARG_SOURCES)
    file(STRINGS ${source} uses LIMIT_COUNT 1
      REGEX "BITTERN_SOURCE_DIR|\"tokenizer/test_vocabulary\\.hpp\"|\"golden\\.hpp\"")
    if(uses AND ARG_BATCHES AND BITTERN_UNITY)  # a file with a definition of its own joins no batch
      target_compile_definitions(${name} PRIVATE BITTERN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    elseif(uses)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
        BITTERN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endif()
  endforeach()
  # Macros of GoogleTest trip over the strictest warnings; -O1 halves the time to build tests.
  target_compile_options(${name} PRIVATE -O1 -Wno-conversion -Wno-sign-compare
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict>")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()
