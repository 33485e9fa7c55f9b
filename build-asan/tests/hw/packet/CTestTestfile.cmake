# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/hw/packet
# Build directory: /tmp/w-driver/build-asan/tests/hw/packet
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/tmp/w-driver/build-asan/tests/hw/packet/test_packet[1]_include.cmake")
