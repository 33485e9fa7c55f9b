# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/hw/contract
# Build directory: /tmp/w-driver/build-asan/tests/hw/contract
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
add_test([=[contract.layout_is_the_same_in_c_and_systemverilog]=] "/root/.pyenv/shims/python3" "/tmp/w-driver/tests/hw/contract/layout_test.py" "/tmp/w-driver/build-asan/bin/contract_dump_c" "/tmp/w-driver/build-asan/hw/contract/include" "/tmp/w-driver/build-asan/tests/hw/contract/verilated")
set_tests_properties([=[contract.layout_is_the_same_in_c_and_systemverilog]=] PROPERTIES  SKIP_RETURN_CODE "77" _BACKTRACE_TRIPLES "/tmp/w-driver/tests/hw/contract/CMakeLists.txt;7;add_test;/tmp/w-driver/tests/hw/contract/CMakeLists.txt;0;")
add_test([=[contract.document_is_current]=] "/usr/bin/cmake" "-E" "compare_files" "/tmp/w-driver/build-asan/hw/contract/include/contract.md" "/tmp/w-driver/docs/contract.md")
set_tests_properties([=[contract.document_is_current]=] PROPERTIES  _BACKTRACE_TRIPLES "/tmp/w-driver/tests/hw/contract/CMakeLists.txt;10;add_test;/tmp/w-driver/tests/hw/contract/CMakeLists.txt;0;")
add_test([=[contract.generator_refuses_contradictions]=] "/root/.pyenv/shims/python3" "/tmp/w-driver/tests/hw/contract/gen_test.py" "/tmp/w-driver/hw/contract")
set_tests_properties([=[contract.generator_refuses_contradictions]=] PROPERTIES  _BACKTRACE_TRIPLES "/tmp/w-driver/tests/hw/contract/CMakeLists.txt;12;add_test;/tmp/w-driver/tests/hw/contract/CMakeLists.txt;0;")
