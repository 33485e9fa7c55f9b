# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/hw/card/uverbs/driver
# Build directory: /tmp/w-driver/build-asan/tests/hw/card/uverbs/driver
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/tmp/w-driver/build-asan/tests/hw/card/uverbs/driver/uverbs_driver_test[1]_include.cmake")
