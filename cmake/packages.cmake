# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts beside the program, and the Debian packages that `cpack -G DEB` makes:
# bittern, libbittern0.1, libbittern-dev. tools/release.sh makes all artefacts of a release.
include(GNUInstallDirs)
set(BITTERN_MAINTAINER "Bittern developers <maintainers@bittern.invalid>" CACHE STRING
  "Who answers for the packages")

# Manual pages and completions are made by the program itself, so they say what it says.
set(shell_files ${CMAKE_BINARY_DIR}/shell)
set(compress "")
if(BITTERN_DEBIAN)
  set(compress "file(GLOB pages \"${shell_files}/man1/*.1\")
  execute_process(COMMAND gzip -9n \${pages} COMMAND_ERROR_IS_FATAL ANY)")
endif()
install(CODE "
  # Not \"program\": an old rule of if() would take the component of that name for the variable.
  set(bittern_command ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:bittern>\")
  file(REMOVE_RECURSE \"${shell_files}\")
  file(MAKE_DIRECTORY \"${shell_files}\")
  function(bittern_write file)
    execute_process(COMMAND \${bittern_command} \${ARGN} OUTPUT_FILE \"${shell_files}/\${file}\"
      RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR \"bittern \${ARGN} failed: \${result}\")
    endif()
  endfunction()
  bittern_write(bittern completion bash)
  bittern_write(_bittern completion zsh)
  bittern_write(bittern.fish completion fish)
  bittern_write(pages.log man --dir \"${shell_files}/man1\")
  ${compress}
  " COMPONENT program)
install(DIRECTORY ${shell_files}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${shell_files}/bittern DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  COMPONENT program)
install(FILES ${shell_files}/_bittern DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
  COMPONENT program)
install(FILES ${shell_files}/bittern.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

set(notices program)
if(BITTERN_HUB_LINKED)  # all inside
  set(notices download)
endif()
# The notices go wherever a part of the engine goes.
foreach(component IN ITEMS program library development)
  install(CODE "
    if(NOT EXISTS \"${BITTERN_PYTHON}\")
      message(FATAL_ERROR \"python3 expected, which writes the notices of linked libraries; none found (Debian: python3)\")
    endif()
    execute_process(COMMAND \"${BITTERN_PYTHON}\" \"${PROJECT_SOURCE_DIR}/tools/notices.py\" ${notices}
      OUTPUT_FILE \"${CMAKE_BINARY_DIR}/NOTICES\" COMMAND_ERROR_IS_FATAL ANY)
    " COMPONENT ${component})
  if(NOT BITTERN_DEBIAN)
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${CMAKE_BINARY_DIR}/NOTICES
      DESTINATION share/doc/bittern COMPONENT ${component})
  endif()
endforeach()
if(NOT BITTERN_DEBIAN)
  install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION share/doc/bittern COMPONENT program)
endif()

if(BITTERN_DEBIAN)
  # The unit is not enabled: it wants /etc/bittern/keys first (docs/install.md).
  file(READ ${PROJECT_SOURCE_DIR}/deploy/bittern.service unit)
  string(REPLACE /usr/local/bin/bittern /usr/bin/bittern unit "${unit}")
  file(WRITE ${CMAKE_BINARY_DIR}/bittern.service "${unit}")
  install(FILES ${CMAKE_BINARY_DIR}/bittern.service DESTINATION /lib/systemd/system
    COMPONENT program)
  string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH
  file(WRITE ${CMAKE_BINARY_DIR}/changelog "bittern (${PROJECT_VERSION}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}.

 -- ${BITTERN_MAINTAINER}  ${changelog_date}
")
  execute_process(COMMAND gzip -9nf ${CMAKE_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
  foreach(component IN ITEMS program library development)
    set(package bittern)
    if(component STREQUAL library)
      set(package libbittern0.1)
    elseif(component STREQUAL development)
      set(package libbittern-dev)
    endif()
    install(FILES ${CMAKE_BINARY_DIR}/changelog.gz ${PROJECT_SOURCE_DIR}/deploy/copyright
      ${CMAKE_BINARY_DIR}/NOTICES
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  endforeach()
endif()

set(CPACK_PACKAGE_NAME bittern)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${BITTERN_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "engine for ternary language models on CPUs")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(about "Bittern loads, runs, serves, converts and checks models of BitNet b1.58
and its relatives, with the same answers on every CPU.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME bittern)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
if(BITTERN_HUB)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "libcurl4, ca-certificates")  # for `bittern pull`
endif()
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${about}
This package has the program.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libbittern0.1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
file(WRITE ${CMAKE_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/triggers)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${about}
This package has the shared library.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libbittern-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libbittern0.1 (= ${PROJECT_VERSION}), libutf8proc-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${about}
This package has headers, the static library, and what CMake and
pkg-config want.")
include(CPack)
