# CMake generated Testfile for 
# Source directory: /tmp/w-driver/tests
# Build directory: /tmp/w-driver/build-asan/tests
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
subdirs("bench")
subdirs("conformance")
subdirs("hw/card")
subdirs("hw/card/uverbs/driver")
subdirs("hw/card/wire")
subdirs("hw/contract")
subdirs("hw/model")
subdirs("hw/model/transport")
subdirs("hw/packet")
subdirs("provider")
subdirs("support")
subdirs("tools/verbs_check")
subdirs("tools/verbs_load")
subdirs("wire")
