# CMake generated Testfile for 
# Source directory: /tmp/w-driver/hw/card
# Build directory: /tmp/w-driver/build-asan/hw/card
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
subdirs("wire")
subdirs("uverbs")
subdirs("tool")
