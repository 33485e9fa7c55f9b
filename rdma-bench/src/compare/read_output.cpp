// SPDX-License-Identifier: BSD-2-Clause
#include "compare/read_output.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "report/json.h"

namespace rdma_bench {
namespace {

using nlohmann::json;
using report::BadInput;

constexpr double kMebibyte = 1048576;
constexpr double kGigabit = 1e9 / 8;
constexpr double kMega = 1e6;
constexpr double kNanosecondsPerMicrosecond = 1e3;

/// Parses perftest's title of a test: "RDMA_Write BW Test", "Send Bidirectional BW Test".
bool test_of(const std::string& title, Test& test) {
    const bool latency = title.find("Latency") != title.npos;
    if (!latency && title.find("BW") == title.npos) {
        return false;
    }
    test.metric = latency ? Metric::kLatency : Metric::kBandwidth;
    if (title.find("Write") != title.npos) {
        test.operation =
            title.find("_Imm") != title.npos ? Operation::kWriteImm : Operation::kWrite;
    } else if (title.find("Read") != title.npos) {
        test.operation = Operation::kRead;
    } else if (title.find("Atomic") != title.npos) {
        test.operation = Operation::kAtomic;
    } else {
        test.operation = Operation::kSend;
    }
    return true;
}

Entry bandwidth_entry(std::uint64_t size, std::uint64_t count, double bytes, double rate) {
    Entry entry;
    entry.size = size;
    entry.iterations = count;
    entry.bytes = size * count;
    entry.bandwidth = Bandwidth{bytes, 0, rate};
    return entry;
}

Entry latency_entry(std::uint64_t size, std::uint64_t count, double median_us, double tail_us) {
    Entry entry;
    entry.size = size;
    entry.iterations = count;
    entry.bytes = size * count;
    Repeat repeat;
    repeat.iterations = count;
    repeat.median = median_us * kNanosecondsPerMicrosecond;
    repeat.tail = tail_us * kNanosecondsPerMicrosecond;
    entry.repeats = {repeat};
    return entry;
}

/// Columns of a table, by its header line.
struct Head {
    enum class Kind : unsigned char {
        kNone,
        kBandwidth,
        kLatency,
        kTimedLatency
    } kind = Kind::kNone;
    double unit = kMebibyte;
};

Head head_of(const std::string& line, const std::string& name) {
    Head head;
    if (line.find("BW average[") != line.npos) {
        head.kind = Head::Kind::kBandwidth;
        head.unit = line.find("[Gb/sec]") != line.npos ? kGigabit : kMebibyte;
    } else if (line.find("t_avg[") != line.npos) {
        if (line.find("usec") == line.npos) {
            throw BadInput(name + ": latencies in cycles; leave out -C");
        }
        head.kind =
            line.find("t_typical[") != line.npos ? Head::Kind::kLatency : Head::Kind::kTimedLatency;
    }
    return head;
}

/// Returns the numbers of a row; empty if the line is not a row.
std::vector<double> numbers(const std::string& line) {
    std::istringstream words(line);
    std::vector<double> all;
    double value = 0;
    while (words >> value) {
        all.push_back(value);
    }
    return all;
}

unsigned number_of_qps(const std::string& line, std::size_t at) {
    return static_cast<unsigned>(std::max(1, std::atoi(line.c_str() + at)));
}

Result read_table(std::string_view text, const std::string& name) {
    Result result;
    result.client = true;
    result.version = "perftest's table";
    Head head;
    unsigned qps = 1;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" Test") != line.npos && line.find('[') == line.npos &&
            test_of(line, result.test)) {
            continue;
        }
        if (const auto at = line.find("Number of qps   : "); at != line.npos) {
            qps = number_of_qps(line, at + 18);
        } else if (line.starts_with("\tQPs: ") && !result.entries.empty()) {
            // rdma-bench with several -q: behind each row, its own number.
            result.entries.back().qps = number_of_qps(line, 6);
        } else if (line.find("#bytes") != line.npos && line.find("#iterations") != line.npos) {
            head = head_of(line, name);
            result.entries.clear();
        } else if (const auto row = numbers(line);
                   head.kind != Head::Kind::kNone && row.size() >= 4 && line.front() == ' ') {
            const auto size = static_cast<std::uint64_t>(row[0]);
            const auto count = static_cast<std::uint64_t>(row[1]);
            if (head.kind == Head::Kind::kBandwidth && row.size() >= 5) {
                result.entries.push_back(
                    bandwidth_entry(size, count, row[3] * head.unit, row[4] * kMega));
            } else if (head.kind == Head::Kind::kLatency && row.size() >= 8) {
                result.entries.push_back(latency_entry(size, count, row[4], row[7]));
            } else if (head.kind == Head::Kind::kTimedLatency) {
                // With -D perftest reports the mean only.
                result.entries.push_back(latency_entry(size, count, row[2], 0));
            } else {
                continue;
            }
            result.entries.back().qps = qps;
        }
    }
    if (result.entries.empty()) {
        throw BadInput(name + ": neither JSON nor a table of perftest or rdma-bench with figures");
    }
    result.test.metric =
        head.kind == Head::Kind::kBandwidth ? Metric::kBandwidth : Metric::kLatency;
    return result;
}

Entry read_perftest_entry(const json& row) {
    const auto number = [&](const char* key) {
        const auto found = row.find(key);
        return found != row.end() && found->is_number() ? found->get<double>() : 0;
    };
    const auto size = static_cast<std::uint64_t>(number("MsgSize"));
    const auto count = static_cast<std::uint64_t>(number("n_iterations"));
    if (row.contains("BW_average")) {
        // The unit, MiB/s or with --report_gbits 10^9 bit/s, follows from the message rate.
        const double rate = number("MsgRate") * kMega, shown = number("BW_average");
        const double bytes = rate * static_cast<double>(size);
        const bool gbits = std::abs(shown * kGigabit - bytes) < std::abs(shown * kMebibyte - bytes);
        return bandwidth_entry(size, count, shown * (gbits ? kGigabit : kMebibyte), rate);
    }
    const bool typical = row.contains("t_typical");
    return latency_entry(size, count, number(typical ? "t_typical" : "t_avg"),
                         number("percentile_99"));
}

Result read_perftest_json(const json& all, const std::string& name) {
    Result result;
    result.client = true;
    result.version = "perftest's JSON";
    const auto info = all.value("test_info", json::object());
    if (!test_of(info.value("test", std::string()), result.test)) {
        throw BadInput(name + ": test_info has no test that is known");
    }
    const auto rows =
        all.contains("all_results") ? all["all_results"] : json::array({all.at("results")});
    for (const json& row : rows) {
        result.entries.push_back(read_perftest_entry(row));
    }
    return result;
}

/// Parses the pseudo-JSON of perftest 6 and earlier: names and strings without quotation marks, a
/// comma after the last member, two levels.
json read_unquoted(std::string_view text) {
    json all = json::object();
    json* section = &all;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(':');
        if (colon == line.npos) {
            continue;
        }
        const auto trim = [](std::string word, const char* what) {
            word.erase(0, word.find_first_not_of(what));
            word.erase(word.find_last_not_of(what) + 1);
            return word;
        };
        const auto key = trim(line.substr(0, colon), " \t\"");
        const auto value = trim(line.substr(colon + 1), " \t\r,\"");
        if (value == "{") {
            section = &(all[key] = json::object());
            continue;
        }
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        if (end != value.c_str() && *end == '\0') {
            (*section)[key] = number;
        } else {
            (*section)[key] = value;
        }
    }
    return all;
}

/// Returns the offset of the last line that begins with '{'; npos if there is none.
std::size_t json_begin(std::string_view text) {
    for (auto at = text.size(); at-- > 0;) {
        if (text[at] == '{' && (at == 0 || text[at - 1] == '\n')) {
            return at;
        }
    }
    return text.npos;
}

}  // namespace

Result read_output(std::string_view text, const std::string& name) {
    const auto begin = json_begin(text);
    if (begin == text.npos) {
        // Text that begins like JSON gets the error of the JSON parser.
        const auto first = text.find_first_not_of(" \t\r\n");
        return first != text.npos && text[first] == '{' ? report::from_json(text, name)
                                                        : read_table(text, name);
    }
    const auto part = text.substr(begin);
    json all = json::parse(part, nullptr, false);
    if (all.is_discarded() && part.find("test_info:") != part.npos) {
        all = read_unquoted(part);
    }
    try {
        if (all.is_object() && !all.contains("schema") && all.contains("results")) {
            return read_perftest_json(all, name);
        }
    } catch (const json::exception& error) {
        throw BadInput(name + ": not perftest's JSON: " + error.what());
    }
    return report::from_json(part, name);
}

}  // namespace rdma_bench
