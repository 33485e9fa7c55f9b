#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Mutation testing: makes single small errors in one part of the sources, one at a time, and runs
# that part's tests; an error that no test notices is a gap. Works in a copy of the tree below
# build/mutate, so the tree itself may change meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
usage() {
    cat <<'USAGE'
usage: scripts/mutate.sh [--jobs N] [--units] [--at-once] PART [COUNT [SEED [SECONDS]]]
       scripts/mutate.sh [--jobs N] [--at-once] PART --again OUTPUT
       scripts/mutate.sh --check
  PART     model packet provider driver uverbs qpx: the files that a program's data or a stranger's packet passes
  COUNT    mutants that change the program (25); SEED chooses which (1); no mutant is begun after SECONDS (0: no limit)
  --jobs   copies of the tree that work side by side, each in network namespaces of its own (root; 1)
  --units  without the cards that some parts' survivors are shown: much less to build. Let --again show them the rest.
  --at-once  one build with all mutants, of which an environment variable chooses one: much faster, but only for those in
           .cpp files that can be chosen when a program runs, one at a time
  --again  only the mutants that survived in this output of an earlier run
  --check  no mutants: whether the files of all parts exist, and every line of mutate_equivalents.txt is a mutant of one
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
units=
if [ "$1" = --units ]; then
    units=1
    [ $# -ge 2 ] || { usage >&2; die "--units needs a part"; }
    shift
fi
runner=mutate.py
if [ "$1" = --at-once ]; then
    runner=mutate_at_once.py
    [ "$jobs" = 1 ] && [ $# -ge 2 ] || { usage >&2; die "--at-once needs a part, and no --jobs"; }
    shift
fi
parts=(model packet provider driver uverbs qpx)
# Add to the tests, which run in this order until one fails. step TARGETS PRODUCTS COMMAND; gtest
# PROGRAM [FILTER]
step() { tests+=(--test "$1|$2|$3"); }
gtest() { step "$1" "bin/$1" "\$BUILD/bin/$1 --gtest_brief=1 --gtest_fail_fast ${2:-}"; }
scripts() { step wire_script bin/wire_script "ctest --test-dir \$BUILD -R ^wire[.]model[.] --stop-on-failure -Q"; }
# cards: adds real programs on kernel-less cards, for code that no unit test reaches.
cards() { [ -n "$units" ] || step 'dingo dingo-card dingo_preload dingo_provider verbs_promises verbs_check' 'bin/dingo-card lib/libdingo.so.1' "scripts/lib/mutate_cards.sh \$BUILD"; }

# choose PART: sets its paths, the files left out of them (so that a new file is in a part without
# being listed), and its tests.
choose() {
    paths=() without=() tests=()
    case $1 in
    model)
        # The data path; without admin commands, registers and compute kernels.
        local m=hw/model/src
        paths=($m)
        without=($m/compute $m/cmd_{compute,cq,device,eq,eth,mcast,modify_qp,mr,port,qp,srq,stats}.cpp $m/{admin_queue,card,commands,qp_transitions,registers}.cpp
            $m/{admin_command,admin_queue,capabilities,card,card_context,card_state,commands,object_table,qp_transitions}.h)
        gtest test_transport
        gtest model_test
        scripts
        # These two compare long runs of the model with itself.
        gtest conformance --gtest_filter=-*Equality*:*LongestMessage*
        ;;
    packet)
        # Without the text format, which only people and tests read.
        paths=(hw/packet)
        without=(hw/packet/text.cpp hw/packet/text_parse.cpp hw/packet/include/dingo/packet/text.h)
        gtest test_packet
        scripts
        gtest test_transport
        ;;
    provider)
        # The data path, also of programs that post from a GPU; not the control path, which the
        # kernel executes.
        paths=(provider/{send,send_ex,recv,cq,cq_poll,cq_poll_ex,cq_resize,srq,ring,doorbell}.c provider/{wqe,completion,doorbell,ring,queue_size}.h provider/gda)
        # Without code that needs a GPU, and without the control path of gda, whose tests need
        # cards.
        without=(provider/gda/{memory_hip.c,dingo_gda_port_cuda.h,dingo_gda_port_hip.h,queue.c})
        # Each case runs in its own process, because mutants may crash it.
        local programs=(provider_{create,send,send_roads,recv,data_path,poll,resize,multicast}_test)
        step "${programs[*]}" "${programs[*]/#/bin/}" \
            "for p in ${programs[*]}; do for c in \$(\$BUILD/bin/\$p --list); do \$BUILD/bin/\$p \$c || exit 1; done; done"
        gtest gda_warps_test
        gtest gda_test
        step gda_memory_test bin/gda_memory_test \
            "ctest --test-dir \$BUILD -R '^provider[.]Gda(Devices|HostMemory|Memory|MemoryOfThreads|Opening)[.]' --stop-on-failure -Q"
        cards
        ;;
    driver)
        # Programs' memory and far memory, queues, doorbells, received control frames (MADs, ARP,
        # ND); not the
# card's start, its clock and its counters.
        local d=hw/host/driver
        paths=($d)
        without=($d/{admin_queue,clock,driver,status_page}.{cpp,h} $d/{capabilities,device_attr,tap_queue,verbs_types}.h)
        gtest driver_test
        # uverbs is the driver's other user: device memory, file regions and events are tested
        # through it. The
# tests of hostile clients are left out, because they only cost time here.
        gtest uverbs_test --gtest_filter=-*Hostile*
        cards
        ;;
    uverbs)
        # The requests of programs; not the card directory, sysfs and the poller, and not what needs
        # a GPU.
        local u=hw/host/uverbs
        paths=($u)
        without=($u/{card_directory,gpu_opening,uverbs_host}.{cpp,h} $u/{device,service}.h)
        gtest uverbs_test
        cards
        ;;
    qpx)
        local q=qp-exchange/src
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
}

if [ "$1" = --check ]; then
    for part in "${parts[@]}"; do
        choose "$part"
        echo "$part" "${paths[@]}" "${without[@]/#/-}"
    done | python3 scripts/lib/mutate_check.py scripts/lib/mutate_equivalents.txt
    exit
fi
choose "$1"

case ${2:-} in
--again) choice=(--again "$3") ;;
*) choice=(--count "${2:-25}" --seed "${3:-1}" --until "${4:-0}") ;;
esac
export CCACHE_DIR=${CCACHE_DIR:-$DINGO_CACHE/ccache} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
# No unity build: compiling is most of a mutant's time, and so only one file is compiled. No
# warnings: mutants may leave something unused.
linker=$(command -v mold >/dev/null && echo mold || { command -v ld.lld >/dev/null && echo lld || echo bfd; })
configure="cmake -S . -B @BUILD@ -G Ninja -DCMAKE_BUILD_TYPE=Mutants -DCMAKE_C_FLAGS='-O1 -w' -DCMAKE_CXX_FLAGS='-O1 -w' -DDINGO_RTL=OFF \
    -DDINGO_UNITY=OFF -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=$linker"
# At once: all mutants are compiled together, with the options of the usual build, so that ccache
# has the other objects already.
[ "$runner" = mutate.py ] || configure="cmake -S . -B @BUILD@ --preset release -DDINGO_WERROR=ON -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
exec python3 "scripts/lib/$runner" --folder "build/mutate/$1" --configure "$configure" --equivalents scripts/lib/mutate_equivalents.txt --jobs "$jobs" \
    "${choice[@]}" "${tests[@]}" "${without[@]/#/--without=}" "${paths[@]}"
