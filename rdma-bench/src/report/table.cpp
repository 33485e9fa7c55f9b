// SPDX-License-Identifier: BSD-2-Clause
// perftest's banner and table, column by column, so that scripts that cut them keep working. What
// perftest does not have stands in lines that begin with a tab.
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "exit.h"
#include "report/counter_table.h"
#include "report/fairness.h"
#include "report/percentiles.h"
#include "report/sinks.h"
#include "report/spread.h"

namespace rdma_bench {
namespace {

constexpr auto kLine =
    "---------------------------------------------------------------------------------------";

std::string title(const Options& o) {
    std::string name = o.test.operation == Operation::kWrite      ? "RDMA_Write"
                       : o.test.operation == Operation::kWriteImm ? "RDMA_Write_Imm"
                       : o.test.operation == Operation::kRead     ? "RDMA_Read"
                       : o.test.operation == Operation::kSend     ? "Send"
                       : o.atomic == AtomicType::kFetchAndAdd     ? "Atomic FETCH_AND_ADD"
                                                                  : "Atomic CMP_AND_SWAP";
    return name + (o.bidirectional ? " Bidirectional" : "") +
           (o.test.latency() ? " Latency Test" : " BW Test");
}

const char* on(bool value) {
    return value ? "ON" : "OFF";
}

class TableSink final : public Sink {
  public:
    explicit TableSink(const Options& options)
        : options_(options), table_(options.report.output == Output::kTable) {}

    void start(const Result& result) override {
        if (!table_) {
            return;
        }
        const auto value = [&](const char* name) {
            const auto found = std::find_if(result.parameters.begin(), result.parameters.end(),
                                            [&](const Parameter& p) { return p.name == name; });
            return found == result.parameters.end() ? std::string() : found->value;
        };
        const bool one_sided = options_.test.operation == Operation::kRead ||
                               options_.test.operation == Operation::kAtomic;
        std::printf("%s\n                    %s\n", kLine, title(options_).c_str());
        std::printf(" Dual-port       : OFF\t\tDevice         : %s\n",
                    result.local.device.name.c_str());
        std::printf(" Number of qps   : %s\t\tTransport type : IB\n", value("qps").c_str());
        std::printf(" Connection type : %s\t\tUsing SRQ      : %s\n", value("connection").c_str(),
                    on(options_.srq));
        std::printf(" PCIe relax order: %s\n", on(options_.relaxed_ordering));
        std::printf(" ibv_wr* API     : %s\n", on(value("posting") == "ibv_wr"));
        if (result.client || options_.bidirectional) {
            std::printf(" TX depth        : %s\n", value("tx_depth").c_str());
        }
        if (takes_receives(options_.test.operation) && (!result.client || options_.bidirectional)) {
            std::printf(" RX depth        : %s\n", value("rx_depth").c_str());
        }
        if (!options_.test.latency()) {
            std::printf(" CQ Moderation   : %s\n", value("cq_moderation").c_str());
        }
        std::printf(" Mtu             : %s[B]\n", value("mtu").c_str());
        std::printf(" Link type       : %s\n",
                    result.local.device.link_layer == "Ethernet" ? "Ethernet" : "IB");
        if (result.local.device.gid_index >= 0) {
            std::printf(" GID index       : %d\n", result.local.device.gid_index);
        }
        if (one_sided) {
            std::printf(" Outstand reads  : %s\n", value("outstanding").c_str());
        } else {
            std::printf(" Max inline data : %s[B]\n", value("inline_size").c_str());
        }
        std::printf(" rdma_cm QPs\t : %s\n Data ex. method : %s\n", on(options_.rdma_cm),
                    options_.rdma_cm_exchange ? "rdma_cm" : "Ethernet");
        std::printf("%s\n", kLine);
        print_addresses(" local", result.local_qps, one_sided);
        print_addresses(" remote", result.peer_qps, one_sided);
        std::printf("%s\n", kLine);
        print_head();
        flush();
    }

    void entry(const Result& result, const Entry& entry) override {
        if (!table_) {
            print_number(entry);
            return;
        }
        if (options_.test.latency() && entry.latency) {
            if (!entry.samples.empty()) {
                print_samples(entry);
                print_head();
            }
            print_latency(entry);
        } else if (entry.bandwidth) {
            print_bandwidth(entry);
        }
        print_more(result, entry);
        flush();
    }

    void done(const Result& result) override {
        if (table_ && !result.local_qps.empty()) {
            const bool named = options_.report.counters != std::vector<std::string>{"all"};
            std::fputs(report::counter_table(result, named).c_str(), stdout);
            std::printf("%s\n", kLine);
        }
        flush();
    }

  private:
    /// Ends the run when standard output is a full disk or its reader has gone, as `head` does.
    void flush() {
        if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || told_) {
            return;
        }
        told_ = true;
        throw RunError(Exit::kFailed, std::string("standard output: ") + std::strerror(errno));
    }

    void print_addresses(const char* side, const std::vector<QpFacts>& qps,
                         bool outstanding) const {
        for (const auto& qp : qps) {
            std::printf("%s address: LID %04x QPN 0x%06x PSN 0x%06x", side, qp.lid, qp.qpn, qp.psn);
            if (outstanding) {
                std::printf(" OUT 0x%02x", qp.outstanding);
            }
            if (qp.rkey || qp.address) {
                std::printf(" RKey 0x%06x VAddr 0x%016" PRIx64, qp.rkey, qp.address);
            }
            std::printf("\n GID: ");
            for (std::size_t i = 0; i < qp.gid.size(); ++i) {
                std::printf("%s%02u", i ? ":" : "", qp.gid[i]);
            }
            std::printf("\n");
        }
    }

    void print_head() const {
        const char* unit = options_.report.cycles ? "cycles" : "usec";
        if (!options_.test.latency()) {
            const char* bandwidth = options_.report.gbits ? "Gb/sec" : "MiB/sec";
            std::printf(
                " #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]\n",
                bandwidth, bandwidth);
        } else if (options_.duration) {
            std::printf(" #bytes        #iterations       t_avg[%s]    tps average\n", unit);
        } else {
            std::printf(
                " #bytes #iterations    t_min[%s]    t_max[%s]  t_typical[%s]    t_avg[%s]    "
                "t_stdev[%s]   99%% percentile[%s]   99.9%% percentile[%s] \n",
                unit, unit, unit, unit, unit, unit, unit);
        }
    }

    [[nodiscard]] double shown(double bytes_per_second) const {
        return bytes_per_second / (options_.report.gbits ? 1e9 / 8 : 1048576.0);
    }

    void print_bandwidth(const Entry& entry) const {
        std::printf(" %-7" PRIu64 "    %-10" PRIu64
                    "       %-7.2f            %-7.2f\t\t   %-7.6f\n",
                    entry.size, entry.iterations, shown(entry.bandwidth->peak),
                    shown(entry.bandwidth->average), entry.bandwidth->message_rate / 1e6);
    }

    /// Nanoseconds in the unit of the table.
    [[nodiscard]] double time(const Entry& entry, double ns) const {
        // The unit of a half round trip is half a tick.
        const double tick = entry.latency->unit_ns() * (options_.test.ping_pong() ? 2 : 1);
        return options_.report.cycles ? ns / tick : ns / 1000;
    }

    void print_latency(const Entry& entry) const {
        const Histogram& h = *entry.latency;
        const auto t = [&](double ns) { return time(entry, ns); };
        if (options_.duration) {
            const double rate =
                entry.seconds > 0 ? static_cast<double>(entry.iterations) / entry.seconds : 0;
            std::printf(" %-7" PRIu64 "       %-10" PRIu64 "      %-7.2f        %-7.2f\n",
                        entry.size, entry.iterations, t(h.mean()), rate);
            return;
        }
        std::printf(" %-7" PRIu64 " %-10" PRIu64
                    "    %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7.2f "
                    "\t\t%-7.2f\n",
                    entry.size, entry.iterations, t(h.min()), t(h.max()), t(h.typical()),
                    t(h.mean()), t(h.stdev()), t(h.percentile(99)), t(h.percentile(99.9)));
    }

    void print_samples(const Entry& entry) const {
        auto samples = entry.samples;
        if (!options_.report.unsorted) {
            std::sort(samples.begin(), samples.end());
        }
        std::printf("#, %s\n", options_.report.cycles ? "cycles" : "usec");
        for (std::size_t i = 0; i < samples.size(); ++i) {
            std::printf("%zu, %g\n", i + 1, time(entry, samples[i]));
        }
        std::printf("%s\n", kLine);
    }

    void print_number(const Entry& entry) const {
        if (options_.report.output == Output::kLatency && entry.latency) {
            std::printf("%f\n", time(entry, entry.latency->mean()));
        } else if (options_.report.output == Output::kBandwidth && entry.bandwidth) {
            std::printf("%f\n", shown(entry.bandwidth->average));
        } else if (options_.report.output == Output::kMessageRate && entry.bandwidth) {
            std::printf("%f\n", entry.bandwidth->message_rate / 1e6);
        }
        std::fflush(stdout);
    }

    /// --clients: the row has all together, these are the parts.
    void print_clients(const Result& result, const Entry& entry) const {
        if (entry.clients.empty()) {
            return;
        }
        const double all = entry.bandwidth ? entry.bandwidth->average : 0;
        for (std::size_t i = 0; i < entry.clients.size(); ++i) {
            const ClientShare& client = entry.clients[i];
            const HostFacts* host = i < result.clients.size() ? &result.clients[i] : nullptr;
            std::printf("\tclient %zu: %.2f %s, %.6f Mpps, %.1f %%%s%s%s\n", i + 1,
                        shown(client.bandwidth), options_.report.gbits ? "Gb/sec" : "MiB/sec",
                        client.message_rate / 1e6, all > 0 ? client.bandwidth / all * 100 : 0,
                        host != nullptr ? ", " : "", host != nullptr ? host->name.c_str() : "",
                        host != nullptr ? (" " + host->device.gid).c_str() : "");
        }
        const Fairness f = fairness_of(entry.clients);
        std::printf(
            "\tfairness: %.4f (Jain's index; 1: all the same), the slowest has %.1f %% of the "
            "fastest\n",
            f.index, f.ratio() * 100);
    }

    void print_more(const Result& result, const Entry& entry) const {
        if (options_.qps.size() > 1) {
            std::printf("\tQPs: %u\n", entry.qps);
        }
        if (entry.latency && (options_.rate > 0 || options_.duration)) {
            const Histogram& h = *entry.latency;
            std::printf("\tlatency, us: min %.2f", h.min() / 1000);
            for (const double percent : {50.0, 90.0, 99.0, 99.9, 99.99, 99.999}) {
                std::printf(", %s", percentile(entry, percent, 1 / 1e3).c_str());
            }
            std::printf(", max %.2f\n", h.max() / 1000);
        } else if (entry.latency) {
            const double unit = time(entry, 1);
            std::printf("\t%s, %s\n", percentile(entry, 99.99, unit).c_str(),
                        percentile(entry, 99.999, unit).c_str());
            // Its column is perftest's, and stays.
            if (!report::enough_samples(entry.latency->count(), 99.9)) {
                std::printf("\tthe column 99.9%% is the slowest message: %s\n",
                            percentile(entry, 99.9, unit).c_str());
            }
        }
        warn_about_skew(entry);
        print_spread(entry);
        print_clients(result, entry);
        if (entry.rate) {
            std::printf("\trate: %.0f messages/s of %.0f, %" PRIu64 " started late\n",
                        entry.rate->reached, entry.rate->wanted, entry.rate->late);
        }
        if (options_.report.cpu) {
            print_cost("here", entry.cpu);
            if (entry.peer_cpu) {
                print_cost("peer", *entry.peer_cpu);
            }
        }
        if (entry.lost) {
            std::printf("\tlost: %" PRIu64 " messages, which %s does not retransmit\n", entry.lost,
                        std::string(to_string(options_.connection)).c_str());
        }
        if (entry.verification) {
            const auto& v = *entry.verification;
            std::printf("\tverified: %" PRIu64 " messages, %" PRIu64 " bytes, %" PRIu64 " wrong",
                        v.messages, v.bytes, v.wrong);
            std::printf(v.lost ? ", %" PRIu64 " lost\n" : "\n", v.lost);
        }
        if (entry.partial) {
            // The peer's direction comes with its report, which an early end leaves out.
            const bool one_way = options_.bidirectional && options_.repeat == 1 && !options_.verify;
            std::printf("\tinterrupted: the row has what was measured until then%s\n",
                        one_way ? ", in this side's direction" : "");
        }
    }

    /// "99.9% 12.34", or how many samples that takes. @param unit of the table in a nanosecond
    static std::string percentile(const Entry& entry, double percent, double unit) {
        char text[96];
        if (report::enough_samples(entry.latency->count(), percent)) {
            std::snprintf(text, sizeof text, "%g%% %.2f", percent,
                          entry.latency->percentile(percent) * unit);
        } else {
            std::snprintf(text, sizeof text, "%g%% needs %" PRIu64 " samples", percent,
                          report::samples_needed(percent));
        }
        return text;
    }

    void print_spread(const Entry& entry) const {
        if (entry.repeats.empty()) {
            return;
        }
        const bool latency = options_.test.latency();
        std::vector<double> values;
        for (const Repeat& r : entry.repeats) {
            values.push_back(latency ? time(entry, r.median) : shown(r.bandwidth));
        }
        const Spread s = spread_of(values);
        const char* unit = !latency                 ? options_.report.gbits ? "Gb/sec" : "MiB/sec"
                           : options_.report.cycles ? "cycles"
                                                    : "usec";
        std::printf("\t%zu repeats: median %s%.2f %s, in %.2f to %.2f with %.1f %%\n", s.count,
                    latency ? "t_typical " : "", s.median, unit, s.low, s.high, s.confidence * 100);
        if (!s.decides()) {
            std::printf(
                "\ttoo few repeats for a confidence interval: --repeat %u or more gives 95 %%\n",
                kFewestRepeats);
        }
    }

    static void warn_about_skew(const Entry& entry) {
        if (!entry.latency || !(entry.latency->typical() > 0)) {
            return;
        }
        const double ratio = entry.latency->mean() / entry.latency->typical();
        if (ratio >= report::kSkewed) {
            std::printf(
                "\twarning: the mean is %.1f times the median: a few messages took very "
                "long (read the percentiles, not t_avg)\n",
                ratio);
        }
    }

    static void print_cost(const char* side, const CpuCost& cost) {
        if (!cost.messages) {
            return;
        }
        const auto messages = static_cast<double>(cost.messages);
        std::printf("\tcpu, %s: %.3f us/message (user %.3f, system %.3f)", side,
                    (cost.user_seconds + cost.system_seconds) * 1e6 / messages,
                    cost.user_seconds * 1e6 / messages, cost.system_seconds * 1e6 / messages);
        if (cost.instructions) {
            std::printf(", %.1f instructions/message",
                        static_cast<double>(*cost.instructions) / messages);
        }
        std::printf("\n");
    }

    Options options_;
    bool table_;
    bool told_ = false;  ///< that standard output cannot be written
};

}  // namespace

std::unique_ptr<Sink> make_table_sink(const Options& options) {
    return std::make_unique<TableSink>(options);
}

}  // namespace rdma_bench
