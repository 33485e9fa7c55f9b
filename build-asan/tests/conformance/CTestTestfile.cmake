# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/conformance
# Build directory: /tmp/w-driver/build-asan/tests/conformance
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/tmp/w-driver/build-asan/tests/conformance/conformance[1]_include.cmake")
