// SPDX-License-Identifier: BSD-2-Clause
#include "report/html_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/counter_table.h"
#include "report/fairness.h"
#include "report/markup.h"
#include "report/percentiles.h"
#include "report/spread.h"

namespace rdma_bench::report {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kGiga = 1e9;
constexpr double kNanosecondsPerMicrosecond = 1e3;

struct Column {
    std::string head;
    std::function<std::string(const Entry&)> cell;
};

std::string us(double ns) {
    return fmt::format("{:.2f}", ns / kNanosecondsPerMicrosecond);
}

std::string gbits(double bytes_per_second) {
    const double value = bytes_per_second * kBitsPerByte / kGiga;
    return value < 1 ? three_digits(value) : fmt::format("{:.3f}", value);
}

/// Processor time of one message, or nothing when it was not counted.
std::string per_message(const CpuCost& cost) {
    if (cost.messages == 0) {
        return {};
    }
    const auto messages = static_cast<double>(cost.messages);
    return us((cost.user_seconds + cost.system_seconds) / messages * kGiga);
}

std::string instructions(const CpuCost& cost) {
    if (!cost.instructions || cost.messages == 0) {
        return {};
    }
    return fmt::format(
        "{:.0f}", static_cast<double>(*cost.instructions) / static_cast<double>(cost.messages));
}

std::string verdict(const Verification& v) {
    return v.ok() ? fmt::format("{} right{}", v.messages,
                                v.lost > 0 ? fmt::format(", {} lost", v.lost) : "")
                  : fmt::format("{} of {} WRONG: {}", v.wrong, v.messages, v.first);
}

/// "12.1 to 12.9 (96.9 %, 6)": the interval of the median, its confidence, of how many repeats.
std::string interval(const Entry& entry) {
    if (entry.repeats.empty()) {
        return {};
    }
    std::vector<double> values;
    for (const Repeat& r : entry.repeats) {
        values.push_back(entry.bandwidth ? r.bandwidth * kBitsPerByte / kGiga
                                         : r.median / kNanosecondsPerMicrosecond);
    }
    const Spread s = spread_of(values);
    return fmt::format("{} to {} ({:.1f} % of {})", three_digits(s.low), three_digits(s.high),
                       s.confidence * 100, s.count);
}

std::vector<Column> all_columns() {
    std::vector<Column> columns{
        {"size, bytes",
         [](const Entry& e) {
             return fmt::format("{}{}", e.size, e.partial ? " (interrupted)" : "");
         }},
        {"QPs", [](const Entry& e) { return fmt::format("{}", e.qps); }},
        {"threads",
         [](const Entry& e) { return e.threads > 1 ? fmt::format("{}", e.threads) : ""; }},
        {"messages", [](const Entry& e) { return fmt::format("{}", e.iterations); }},
        {"Gb/s", [](const Entry& e) { return e.bandwidth ? gbits(e.bandwidth->average) : ""; }},
        {"peak Gb/s",
         [](const Entry& e) {
             return e.bandwidth && e.bandwidth->peak > 0 ? gbits(e.bandwidth->peak) : "";
         }},
        {"messages/s",
         [](const Entry& e) { return e.bandwidth ? format_count(e.bandwidth->message_rate) : ""; }},
        {"min, \xC2\xB5s", [](const Entry& e) { return e.latency ? us(e.latency->min()) : ""; }},
        {"mean", [](const Entry& e) { return e.latency ? us(e.latency->mean()) : ""; }},
    };
    for (const Percentile& p : kPercentiles) {
        columns.push_back({p.percent == 50 ? "median" : std::string(p.name) + " %",
                           [percent = p.percent](const Entry& e) {
                               if (!e.latency) {
                                   return std::string{};
                               }
                               return enough_samples(e.latency->count(), percent)
                                          ? us(e.latency->percentile(percent))
                                          : fmt::format("needs {} samples",
                                                        samples_needed(percent));
                           }});
    }
    columns.push_back(
        {"max, \xC2\xB5s", [](const Entry& e) { return e.latency ? us(e.latency->max()) : ""; }});
    columns.push_back({"fairness (Jain)", [](const Entry& e) {
                           return e.clients.empty()
                                      ? ""
                                      : fmt::format("{:.4f}", fairness_of(e.clients).index);
                       }});
    columns.push_back({"interval of the median, Gb/s or \xC2\xB5s", interval});
    columns.push_back(
        {"wanted/s", [](const Entry& e) { return e.rate ? format_count(e.rate->wanted) : ""; }});
    columns.push_back(
        {"reached/s", [](const Entry& e) { return e.rate ? format_count(e.rate->reached) : ""; }});
    columns.push_back(
        {"late", [](const Entry& e) { return e.rate ? fmt::format("{}", e.rate->late) : ""; }});
    columns.push_back({"CPU \xC2\xB5s/message", [](const Entry& e) { return per_message(e.cpu); }});
    columns.push_back({"instructions/message", [](const Entry& e) { return instructions(e.cpu); }});
    columns.push_back({"peer's CPU \xC2\xB5s/message",
                       [](const Entry& e) { return e.peer_cpu ? per_message(*e.peer_cpu) : ""; }});
    columns.push_back(
        {"data", [](const Entry& e) { return e.verification ? verdict(*e.verification) : ""; }});
    return columns;
}

std::string node(int number) {
    return number < 0 ? "not told" : fmt::format("{}", number);
}

/// Where the threads that move messages run.
std::string placement(const HostFacts& h) {
    return (h.pinned.empty() ? "not pinned" : "pinned to " + h.pinned) +
           (h.thread_nodes.empty() ? "" : ", NUMA node(s) " + h.thread_nodes);
}

struct Fact {
    const char* name;
    std::string (*value)(const HostFacts&);
};

const std::vector<Fact>& facts() {
    static const std::vector<Fact> kFacts{
        {"host", [](const HostFacts& h) { return h.name; }},
        {"kernel", [](const HostFacts& h) { return h.kernel; }},
        {"processor",
         [](const HostFacts& h) {
             return h.cpus > 0 ? fmt::format("{}, {} CPU(s)", h.cpu, h.cpus) : h.cpu;
         }},
        {"threads", [](const HostFacts& h) { return placement(h); }},
        {"NUMA node of the memory", [](const HostFacts& h) { return node(h.memory_node); }},
        {"NUMA node of the device", [](const HostFacts& h) { return node(h.device_node); }},
        {"clock", [](const HostFacts& h) { return h.clock; }},
        {"device",
         [](const HostFacts& h) {
             return fmt::format("{}, port {}", h.device.name, h.device.port);
         }},
        {"vendor, part",
         [](const HostFacts& h) {
             return fmt::format("{:#06x}, {}", h.device.vendor_id, h.device.part_id);
         }},
        {"firmware", [](const HostFacts& h) { return h.device.firmware; }},
        {"node GUID", [](const HostFacts& h) { return h.device.node_guid; }},
        {"link",
         [](const HostFacts& h) {
             return h.device.rate_gbits > 0
                        ? fmt::format("{}, {}, {} Gb/s", h.device.link_layer, h.device.state,
                                      three_digits(h.device.rate_gbits))
                        : fmt::format("{}, {}", h.device.link_layer, h.device.state);
         }},
        {"active MTU",
         [](const HostFacts& h) { return fmt::format("{} bytes", h.device.active_mtu); }},
        {"GID",
         [](const HostFacts& h) {
             return h.device.gid_index < 0 ? "none"
                                           : fmt::format("{}: {}, {}", h.device.gid_index,
                                                         h.device.gid, h.device.gid_type);
         }},
    };
    return kFacts;
}

}  // namespace

Table results_table(const Run& run) {
    Table table;
    const auto& entries = run.result.entries;
    for (const Column& column : all_columns()) {
        std::vector<std::string> cells;
        std::transform(entries.begin(), entries.end(), std::back_inserter(cells), column.cell);
        if (std::all_of(cells.begin(), cells.end(), [](const auto& c) { return c.empty(); })) {
            continue;
        }
        table.head.push_back(column.head);
        table.rows.resize(cells.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            table.rows[i].push_back(cells[i]);
        }
    }
    table.text_columns = 0;
    return table;
}

Table clients_table(const Run& run) {
    Table table;
    table.head = {"client", "size, bytes", "QPs", "messages", "Gb/s", "messages/s", "share, %"};
    table.text_columns = 1;
    for (const Entry& entry : run.result.entries) {
        const double all = entry.bandwidth ? entry.bandwidth->average : 0;
        for (std::size_t i = 0; i < entry.clients.size(); ++i) {
            const ClientShare& c = entry.clients[i];
            const auto& hosts = run.result.clients;
            table.rows.push_back(
                {fmt::format("{}{}", i + 1, i < hosts.size() ? ": " + hosts[i].name : ""),
                 fmt::format("{}", entry.size), fmt::format("{}", entry.qps),
                 fmt::format("{}", c.iterations), gbits(c.bandwidth), format_count(c.message_rate),
                 all > 0 ? fmt::format("{:.1f}", c.bandwidth / all * 100) : ""});
        }
    }
    return table;
}

Table parameters_table(const std::vector<Run>& runs) {
    Table table;
    table.text_columns = runs.size() + 1;
    table.head.push_back("setting");
    std::vector<std::string> names;
    for (const Run& run : runs) {
        table.head.push_back(runs.size() > 1 ? run.name : "value");
        for (const Parameter& p : run.result.parameters) {
            if (std::find(names.begin(), names.end(), p.name) == names.end()) {
                names.push_back(p.name);
            }
        }
    }
    for (const std::string& name : names) {
        std::vector<std::string> row{name};
        for (const Run& run : runs) {
            const auto& all = run.result.parameters;
            const auto found = std::find_if(all.begin(), all.end(),
                                            [&](const Parameter& p) { return p.name == name; });
            row.push_back(found == all.end() ? "" : found->value);
        }
        const bool differs = std::any_of(row.begin() + 1, row.end(),
                                         [&](const std::string& value) { return value != row[1]; });
        table.marks.push_back(differs ? "differs" : "");
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table machines_table(const std::vector<Run>& runs) {
    Table table;
    table.head.push_back("");
    std::vector<const HostFacts*> hosts;
    for (const Run& run : runs) {
        const std::string prefix = runs.size() > 1 ? run.name + ", " : "";
        table.head.push_back(prefix + (run.result.client ? "client" : "server"));
        hosts.push_back(&run.result.local);
        if (run.result.clients.empty()) {
            table.head.push_back(prefix + (run.result.client ? "server" : "client"));
            hosts.push_back(&run.result.peer);
        }
        for (std::size_t i = 0; i < run.result.clients.size(); ++i) {
            table.head.push_back(prefix + fmt::format("client {}", i + 1));
            hosts.push_back(&run.result.clients[i]);
        }
    }
    table.text_columns = hosts.size() + 1;
    for (const Fact& fact : facts()) {
        std::vector<std::string> row{fact.name};
        std::transform(hosts.begin(), hosts.end(), std::back_inserter(row),
                       [&](const HostFacts* host) { return fact.value(*host); });
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table counters_table(const Run& run) {
    Table table;
    table.head = {"counter", "side"};
    table.text_columns = 2;
    for (const Entry& entry : run.result.entries) {
        table.head.push_back(entry_name(run.result, entry));
    }
    for (const bool peer : {false, true}) {
        for (const CounterRow& counter : pivot_counters(run.result, peer)) {
            if (counter.still()) {
                continue;
            }
            std::vector<std::string> row{counter.name, peer ? "peer" : "this side"};
            for (const std::int64_t moved : counter.moved) {
                row.push_back(moved == 0 ? "" : fmt::format("{:+}", moved));
            }
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

}  // namespace rdma_bench::report
