# CMake generated Testfile for 
# Source directory: /tmp/w-driver
# Build directory: /tmp/w-driver/build-asan
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
subdirs("hw/contract")
subdirs("hw/packet")
subdirs("hw/engine")
subdirs("hw/model")
subdirs("hw/card")
subdirs("tests")
