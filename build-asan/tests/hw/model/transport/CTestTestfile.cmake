# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/hw/model/transport
# Build directory: /tmp/w-driver/build-asan/tests/hw/model/transport
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/tmp/w-driver/build-asan/tests/hw/model/transport/test_transport[1]_include.cmake")
