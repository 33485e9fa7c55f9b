# SPDX-License-Identifier: BSD-2-Clause
# dingo_verilate(TARGET TOP module SOURCES file... [ARGS option...]): an interface library with the C++ of
# a Verilated module. Verilator runs at build time, when a source has changed. PROFILE: DINGO_RTL_PROFILE applies to it.
find_program(VERILATOR verilator)
execute_process(COMMAND ${VERILATOR} --getenv VERILATOR_ROOT OUTPUT_VARIABLE VERILATOR_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE)
find_program(DINGO_OBJCACHE ccache)

function(dingo_verilate target)
  cmake_parse_arguments(V "PROFILE" "TOP" "SOURCES;ARGS" ${ARGN})
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${target}.v)
  set(archive ${dir}/V${V_TOP}__ALL.a)
  set(flags "-fPIC -w -DVL_TIME_CONTEXT")
  if(DINGO_SANITIZE)
    string(APPEND flags " -fsanitize=${DINGO_SANITIZE} -fno-sanitize-recover=all")
  endif()
  # Code that runs once (OPT_SLOW) would take 40 % of the compile time at -O2; with toggle coverage the code is six times as large.
  set(fast -O2)
  set(slow -O1)
  if(DINGO_RTL_COVERAGE STREQUAL toggle)
    set(fast -O1)
    set(slow -O0)
  endif()
  # With a profile the compiler places the blocks that run next to each other: a third less time for a cycle.
  set(copy_counts "")
  # ccache does not know these options and would not cache; it hashes the counts as it hashes sources.
  set(uncached "")
  if(DINGO_OBJCACHE)
    set(uncached "--ccache-skip ")
  endif()
  set(linker_flags "")
  if(V_PROFILE AND DINGO_RTL_PROFILE STREQUAL generate)
    string(APPEND fast " -fprofile-generate ${uncached}-fprofile-update=single")
    set(linker_flags -fprofile-generate)
  elseif(V_PROFILE AND DINGO_RTL_PROFILE)
    # The build needs its own copy of the counts: their directory is a cache that may be emptied.
    file(GLOB counts ${DINGO_RTL_PROFILE}/*.gcda)
    file(MAKE_DIRECTORY ${dir}.counts)
    file(COPY ${counts} DESTINATION ${dir}.counts)
    set(copy_counts COMMAND ${CMAKE_COMMAND} -E copy_directory ${dir}.counts ${dir})
    string(APPEND fast " -fprofile-use ${uncached}-fprofile-partial-training")
  endif()
  add_custom_command(
    OUTPUT ${archive}
    BYPRODUCTS ${dir}/V${V_TOP}.h    # sources that include it are compiled again
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir}
    COMMAND ${VERILATOR} --cc -O3 --x-assign fast --x-initial fast --relative-includes --output-split 20000 --assert
            -Wall -Wno-fatal -Wno-DECLFILENAME --top-module ${V_TOP} --Mdir ${dir} ${V_ARGS} ${V_SOURCES}
    ${copy_counts}
    COMMAND ${CMAKE_COMMAND} -E env OBJCACHE=${DINGO_OBJCACHE} make -s -j2 -C ${dir} -f V${V_TOP}.mk
            "OPT_FAST=${fast} ${flags}" "OPT_SLOW=${slow} ${flags}" "OPT_GLOBAL=${fast} ${flags}" V${V_TOP}__ALL.a
    DEPENDS ${V_SOURCES} ${DINGO_RTL_INCLUDES}
    COMMENT "Verilating ${V_TOP}"
    VERBATIM)
  add_custom_target(${target}_files DEPENDS ${archive})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_files)
  target_include_directories(${target} SYSTEM INTERFACE ${dir} ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
  target_link_libraries(${target} INTERFACE ${archive} dingo_verilated ${linker_flags})
endfunction()

# A test bench lists the modules that it needs; dingo_rtl_test puts these packages first.
set(DINGO_RTL_DIR ${CMAKE_SOURCE_DIR}/hw/rtl CACHE INTERNAL "")
file(GLOB includes CONFIGURE_DEPENDS ${DINGO_RTL_DIR}/types/*.svh)
set(DINGO_RTL_INCLUDES ${includes} CACHE INTERNAL "")
set(DINGO_RTL_PACKAGES ${DINGO_CONTRACT_DIR}/dingo_pkg.sv ${DINGO_CONTRACT_DIR}/dingo_log_pkg.sv ${DINGO_RTL_DIR}/rtl_pkg.sv
    ${DINGO_RTL_DIR}/ctrl/cq_pkg.sv ${DINGO_RTL_DIR}/ctrl/eq_pkg.sv ${DINGO_RTL_DIR}/ctrl/admin_pkg.sv
    ${DINGO_RTL_DIR}/ctrl/regs_pkg.sv
    ${DINGO_RTL_DIR}/wire/roce_pkg.sv ${DINGO_RTL_DIR}/transport/req_pkg.sv ${DINGO_RTL_DIR}/transport/rsp_pkg.sv CACHE INTERNAL "")

# dingo_rtl_test(NAME [UNITS] TOP module RTL file... CPP file...): a GoogleTest program for one module;
# RTL paths are relative to hw/rtl. UNITS: see dingo_unit().
function(dingo_rtl_test name)
  cmake_parse_arguments(T "UNITS" "TOP" "RTL;CPP;ARGS" ${ARGN})
  list(TRANSFORM T_RTL PREPEND ${DINGO_RTL_DIR}/)
  dingo_verilate(${name}_v TOP ${T_TOP} SOURCES ${DINGO_RTL_PACKAGES} ${T_RTL} ARGS ${T_ARGS})
  add_executable(${name} ${T_CPP})
  if(T_UNITS)
    dingo_unit(${name} SIZE 5)
  endif()
  target_link_libraries(${name} PRIVATE dingo_options ${name}_v dingo_rtl_types dingo_contract GTest::gtest_main)
  # rtl_types.h needs the size macros with which the module is Verilated.
  set(sizes ${T_ARGS})
  list(FILTER sizes INCLUDE REGEX "^-D")
  target_compile_options(${name} PRIVATE ${sizes})
  add_dependencies(${name}_v_files dingo_contract_files)
  gtest_discover_tests(${name} TEST_PREFIX rtl. DISCOVERY_TIMEOUT 60 PROPERTIES LABELS rtl TIMEOUT 300)
endfunction()
