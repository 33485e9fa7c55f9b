# SPDX-License-Identifier: BSD-2-Clause
# What the suites of rdma-bench share: sourced behind begin_suite, with $bench (the program) and $port (not perftest's: somebody
# may measure on this machine).
# bench_pair NAME REGEX ARGUMENTS...: server and client with these arguments, one string each (the client's, when it has others).
bench_pair() {
    pair "$1" "$bench $3 -F -p $port" "$bench ${4:-$3} -F -p $port A" "$2" $port
}
start_card alpha
start_card beta
