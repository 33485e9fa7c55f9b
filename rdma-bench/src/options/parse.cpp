// SPDX-License-Identifier: BSD-2-Clause
#include "options/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "cli/number.h"
#include "memory/buffer.h"
#include "options/refused.h"

namespace rdma_bench {
namespace {

constexpr auto kDevice = "Device and path";
constexpr auto kTraffic = "Traffic";
constexpr auto kReport = "Report";
constexpr auto kPeer = "Between the two programs";
/// Takes weeks at any speed. Also catches negative numbers, which CLI11 converts to 64-bit
/// unsigned.
constexpr std::uint64_t kMostIterations = 1'000'000'000'000;

/// Option values as text, which are converted to members of Options after CLI11 has parsed them.
struct Raw {
    std::string sizes, qps, rate, connection = "RC", atomic = "FETCH_AND_ADD", output, counters;
    std::string pin;
    std::string rate_limit, rate_units = "g", rate_limit_type = "SW";
    bool no_relaxed = false, huge = false;
    int tos = -1;
};

/// Shows values as "N" or "TEXT": descriptions and error texts say which values are allowed.
class PlainFormatter : public CLI::Formatter {
  public:
    std::string make_option_opts(const CLI::Option* option) const override {
        // CLI11 gives flags a type name, too, but they take no value.
        if (option->get_type_size() == 0 || option->get_items_expected_max() == 0) {
            return "";
        }
        return option->get_type_name().starts_with("TEXT") ? " TEXT" : " N";
    }
};

void add_device(CLI::App& app, Options& o, Raw& raw) {
    app.add_option("-d,--ib-dev", o.device, "device (the first there is)")->group(kDevice);
    app.add_option("-i,--ib-port", o.port, "port of the device (1)")
        ->check(CLI::Range(1, 255))
        ->group(kDevice);
    app.add_option("-x,--gid-index", o.gid_index,
                   "GID (by the address of the connection, RoCE v2 and IPv4 first)")
        ->check(CLI::Range(0, 255))
        ->group(kDevice);
    app.add_flag("--ipv6", o.ipv6, "an IPv6 GID and connection")->group(kDevice);
    app.add_option("-m,--mtu", o.mtu,
                   "path MTU, 256 to 4096 (the port's; the smaller of both sides)")
        ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}))
        ->group(kDevice);
    app.add_option("-u,--qp-timeout", o.timeout, "ACK timeout: 4.096 us * 2^N (14)")
        ->check(CLI::Range(0, 31))
        ->group(kDevice);
    app.add_option("--retry_count", o.retry_count, "retransmissions until a QP fails (7)")
        ->check(CLI::Range(0, 7))
        ->group(kDevice);
    app.add_option("-S,--sl", o.sl, "service level (0)")->check(CLI::Range(0, 15))->group(kDevice);
    app.add_option("-T,--tos", raw.tos, "as --tclass")->check(CLI::Range(0, 255))->group(kDevice);
    app.add_option("--tclass", o.traffic_class, "traffic class: DSCP * 4 + ECN (0)")
        ->check(CLI::Range(0, 255))
        ->group(kDevice);
    app.add_option("-L,--hop_limit", o.hop_limit, "hop limit (64)")
        ->check(CLI::Range(0, 255))
        ->group(kDevice);
    app.add_option("--flow_label", o.flow_label, "flow label (0)")
        ->check(CLI::Range(0, 0xfffff))
        ->group(kDevice);
    app.add_option("--pkey_index", o.pkey_index, "partition key (0)")->group(kDevice);
    app.add_option("--mem", o.memory, "kind of memory (host); one of\n" + memory_kinds())
        ->group(kDevice);
    app.add_flag("--use_hugepages", raw.huge, "as --mem huge")->group(kDevice);
    app.add_flag("--mr_per_qp", o.mr_per_qp, "a memory region for each QP")->group(kDevice);
    app.add_flag("--disable_pcie_relaxed", raw.no_relaxed, "regions without relaxed ordering")
        ->group(kDevice);
}

void add_traffic(CLI::App& app, Options& o, Raw& raw) {
    const bool bandwidth = !o.test.latency();
    app.add_option("-s,--size", raw.sizes,
                   "bytes of a message; several: 64,4k,1M (65536; latency 2; atomic 8)")
        ->group(kTraffic);
    app.add_flag("-a,--all", o.all_sizes, "sizes from 2 to 2^23")->group(kTraffic);
    app.add_option("-q,--qp", raw.qps, "number of QPs; several: 1,8 (1)")->group(kTraffic);
    app.add_option("--threads", o.threads, "the QPs are spread over so many threads (1)")
        ->check(CLI::Range(1, 1024))
        ->group(kTraffic);
    app.add_option("-n,--iters", o.iterations,
                   "messages of each QP, at least 5 (1000; write-bw 5000)")
        ->check(CLI::Range(std::uint64_t{5}, kMostIterations))
        ->group(kTraffic);
    app.add_option("-D,--duration", o.duration, "seconds to run, instead of -n")
        ->check(CLI::Range(1, 1000000))
        ->group(kTraffic);
    app.add_option("-f,--margin", o.margin,
                   "seconds of -D not measured at both ends (2, at most a quarter)")
        ->group(kTraffic);
    app.add_flag("--run_infinitely", o.run_infinitely, "until Ctrl-C; a line every -D seconds")
        ->group(kTraffic);
    app.add_option("-c,--connection", raw.connection, "RC, UC or UD (RC)")->group(kTraffic);
    app.add_option("-t,--tx-depth", o.tx_depth, "outstanding messages of a QP (128; latency 1)")
        ->check(CLI::Range(1, 65536))
        ->group(kTraffic);
    app.add_option("-r,--rx-depth", o.rx_depth, "receives posted on a QP or SRQ (512)")
        ->check(CLI::Range(1, 65536))
        ->group(kTraffic);
    app.add_option("-Q,--cq-mod", o.cq_moderation,
                   "a completion for every Nth message (100; 1 above 8 KiB)")
        ->check(CLI::Range(1, 65536))
        ->group(kTraffic);
    app.add_option("-l,--post_list", o.post_list, "messages in one post (1)")
        ->check(CLI::Range(1, 65536))
        ->group(kTraffic);
    app.add_option("--recv_post_list", o.recv_post_list,
                   "receives in one post (as many as came, at most 16)")
        ->check(CLI::Range(1, 65536))
        ->group(kTraffic);
    app.add_option("-I,--inline_size", o.inline_size,
                   "messages up to this size are inline (0; latency: 220, SEND 236, or what the "
                   "device can)")
        ->check(CLI::Range(0, 65536))
        ->group(kTraffic);
    app.add_option("-o,--outs", o.outstanding,
                   "outstanding READs and atomics of a QP (the device's limit)")
        ->check(CLI::Range(1, 255))
        ->group(kTraffic);
    app.add_option("-A,--atomic_type", raw.atomic, "FETCH_AND_ADD or CMP_AND_SWAP (FETCH_AND_ADD)")
        ->check(CLI::IsMember({"FETCH_AND_ADD", "CMP_AND_SWAP"}))
        ->group(kTraffic);
    app.add_flag("-e,--events", o.events, "sleep until a completion (poll)")->group(kTraffic);
    app.add_option("-X,--vector", o.completion_vector, "completion vector for -e (0)")
        ->group(kTraffic);
    app.add_flag("--use-srq", o.srq, "a shared receive queue")->group(kTraffic);
    app.add_flag("--use_old_post_send", o.old_post_send,
                 "ibv_post_send, also when the device has ibv_wr_*")
        ->group(kTraffic);
    app.add_flag("--reversed", o.reversed, "the server starts the messages")->group(kTraffic);
    app.add_flag("--verify", o.verify,
                 "compare every byte and the order; time for that is not counted")
        ->group(kTraffic);
    app.add_option(
           "--rate", raw.rate,
           "messages a second of all QPs, k and M allowed; latency counts from when each was due")
        ->group(kTraffic);
    app.add_option("--rate_limit", raw.rate_limit, "as --rate, in --rate_units")->group(kTraffic);
    app.add_option("--rate_units", raw.rate_units,
                   "unit of --rate_limit: M (MiB/s), g (Gb/s), p (messages/s) (g)")
        ->check(CLI::IsMember({"M", "g", "p"}))
        ->group(kTraffic);
    app.add_option("--rate_limit_type", raw.rate_limit_type, "SW: paced by software; the only kind")
        ->group(kTraffic);
    app.add_option("--burst_size", o.burst, "messages that are due at the same time (1)")
        ->check(CLI::Range(1, 65536))
        ->group(kTraffic);
    app.add_option("--repeat", o.repeat,
                   "measure each row N times, in turn; figures are medians, with a 95 % confidence "
                   "interval (from 6 repeats on) (1)")
        ->check(CLI::Range(1, 10000))
        ->group(kTraffic);
    app.add_option("--pin", raw.pin,
                   "processors of the threads that move messages: 2,4-5, in turn (the scheduler's "
                   "choice)")
        ->group(kTraffic);
    if (bandwidth) {
        app.add_flag("-b,--bidirectional", o.bidirectional, "both ways")->group(kTraffic);
        app.add_flag("--perform_warm_up", o.warm_up, "some messages before the measurement")
            ->group(kTraffic);
    }
}

void add_report(CLI::App& app, Options& o, Raw& raw) {
    auto& r = o.report;
    app.add_option("--output", raw.output,
                   "bandwidth, message_rate or latency: that number and nothing else")
        ->check(CLI::IsMember({"bandwidth", "message_rate", "latency"}))
        ->group(kReport);
    app.add_option("--json", r.json, "write the results to this JSON file; - is standard output")
        ->group(kReport);
    app.add_option("--csv", r.csv, "write a CSV line for each row of the table to this file")
        ->group(kReport);
    app.add_flag_callback(
           "--out_json",
           [&r] {
               r.perftest_json = r.perftest_json.empty() ? "perftest_out.json" : r.perftest_json;
           },
           "write perftest's JSON to perftest_out.json, with its keys and valid")
        ->group(kReport);
    app.add_option("--out_json_file", r.perftest_json, "write perftest's JSON to this file")
        ->group(kReport);
    app.add_option("--html", r.html, "write an HTML page with plots to this file")->group(kReport);
    app.add_option("--compare", r.compare,
                   "JSON of an earlier run, shown beside this one in the page")
        ->group(kReport);
    app.add_option("-W,--report-counters", raw.counters,
                   "changes of these port counters: hw_counters/NAME,counters/NAME or all")
        ->group(kReport);
    app.add_option("--interval", o.interval,
                   "seconds between the points of the time series in --json and --html (0.1)")
        ->check(CLI::Range(0.01, 3600.0))
        ->group(kReport);
    app.add_flag("--cpu", r.cpu, "processor time and instructions per message")->group(kReport);
    app.add_flag("--progress", r.progress, "a line on stderr even when that is no terminal")
        ->group(kReport);
    app.add_flag("-F,--CPU-freq", r.force, "no warning when the CPU's frequency varies")
        ->group(kReport);
    if (o.test.latency()) {
        app.add_flag("-C,--report-cycles", r.cycles, "latencies in ticks of the time stamp counter")
            ->group(kReport);
        app.add_flag("-H,--report-histogram", r.histogram, "every sample, sorted")->group(kReport);
        app.add_flag("-U,--report-unsorted", r.unsorted,
                     "every sample, in the order of measurement")
            ->group(kReport);
    } else {
        app.add_flag("--report_gbits", r.gbits, "Gb/s (10^9) instead of MiB/s (2^20)")
            ->group(kReport);
        app.add_flag("-N,--noPeak", o.no_peak,
                     "no peak bandwidth, and no time stamp for each message")
            ->group(kReport);
        app.add_option("-w,--limit_bw", o.limit_bandwidth, "fail (status 6) below this average")
            ->check(cli::kNonNegative)
            ->group(kReport);
        app.add_option("-y,--limit_msgrate", o.limit_message_rate,
                       "fail (status 6) below this message rate, Mpps")
            ->check(cli::kNonNegative)
            ->group(kReport);
    }
}

void add_peer(CLI::App& app, Options& o) {
    app.add_option("host", o.host, "the server's name or address; without it this is the server")
        ->group(kPeer);
    app.add_option("-p,--port", o.tcp_port, "TCP port (18515)")
        ->check(CLI::Range(1, 65535))
        ->group(kPeer);
    app.add_option("--source_ip,--bind_source_ip", o.source_ip, "address of this host to listen on")
        ->group(kPeer);
    app.add_option("--security", o.security, "none, psk:FILE or tls:CERTIFICATE,KEY,CA (none)")
        ->group(kPeer);
    app.add_option("--connect-timeout", o.connect_timeout,
                   "seconds to wait for the peer's answer (10)")
        ->check(CLI::Range(1, 86400))
        ->group(kPeer);
    // Latency tests have it, hidden, only to refuse it with an explanation.
    app.add_option("--clients", o.clients,
                   "server: wait for N clients, run them at the same time, show all together, "
                   "each, and how fair it was (1)")
        ->check(CLI::Range(1, 1024))
        ->group(o.test.latency() ? "" : kPeer);
    app.add_flag("-R,--rdma_cm", o.rdma_cm,
                 "rdma_cm connects the QPs (RC; needs the module rdma_ucm)")
        ->group(kPeer);
    app.add_flag("-z,--com_rdma_cm,--comm_rdma_cm", o.rdma_cm_exchange,
                 "the two programs talk over rdma_cm, not TCP")
        ->group(kPeer);
}

void take_rate(Options& o, const Raw& raw) {
    if (!raw.rate.empty()) {
        o.rate = parse_rate(raw.rate);
    }
    if (raw.rate_limit.empty()) {
        return;
    }
    if (raw.rate_limit_type != "SW") {
        throw UsageError("--rate_limit_type " + raw.rate_limit_type +
                         " is not supported: only SW, software pacing");
    }
    const double value = parse_rate(raw.rate_limit);
    if (raw.rate_units == "p") {
        o.rate = value;
    } else if (o.sizes.size() != 1) {
        throw UsageError("--rate_limit in bytes needs one size; write --rate for several");
    } else {
        const double bytes = raw.rate_units == "M" ? value * 1048576 : value * 1e9 / 8;
        o.rate = bytes / static_cast<double>(o.sizes.front());
    }
}

void take(Options& o, const Raw& raw) {
    if (!raw.sizes.empty()) {
        o.sizes = parse_sizes(raw.sizes);
    }
    if (!raw.qps.empty()) {
        o.qps = parse_counts(raw.qps, "-q");
    }
    static const std::map<std::string, Connection> kConnections{
        {"RC", Connection::kRc}, {"UC", Connection::kUc}, {"UD", Connection::kUd}};
    const auto connection = kConnections.find(raw.connection);
    if (connection == kConnections.end()) {
        throw UsageError("-c " + raw.connection + ": the connection types are RC, UC and UD");
    }
    o.connection = connection->second;
    o.atomic =
        raw.atomic == "CMP_AND_SWAP" ? AtomicType::kCompareAndSwap : AtomicType::kFetchAndAdd;
    static const std::map<std::string, Output> kOutputs{{"", Output::kTable},
                                                        {"bandwidth", Output::kBandwidth},
                                                        {"message_rate", Output::kMessageRate},
                                                        {"latency", Output::kLatency}};
    o.report.output = kOutputs.at(raw.output);
    for (std::size_t from = 0; from < raw.counters.size();) {
        const auto comma = std::min(raw.counters.find(',', from), raw.counters.size());
        if (comma == from) {
            throw UsageError("-W " + raw.counters + ": the name of a counter is empty");
        }
        o.report.counters.push_back(raw.counters.substr(from, comma - from));
        from = comma + 1;
    }
    if (!raw.pin.empty()) {
        o.pin = parse_processors(raw.pin);
    }
    if (raw.tos >= 0) {
        o.traffic_class = static_cast<std::uint8_t>(raw.tos);
    }
    if (raw.huge) {
        o.memory = "huge";
    }
    o.relaxed_ordering = !raw.no_relaxed;
}

void set_defaults(Options& o) {
    const bool write_bw = o.test == Test{Operation::kWrite, Metric::kBandwidth};
    o.iterations = write_bw ? 5000 : 1000;
    o.tx_depth = o.test.latency() ? 1 : 128;
}

/// Refuses empty values, which scripts pass if a variable is not set.
void refuse_empty_values(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        const auto& values = option->results();
        if (std::find(values.begin(), values.end(), "") != values.end()) {
            throw UsageError(option->get_name() + ": the value is empty");
        }
    }
}

std::string description(Test test) {
    const std::string name(to_string(test));
    return "rdma-bench " + name + ": " + (test.latency() ? "latency" : "bandwidth") + " of " +
           (test.operation == Operation::kWrite      ? "RDMA WRITE"
            : test.operation == Operation::kRead     ? "RDMA READ"
            : test.operation == Operation::kSend     ? "SEND"
            : test.operation == Operation::kWriteImm ? "RDMA WRITE with immediate data"
                                                     : "RDMA atomics") +
           ".\nStart `rdma-bench " + name + "` on one host, then `rdma-bench " + name +
           " HOST` with the same options on another.\nDefaults stand in parentheses.";
}

/// Variables that CLI11 fills in.
struct CommandLine {
    Options options;
    Raw raw;
    std::vector<std::pair<CLI::Option*, const RefusedOption*>> refused;
    std::vector<std::string> ignored;
};

void add_all(CLI::App& app, Test test, CommandLine& line) {
    line.options.test = test;
    set_defaults(line.options);
    app.formatter(std::make_shared<PlainFormatter>());
    app.get_formatter()->column_width(34);
    app.set_version_flag("-V,--version", "rdma-bench " RDMA_BENCH_VERSION);
    add_peer(app, line.options);
    add_device(app, line.options, line.raw);
    add_traffic(app, line.options, line.raw);
    add_report(app, line.options, line.raw);
    app.footer(
        "Exit status: 0 good; 1 a message or the device failed; 2 options; 3 no such device, or it "
        "cannot;\n"
        "4 no connection to the peer; 5 wrong data; 6 below a limit; 130 interrupted.");
    for (const auto& option : refused_options()) {
        line.refused.emplace_back(
            app.add_option(std::string(option.names), line.ignored)->expected(0, 1)->group(""),
            &option);
    }
}

}  // namespace

void add_test_command(CLI::App& root, Test test) {
    // The options point into `line`.
    const auto line = std::make_shared<CommandLine>();
    auto* const command = root.add_subcommand(std::string(to_string(test)), description(test));
    add_all(*command, test, *line);
    command->callback([line] {});
}

Options parse_options(Test test, std::span<const std::string> arguments) {
    CommandLine line;
    CLI::App app(description(test), "rdma-bench " + std::string(to_string(test)));
    add_all(app, test, line);
    Options& options = line.options;
    // CLI11 takes the arguments from the back.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        throw TextWanted(app.help());
    } catch (const CLI::CallForVersion& version) {
        throw TextWanted(std::string(version.what()) + "\n");
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    for (const auto& [option, why] : line.refused) {
        if (option->count()) {
            throw UsageError(std::string(why->names) + ": " + std::string(why->sentence));
        }
    }
    refuse_empty_values(app);
    options.cq_moderation_given = app.count("--cq-mod") > 0;
    if (!app.count("--margin")) {
        options.margin = std::min(2U, options.duration / 4);
    }
    if (app.count("--iters") && options.duration && !options.run_infinitely) {
        throw UsageError("-n and -D exclude each other");
    }
    take(options, line.raw);
    set_sizes(options);
    take_rate(options, line.raw);
    check_options(options);
    return options;
}

}  // namespace rdma_bench
