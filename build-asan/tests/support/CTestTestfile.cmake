# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/support
# Build directory: /tmp/w-driver/build-asan/tests/support
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
