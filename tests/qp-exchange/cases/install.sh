# SPDX-License-Identifier: BSD-2-Clause
# The files that `cmake --install` installs suffice to build and run the tutorial elsewhere.
prefix=$logs/prefix
plain 'install: cmake --install --component qpx' "cmake --install build --component qpx --prefix $prefix" 'libqp-exchange.so.0'
plain 'install: the library names itself libqp-exchange.so.0' "readelf -d $prefix/lib/$(gcc -print-multiarch)/libqp-exchange.so" 'SONAME.*\[libqp-exchange.so.0\]'
plain 'install: C++ and C headers' "ls $prefix/include/qpx/peer.h $prefix/include/qpx/qpx.h" ''
libdir=$(dirname "$(find "$prefix" -name libqp-exchange.so)")
for kind in qpx::qpx qpx::static; do
    plain "install: find_package(qpx) and $kind" "mkdir -p $logs/consumer; cp tests/qp-exchange/cases/consumer/project.cmake $logs/consumer/CMakeLists.txt; cmake -S $logs/consumer -B $logs/$kind -DCMAKE_PREFIX_PATH=$prefix \
        -DKIND=$kind -DSOURCE=$PWD/qp-exchange/examples/write_hello.cpp -DHEADERS=$PWD/tests/qp-exchange/cases/consumer/every_header.cpp && \
        cmake --build $logs/$kind" 'Built target write_hello'
    plain "install: every public header with $kind" "LD_LIBRARY_PATH=$libdir $logs/$kind/every_header" 'every header links and works'
done
export PKG_CONFIG_PATH=$libdir/pkgconfig
plain 'install: pkg-config' "g++ -std=c++20 qp-exchange/examples/write_hello.cpp -o $logs/hello \$(pkg-config --cflags --libs qpx)" ''
plain 'install: a C program by pkg-config' "gcc -std=c99 -D_DEFAULT_SOURCE tests/qp-exchange/c/c_test.c -o $logs/c_test \$(pkg-config --cflags --libs qpx) && \
    LD_LIBRARY_PATH=$libdir $logs/c_test" ''
plain 'install: the example in C by pkg-config' "gcc -std=c99 qp-exchange/examples/write_hello_c.c -o $logs/hello_c \$(pkg-config --cflags --libs qpx)" ''
start_card gamma
for binary in "$logs/hello" "$logs/hello_c" "$logs/qpx::static/write_hello"; do
    server_card=gamma client_card=gamma
    pair "install: $(basename "$(dirname "$binary")")/$(basename "$binary") runs" "LD_LIBRARY_PATH=$libdir $binary" "LD_LIBRARY_PATH=$libdir $binary A" 'written to' 18600
done
"$dingo" card stop gamma >/dev/null
server_card=alpha client_card=beta
