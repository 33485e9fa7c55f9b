# SPDX-License-Identifier: BSD-2-Clause
# Installation. Components: native (the kernel-less card, and what users of a board need), bench,
# qpx, qpxd. Targets: `programs` builds all that `cmake --install build` installs, `uninstall`
# removes it.

# Debian's libibverbs looks for providers in the multiarch directory, whatever the prefix is.
if(NOT DEFINED CMAKE_INSTALL_LIBDIR AND EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Libraries, below the prefix")
endif()
include(GNUInstallDirs)
set(DINGO_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Completion for zsh, below the prefix")

# Removes the RPATH that a pkg-config library may add (pmix does): the loader finds Debian's
# libraries without it.
function(dingo_without_rpath target)
  get_target_property(options ${target} INTERFACE_LINK_OPTIONS)
  if(options)
    string(REGEX REPLACE "(-Wl,-rpath[^;]*;-Wl,|-Wl,-rpath[,=])[^;]*;?" "" options "${options}")
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_OPTIONS ${options})
  endif()
endfunction()

# dingo_completion(PROGRAM COMPONENT): installs the output of `PROGRAM completion SHELL` for each
# shell.
function(dingo_completion program component)
  if(DINGO_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
    return()
  endif()
  set(dir ${CMAKE_BINARY_DIR}/completions)
  file(MAKE_DIRECTORY ${dir})
  foreach(shell IN ITEMS bash zsh fish)
    # LD_LIBRARY_PATH, because packages are built without RPATH and the program needs libdingo.
    add_custom_command(TARGET ${program} POST_BUILD
                       COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/lib ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}> completion ${shell} > ${dir}/${program}.${shell} VERBATIM)
  endforeach()
  install(FILES ${dir}/${program}.bash RENAME ${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ${component})
  install(FILES ${dir}/${program}.zsh RENAME _${program} DESTINATION ${DINGO_ZSH_COMPLETIONS} COMPONENT ${component})
  install(FILES ${dir}/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT ${component})
endfunction()

# Fails before the first file is copied if a file to install has not been built.
install(CODE "
  if(CMAKE_INSTALL_COMPONENT STREQUAL \"\" OR NOT DEFINED CMAKE_INSTALL_COMPONENT)
    include(\"${CMAKE_BINARY_DIR}/installed.cmake\")
    foreach(file IN LISTS installed)
      if(NOT EXISTS \"\${file}\")
        message(FATAL_ERROR \"Nothing was installed: \${file} is not built. Type\n  cmake --build ${CMAKE_BINARY_DIR} --target programs\n\"
          \"for all that is installed, or install a part:\n  cmake --install ${CMAKE_BINARY_DIR} --component native\")
      endif()
    endforeach()
  endif()")
install(DIRECTORY LICENSES/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT native)

# dingo_programs(): defines the targets programs, native and uninstall; call it after all other
# targets.
function(dingo_programs)
  set(targets "")
  set(files "")
  foreach(target IN ITEMS dingo dingo-card dingo-criteo dingo_preload local_transfer p2p_file p2p_cards dingo_gda gpu_interchange qpx qpx_shared qpxd rdma-bench)
    if(TARGET ${target})
      list(APPEND targets ${target})
      string(APPEND files "  \"$<TARGET_FILE:${target}>\"\n")
    endif()
  endforeach()
  # These need no RPATH in the build tree. CMake would end it with an empty element, which means the
# current directory.
  foreach(target IN LISTS targets)
    if(NOT target MATCHES "^(local_transfer|p2p_file|p2p_cards|dingo_gda|gpu_interchange)$")
      set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
    endif()
  endforeach()
  add_custom_target(programs DEPENDS ${targets})
  add_custom_target(native DEPENDS dingo dingo-card dingo_preload)
  if(TARGET dingo_provider)
    add_dependencies(programs dingo_provider)
    add_dependencies(native dingo_provider)
    string(APPEND files "  \"${CMAKE_BINARY_DIR}/lib/libdingo.so.1\"\n")
  endif()
  foreach(target IN ITEMS dingo-criteo local_transfer p2p_file p2p_cards dingo_gda gpu_interchange)
    if(TARGET ${target})
      add_dependencies(native ${target})
    endif()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/installed.cmake CONTENT "set(installed\n${files})\n")
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -P ${CMAKE_SOURCE_DIR}/scripts/packaging/uninstall.cmake)
endfunction()
