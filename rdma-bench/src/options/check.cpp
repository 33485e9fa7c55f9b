// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "options/parse.h"

namespace rdma_bench {
namespace {

void require(bool fits, const std::string& sentence) {
    if (!fits) {
        throw UsageError(sentence);
    }
}

void check_sizes(const Options& o) {
    const bool atomic = o.test.operation == Operation::kAtomic;
    require(!atomic || o.sizes == std::vector<std::uint64_t>{8}, "-s: an atomic has 8 bytes");
    require(!o.verify || o.test.operation != Operation::kSend || o.connection != Connection::kUd ||
                *std::min_element(o.sizes.begin(), o.sizes.end()) >= 8,
            "--verify: datagrams need at least 8 bytes, which tell them apart");
}

void check_transport(const Options& o) {
    const auto name = std::string(to_string(o.connection));
    const bool one_sided_answer =
        o.test.operation == Operation::kRead || o.test.operation == Operation::kAtomic;
    require(!one_sided_answer || o.connection == Connection::kRc,
            "-c " + name + ": only RC has RDMA READ and atomics");
    require(o.test.operation == Operation::kSend || o.connection != Connection::kUd,
            "-c UD: datagrams can only be sent (send-bw, send-lat)");
    require(!o.srq || takes_receives(o.test.operation),
            "--use-srq: only send-bw, send-lat, write-imm-bw and write-imm-lat receive");
    require(!o.verify || o.test.latency() || o.test.operation != Operation::kWriteImm,
            "--verify: not with write-imm-bw; use write-imm-lat or write-bw");
    require(!o.srq || o.connection != Connection::kUc, "--use-srq: not with UC");
    require(!o.rdma_cm || o.connection == Connection::kRc,
            "-R: rdma_cm connects RC QPs here; leave it out for -c " + name);
    require(!o.outstanding || one_sided_answer, "-o: only for RDMA READ and atomics");
    require(!(o.events && o.rate > 0), "-e: not with --rate, which polls for completions");
    require(!o.events || o.test.operation != Operation::kWrite,
            "-e: the target of an RDMA WRITE gets no completion; use send-bw, send-lat, "
            "write-imm-bw, write-imm-lat or a READ");
}

void check_latency(const Options& o) {
    require(o.qps == std::vector<unsigned>{1}, "-q: a latency test uses one QP");
    require(o.threads == 1, "--threads: a latency test uses one thread");
    require(o.post_list == 1, "-l: a latency test posts one message at a time");
    require(!o.run_infinitely, "--run_infinitely: only for bandwidth tests");
    require(!o.reversed, "--reversed: only for bandwidth tests");
    require(o.burst == 1, "--burst_size: only for bandwidth tests");
    require(o.report.output != Output::kBandwidth && o.report.output != Output::kMessageRate,
            "--output: a latency test gives latency");
}

void check_bandwidth(const Options& o) {
    const unsigned fewest = *std::min_element(o.qps.begin(), o.qps.end());
    require(o.threads <= fewest,
            "--threads " + std::to_string(o.threads) + " needs as many QPs (-q)");
    require(o.post_list <= o.tx_depth, "-l cannot be more than -t");
    require(o.report.output != Output::kLatency || o.rate > 0,
            "--output=latency: a bandwidth test gives latency with --rate only");
    require(!(o.rate > 0 && o.bidirectional), "--rate goes one way: leave out -b");
    require(!(o.rate > 0 && o.post_list > 1),
            "--rate posts one message at a time; --burst_size makes several due together");
    require(!(o.rate > 0 && o.run_infinitely), "--rate and --run_infinitely exclude each other");
    require(!(o.warm_up && o.verify),
            "--perform_warm_up: a verified run is no measurement of speed");
    require(!o.verify || o.post_list == 1, "--verify posts one message at a time");
    require(!o.reversed || !o.bidirectional, "--reversed and -b exclude each other");
    require(o.burst == 1 || o.burst <= o.tx_depth, "--burst_size cannot be more than -t");
}

void check_clients(const Options& o) {
    if (o.clients == 1) {
        return;
    }
    require(!o.test.latency(), "--clients: only for bandwidth tests");
    require(!o.client(), "--clients: only the server waits for several; leave it out here");
    // With -n clients would finish at different times, leaving the link to the others.
    require(o.duration, "--clients needs -D on all sides, so that they run at the same time");
    require(!o.run_infinitely, "--clients and --run_infinitely exclude each other");
    require(!o.verify, "--clients and --verify exclude each other");
}

}  // namespace

void set_sizes(Options& o) {
    const bool atomic = o.test.operation == Operation::kAtomic;
    if (o.all_sizes) {
        require(!atomic, "-a: an atomic has 8 bytes");
        require(o.sizes.empty(), "-a and -s exclude each other");
        for (unsigned shift = 1; shift <= 23; ++shift) {
            o.sizes.push_back(std::uint64_t{1} << shift);
        }
    }
    if (o.sizes.empty()) {
        o.sizes = {atomic ? 8U : o.test.latency() ? 2U : 65536U};
    }
}

void check_options(const Options& o) {
    check_sizes(o);
    require(!o.run_infinitely || o.duration, "--run_infinitely needs -D, how often a line comes");
    const std::uint64_t margins = std::uint64_t{2} * o.margin;
    require(!o.duration || margins < o.duration, "-f: both margins are " + std::to_string(margins) +
                                                     " s, the run -D " +
                                                     std::to_string(o.duration) + " s");
    require(o.repeat == 1 || !o.run_infinitely, "--repeat and --run_infinitely exclude each other");
    require(!(o.verify && o.rate > 0), "--verify and --rate exclude each other");
    require(!(o.verify && o.reversed),
            "--verify: start the test at the other side instead of --reversed");
    require(!(o.verify && o.run_infinitely), "--verify and --run_infinitely exclude each other");
    check_transport(o);
    check_clients(o);
    o.test.latency() ? check_latency(o) : check_bandwidth(o);
    if (o.recv_post_list > o.rx_depth) {
        throw UsageError("--recv_post_list cannot be more than -r");
    }
}

}  // namespace rdma_bench
