# SPDX-License-Identifier: BSD-2-Clause
# An external project that uses an installed qpx. KIND: qpx::qpx or qpx::static; SOURCE: its source;
# HEADERS: a source that includes every header.
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(qpx 0.1 REQUIRED)
add_executable(write_hello ${SOURCE})
target_link_libraries(write_hello PRIVATE ${KIND})
add_executable(every_header ${HEADERS})
target_link_libraries(every_header PRIVATE ${KIND})
find_package(Threads REQUIRED)
target_link_libraries(every_header PRIVATE Threads::Threads)
