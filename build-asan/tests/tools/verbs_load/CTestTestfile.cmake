# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests/tools/verbs_load
# Build directory: /tmp/w-driver/build-asan/tests/tools/verbs_load
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
