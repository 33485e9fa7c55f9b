# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/hw/card/wire
# Build directory: /tmp/w-driver/build-asan/tests/hw/card/wire
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/tmp/w-driver/build-asan/tests/hw/card/wire/wire_test[1]_include.cmake")
