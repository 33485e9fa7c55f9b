# CMake generated Testfile for 
# Source directory: /tmp/w-driver/hw/card/uverbs/driver
# Build directory: /tmp/w-driver/build-asan/hw/card/uverbs/driver
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
