#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# How good are the tests? Makes single small errors in one part of the sources, one at a time, and runs that part's tests:
# what no test sees is a hole. It works in a copy of the tree below build/mutate, so the tree itself may change meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
usage() {
    cat <<'USAGE'
usage: scripts/mutate.sh [--jobs N] PART [COUNT [SEED [SECONDS]]]
       scripts/mutate.sh [--jobs N] PART --again OUTPUT
  PART     model packet provider driver uverbs qpx: the files that a program's data or a stranger's packet passes
  COUNT    mutants that change the program (25); SEED chooses which (1); no mutant is begun after SECONDS (0: no limit)
  --jobs   copies of the tree that work side by side, each in network namespaces of its own (root; 1)
  --again  only the mutants that survived in this output of an earlier run
One line a mutant, then the score. A survivor may be equivalent: read it. docs/mutation.md has results.
USAGE
}
[ $# -ge 1 ] && [ "$1" != --help ] || { usage; exit $(($# == 0 ? 2 : 0)); }

jobs=1
if [ "$1" = --jobs ]; then
    [[ ${2:-} =~ ^[1-9][0-9]*$ ]] && [ $# -ge 3 ] || { usage >&2; die "--jobs needs a number, and then a part"; }
    jobs=$2
    shift 2
fi
part=$1
paths=() tests=()
# Tests in the order in which they run: the first that fails ends it. step TARGETS PRODUCTS COMMAND; gtest PROGRAM [FILTER]
step() { tests+=(--test "$1|$2|$3"); }
gtest() { step "$1" "bin/$1" "\$BUILD/bin/$1 --gtest_brief=1 --gtest_fail_fast ${2:-}"; }
scripts() { step wire_script bin/wire_script "ctest --test-dir \$BUILD -R ^wire[.]model[.] --stop-on-failure -Q"; }
# A kernel-less card and real programs on it, for what no unit test reaches.
cards() { step 'dingo dingo-card dingo_preload dingo_provider verbs_promises verbs_check' 'bin/dingo-card lib/libdingo.so.1' "scripts/lib/mutate_cards.sh \$BUILD"; }
case $part in
model)
    # Not the admin commands, registers and compute kernels: what a driver asks for, not what passes.
    m=hw/model/src
    paths=($m/transport $m/{completion_queue,event_queue,loopback,memory_region,memory_table_impl,page_list,port,qp,receive_queue,ring_memory,ethernet}.h
        $m/{completion_queue,doorbells,ethernet,ethernet_receive,event_queue,loopback,memory_table,memory_window,page_list,port,receive_queue,ring_memory}.cpp)
    gtest test_transport
    gtest model_test
    scripts
    # These two compare long runs of the model with itself.
    gtest conformance --gtest_filter=-*Equality*:*LongestMessage*
    ;;
packet)
    # Not text.cpp and text_parse.cpp: they read and write what tests and people see.
    paths=(hw/packet/{address,build,crc_copy,icrc,parse}.cpp hw/packet/include/dingo/packet/{address,aeth,build,bytes,headers,headers_inline,icrc,opcodes,parse,psn}.h hw/packet/crc_copy.h)
    gtest test_packet
    scripts
    gtest test_transport
    ;;
provider)
    paths=(provider/{send,send_ex,recv,cq,cq_poll,cq_poll_ex,cq_resize,srq,ring,doorbell}.c provider/{wqe,completion,doorbell,ring,queue_size}.h)
    step 'provider_send_test provider_data_path_test provider_resize_test' 'bin/provider_send_test bin/provider_data_path_test bin/provider_resize_test' \
        "ctest --test-dir \$BUILD -R ^provider[.] -E another_rdma_core --stop-on-failure -Q"
    cards
    ;;
driver)
    # Memory of programs, queues and doorbells, frames of strangers (MADs, ARP, ND); not the card's start, its clock and its counters.
    d=hw/host/driver
    paths=($d/{access,address_vector,bus_map,card_object,client_file,client_memory,client_queue,cq,dm,doorbells,event_queues,gsi,mr,mr_keys,mr_memory,neighbour_frames,neighbours,object_tables,qp,qp_modify,queue_memory,queue_slabs,shared_segments,srq}.cpp
        $d/{bus_map,client_file,client_memory,dm,doorbells,event_queues,gsi,neighbour_frames,neighbours,queue_memory,queue_slabs,shared_segments,udata}.h)
    gtest driver_test
    # The driver's other user: device memory, file regions and events are tested through it. Its hostile clients only cost time here.
    gtest uverbs_test --gtest_filter=-*Hostile*
    cards
    ;;
uverbs)
    # What a program asks for and what it gets; not the directory, sysfs and the poller.
    u=hw/host/uverbs
    paths=($u/{attachment,attributes,call,events,ioctl,ioctl_device,ioctl_dm,ioctl_memory,ioctl_queues,message,netlink,objects,uverbs_file,verbs}.cpp
        $u/write*.cpp $u/{attributes,call,events,ioctl,message,netlink_message,objects,protocol,uverbs_file,verbs,write}.h)
    gtest uverbs_test
    cards
    ;;
qpx)
    q=qp-exchange/src
    paths=($q/wire $q/peer $q/group/messages.cpp $q/group/messages.h)
    gtest test_qpx_wire
    gtest test_qpx_group
    gtest test_qpx_peer
    ;;
*)
    usage >&2
    exit 2
    ;;
esac

case ${2:-} in
--again) choice=(--again "$3") ;;
*) choice=(--count "${2:-25}" --seed "${3:-1}" --until "${4:-0}") ;;
esac
export CCACHE_DIR=${CCACHE_DIR:-$DINGO_CACHE/ccache} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
# Compiling is most of a mutant's time, so one error compiles one file. A mutant may well leave something unused: that is no error here.
linker=$(command -v mold >/dev/null && echo mold || { command -v ld.lld >/dev/null && echo lld || echo bfd; })
configure="cmake -S . -B @BUILD@ -G Ninja -DCMAKE_BUILD_TYPE=Mutants -DCMAKE_C_FLAGS='-O1 -w' -DCMAKE_CXX_FLAGS='-O1 -w' -DDINGO_RTL=OFF \
    -DDINGO_UNITY=OFF -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=$linker"
exec python3 scripts/lib/mutate.py --folder "build/mutate/$part" --configure "$configure" --equivalents scripts/lib/mutate_equivalents.txt --jobs "$jobs" \
    "${choice[@]}" "${tests[@]}" "${paths[@]}"
