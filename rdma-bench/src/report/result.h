// SPDX-License-Identifier: BSD-2-Clause
// The result of a run as plain data, and the sinks that receive it. No verbs, no text: report/*.cpp
// make JSON, CSV, HTML and tables.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/options.h"
#include "report/histogram.h"

namespace rdma_bench {

/// One device port as it was when the run began.
struct DeviceFacts {
    std::string name;  ///< "mlx5_0"
    std::string firmware;
    std::uint32_t vendor_id = 0, part_id = 0;
    std::string node_guid;  ///< 16 hexadecimal digits
    unsigned port = 1;
    std::string link_layer;   ///< "Ethernet" or "InfiniBand"
    std::string state;        ///< "ACTIVE"
    unsigned active_mtu = 0;  ///< bytes
    double rate_gbits = 0;    ///< width x speed of the port; 0: not known
    int gid_index = -1;       ///< -1: none used
    std::string gid;          ///< as people write an address
    std::string gid_type;     ///< "RoCE v2"
};

/// One of the two sides.
struct HostFacts {
    std::string name;    ///< host name
    std::string kernel;  ///< release
    std::string cpu;     ///< model name
    unsigned cpus = 0;   ///< processors that this process may use
    DeviceFacts device;
    std::string clock;         ///< what time is read from; empty: not told
    std::string pinned;        ///< --pin: processors of the threads that move messages; empty: free
    int device_node = -1;      ///< NUMA node of the device; -1: not told
    int memory_node = -1;      ///< NUMA node of the messages' memory
    std::string thread_nodes;  ///< of the processors that the threads may use: "0" or "0,1"
};

/// A setting of the run as it was used, e.g. {"tx_depth", "128"}; in the order to show.
struct Parameter {
    std::string name, value;
};

struct Bandwidth {
    double average = 0;  ///< bytes a second of payload; both directions together when bidirectional
    double peak =
        0;  ///< bytes a second, best stretch between a post and a completion; 0: not measured
    double message_rate = 0;  ///< messages a second
};

/// What one side spent while the messages went.
struct CpuCost {
    double user_seconds = 0, system_seconds = 0;
    std::optional<std::uint64_t>
        instructions;  ///< of this process, user mode; nothing: the kernel does not allow to count
    std::uint64_t messages = 0;  ///< by which the cost is to be divided
};

struct Counter {
    std::string name;  ///< below ports/N: "hw_counters/out_of_buffer"
    std::uint64_t before = 0, after = 0;
};

struct Verification {
    std::uint64_t messages = 0, bytes = 0;  ///< messages and bytes that were compared
    std::uint64_t wrong = 0;  ///< messages with at least one wrong byte, or out of order
    std::uint64_t lost = 0;   ///< that never came: UC and UD only
    std::string first;        ///< the first mismatch in words: message, offset, expected, got
    [[nodiscard]] bool ok() const { return wrong == 0; }
};

/// The rate-driven mode: latency counts from when a message was to start.
struct RateOutcome {
    double wanted = 0, reached = 0;  ///< messages a second
    std::uint64_t late = 0;          ///< messages that could not start when they were to
};

/// How many messages there were in a stretch of an entry.
struct SeriesPoint {
    double seconds = 0;          ///< since the entry began, where the stretch ends
    std::uint64_t messages = 0;  ///< completed in it
};

/// --clients: what one of several at a time had of an entry.
struct ClientShare {
    std::uint64_t iterations = 0;
    double seconds = 0;
    double bandwidth = 0, message_rate = 0;  ///< as in Bandwidth
};

/// --repeat: one of several measurements of the same entry.
struct Repeat {
    std::string started;
    std::uint64_t iterations = 0;
    double seconds = 0;
    double bandwidth = 0, message_rate = 0;  ///< as in Bandwidth; 0: not measured
    double median = 0, tail = 0;             ///< latency, nanoseconds: 50 and 99 %; 0: not measured
};

/// One size with one number of QPs. With --repeat the figures are the medians of the repeats and
/// latencies those of all together.
struct Entry {
    std::uint64_t size = 0;  ///< bytes of a message
    unsigned qps = 1;
    unsigned threads = 1;
    std::uint64_t iterations =
        0;                    ///< messages, as the table has them: of all QPs, of one direction
    std::uint64_t bytes = 0;  ///< payload of those
    double seconds = 0;       ///< measured time
    std::string started;      ///< UTC, "2026-01-31T12:00:00Z"
    std::optional<Bandwidth> bandwidth;  ///< bandwidth tests only
    std::optional<Histogram> latency;    ///< of the latency tests, and of the others with --rate
    std::vector<double> samples;         ///< -H, -U: nanoseconds in order of measurement
    CpuCost cpu;                         ///< this side
    std::optional<CpuCost> peer_cpu;
    std::vector<Counter> counters;  ///< this side's port
    std::vector<Counter> peer_counters;
    std::optional<Verification> verification;  ///< with --verify: both sides together
    std::optional<RateOutcome> rate;
    std::vector<Repeat> repeats;  ///< in order; empty without --repeat
    /// --clients: of each, in the order of Result::clients; the other figures are those of all
    /// together.
    std::vector<ClientShare> clients;
    std::vector<SeriesPoint> series;  ///< of the side that sends; empty: the run was too short
    std::uint64_t lost = 0;           ///< messages of UC and UD that were sent and did not come
    bool partial = false;             ///< interrupted: what was measured until then
};

/// A QP as the header of the table shows it. Not for files: keys are secrets.
struct QpFacts {
    std::uint16_t lid = 0;
    std::uint32_t qpn = 0, psn = 0, outstanding = 0, rkey = 0;
    std::uint64_t address = 0;
    std::array<std::uint8_t, 16> gid{};
};

struct Result {
    std::string version;  ///< version of the program
    Test test;
    bool client = false;  ///< which side wrote this
    std::string started;  ///< UTC, as in Entry
    std::vector<Parameter> parameters;
    HostFacts local, peer;
    std::vector<HostFacts> clients;  ///< --clients: all of them; `peer` is the first
    std::vector<QpFacts> local_qps, peer_qps;
    std::string security;  ///< of the exchange: "not encrypted", or cipher and identity
    std::vector<Entry> entries;
    std::string error;  ///< why the run ended early; empty: it did not
    int exit_status = 0;
};

/// Where a run stands; a few times a second at most.
struct Progress {
    std::uint64_t size = 0;
    unsigned qps = 1;
    std::size_t entry = 0,
                entries = 1;  ///< 0-based number of the entry that runs, and how many there are
    double done = 0;          ///< part of the entry, 0 to 1
    std::uint64_t messages = 0, bytes = 0;  ///< of the entry so far
    double seconds = 0;                     ///< since the entry began
};

/// Told of a run as it goes. Methods are called by one thread, never while messages are timed.
class Sink {
  public:
    virtual ~Sink() = default;
    /// Once, when both sides are connected: all of `result` is there but entries, error and
    /// exit_status.
    virtual void start(const Result& /*result*/) {}
    virtual void progress(const Progress& /*progress*/) {}
    /// After each entry; it is the last of result.entries.
    virtual void entry(const Result& /*result*/, const Entry& /*entry*/) {}
    /// Once, also after an error or Ctrl-C.
    virtual void done(const Result& /*result*/) {}
};

}  // namespace rdma_bench
