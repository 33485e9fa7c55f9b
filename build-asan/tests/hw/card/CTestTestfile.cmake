# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/hw/card
# Build directory: /tmp/w-driver/build-asan/tests/hw/card
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/tmp/w-driver/build-asan/tests/hw/card/vfio_user_test[1]_include.cmake")
include("/tmp/w-driver/build-asan/tests/hw/card/doorbell_scanner_test[1]_include.cmake")
include("/tmp/w-driver/build-asan/tests/hw/card/card_test[1]_include.cmake")
