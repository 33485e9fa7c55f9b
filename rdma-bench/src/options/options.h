// SPDX-License-Identifier: BSD-2-Clause
// Options of a run. options/parse.cpp fills them in from the command line.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdma_bench {

enum class Operation : std::uint8_t { kWrite, kRead, kSend, kAtomic, kWriteImm };
/// Returns true if each message consumes a receive at the target.
constexpr bool takes_receives(Operation operation) {
    return operation == Operation::kSend || operation == Operation::kWriteImm;
}
/// Returns true if messages are written to the target's memory by RDMA.
constexpr bool writes(Operation operation) {
    return operation == Operation::kWrite || operation == Operation::kWriteImm;
}
enum class Metric : std::uint8_t { kBandwidth, kLatency };

/// One of the tests.
struct Test {
    Operation operation = Operation::kWrite;
    Metric metric = Metric::kBandwidth;

    bool operator==(const Test&) const = default;
    [[nodiscard]] bool latency() const { return metric == Metric::kLatency; }
    /// Returns true if both sides send alternately, so that the latency is half a round trip.
    [[nodiscard]] bool ping_pong() const {
        return latency() && (writes(operation) || takes_receives(operation));
    }
};

/// Returns "write-bw" ... "atomic-lat".
std::string_view to_string(Test test);
/// Returns nullopt if there is no such test.
std::optional<Test> parse_test(std::string_view name);
/// All tests, in the order of the help.
const std::array<Test, 10>& all_tests();

enum class Connection : std::uint8_t { kRc, kUc, kUd };
std::string_view to_string(Connection connection);

enum class AtomicType : std::uint8_t { kFetchAndAdd, kCompareAndSwap };

/// --output: print only one number to standard output.
enum class Output : std::uint8_t { kTable, kBandwidth, kMessageRate, kLatency };

/// Tables and files to write, and the format of numbers.
struct ReportOptions {
    bool gbits = false;      ///< --report_gbits: 10^9 bit/s, else MiB/s
    bool cycles = false;     ///< -C: latencies in ticks of the CPU's time stamp counter
    bool histogram = false;  ///< -H: print all latency samples, sorted
    bool unsorted = false;   ///< -U: print all latency samples, in order of measurement
    bool force = false;      ///< -F: do not warn about the CPU's frequency
    bool progress = false;   ///< --progress: a line on stderr even if that is not a terminal
    bool cpu = false;        ///< --cpu: CPU time and instructions per message
    Output output = Output::kTable;
    std::vector<std::string>
        counters;               ///< -W: paths below ports/N, e.g. hw_counters/out_of_buffer; "all"
    std::string json;           ///< --json: file, "-" for standard output, empty for none
    std::string csv;            ///< --csv, likewise
    std::string perftest_json;  ///< --out_json_file, or --out_json: perftest_out.json
    std::string html;           ///< --html: file
    std::string
        compare;  ///< --compare: JSON of an earlier run, shown next to this one in the HTML report
};

struct Options {
    Test test;
    std::string host;  ///< empty: this side is the server
    [[nodiscard]] bool client() const { return !host.empty(); }

    // Device and path.
    std::string device;              ///< -d; empty: the first
    std::uint8_t port = 1;           ///< -i
    int gid_index = -1;              ///< -x; -1: chosen by the address of the connection
    std::uint32_t mtu = 0;           ///< -m, bytes; 0: the port's
    std::uint8_t sl = 0;             ///< -S
    std::uint8_t traffic_class = 0;  ///< --tclass, or -T
    std::uint8_t hop_limit = 64;     ///< -L
    std::uint8_t timeout = 14;       ///< -u: 4.096 us * 2^u
    std::uint8_t retry_count = 7;    ///< --retry_count
    std::uint32_t flow_label = 0;    ///< --flow_label
    std::uint16_t pkey_index = 0;    ///< --pkey_index

    // Connection of the two programs.
    std::uint16_t tcp_port = 18515;  ///< -p
    std::string source_ip;           ///< --source_ip: address to listen on or to connect from
    bool ipv6 = false;               ///< --ipv6: use a GID and a connection of that family
    std::string security = "none";   ///< --security, for qpx::parse_security()
    bool rdma_cm = false;            ///< -R: the connection managers of both hosts connect the QPs
    bool rdma_cm_exchange = false;   ///< -z: the programs communicate over rdma_cm instead of TCP
    unsigned connect_timeout = 10;   ///< --connect-timeout, seconds
    unsigned clients = 1;            ///< --clients: concurrent clients of a server

    // Traffic.
    Connection connection = Connection::kRc;  ///< -c
    std::vector<std::uint64_t> sizes;         ///< -s, -a; bytes, ascending as given; never empty
    bool all_sizes = false;                   ///< -a
    std::vector<unsigned> qps{1};     ///< -q; one entry of the result for each size and count
    unsigned threads = 1;             ///< --threads; the QPs are distributed over them
    std::uint64_t iterations = 1000;  ///< -n, messages of each QP; unused with a duration
    unsigned duration = 0;            ///< -D, seconds; 0: iterations are used
    unsigned margin = 0;              ///< -f, seconds not measured at both ends of the duration
    bool run_infinitely = false;      ///< --run_infinitely: a line each `duration` seconds
    unsigned tx_depth = 128;          ///< -t
    unsigned rx_depth = 512;          ///< -r
    unsigned cq_moderation = 100;     ///< -Q: each Nth message is signaled
    bool cq_moderation_given = false;
    unsigned post_list = 1;       ///< -l
    unsigned recv_post_list = 1;  ///< --recv_post_list
    int inline_size =
        -1;  ///< -I; -1: latency tests: WRITE 220, SEND 236, at most the device's limit; else 0
    unsigned outstanding = 0;                      ///< -o: READs and atomics; 0: the device's limit
    AtomicType atomic = AtomicType::kFetchAndAdd;  ///< -A
    bool reversed = false;           ///< --reversed: the server initiates the messages
    bool bidirectional = false;      ///< -b
    bool events = false;             ///< -e
    unsigned completion_vector = 0;  ///< -X
    bool srq = false;                ///< --use-srq
    bool no_peak = false;            ///< -N
    bool old_post_send = false;    ///< --use_old_post_send: ibv_post_send() even if ibv_wr_* exists
    bool warm_up = false;          ///< --perform_warm_up
    unsigned repeat = 1;           ///< --repeat: measurements of each entry
    double interval = 0.1;         ///< --interval, seconds between points of the time series
    std::vector<unsigned> pin;     ///< --pin: processors of the threads; empty: not pinned
    bool mr_per_qp = false;        ///< --mr_per_qp
    bool relaxed_ordering = true;  ///< false with --disable_pcie_relaxed
    bool verify = false;           ///< --verify
    double rate = 0;               ///< --rate, messages/s of all QPs together; 0: unlimited
    unsigned burst = 1;            ///< --burst_size: messages due at the same time
    std::string memory = "host";   ///< --mem, for make_buffer()

    // Limits: a result below one ends the run with exit status 6.
    std::optional<double> limit_bandwidth;     ///< -w, in the unit of the table
    std::optional<double> limit_message_rate;  ///< -y, Mpps

    ReportOptions report;
};

}  // namespace rdma_bench
