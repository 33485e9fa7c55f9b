// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "dingo/packet/opcodes.h"
#include "wire/faults.h"
#include "wire/wire.h"

namespace dingo {
namespace {

template <typename T>
struct Named {
    std::string_view name;
    T value;
};

constexpr std::array kActions{
    Named<FaultAction>{"drop", FaultAction::kDrop},
    Named<FaultAction>{"duplicate", FaultAction::kDuplicate},
    Named<FaultAction>{"reorder", FaultAction::kReorder},
    Named<FaultAction>{"corrupt", FaultAction::kCorrupt},
    Named<FaultAction>{"delay", FaultAction::kDelay},
    Named<FaultAction>{"ecn", FaultAction::kEcn},
};
constexpr std::array kParts{
    Named<FaultPart>{"l4", FaultPart::kL4},           Named<FaultPart>{"eth", FaultPart::kEth},
    Named<FaultPart>{"ip", FaultPart::kIp},           Named<FaultPart>{"bth", FaultPart::kBth},
    Named<FaultPart>{"payload", FaultPart::kPayload}, Named<FaultPart>{"icrc", FaultPart::kIcrc},
    Named<FaultPart>{"any", FaultPart::kAny},
};
constexpr std::array kTypes{
    Named<FaultType>{"any", FaultType::kAny},
    Named<FaultType>{"roce", FaultType::kRoce},
    Named<FaultType>{"other", FaultType::kOther},
};
constexpr std::array<std::string_view, 16> kKeys{
    "p",     "dir",  "type", "qpn",  "psn", "opcode", "nth",   "every",
    "count", "once", "by",   "bits", "us",  "ms",     "where", "jitter_us"};

constexpr std::uint64_t kMax24 = 0xff'ffff;
constexpr std::uint64_t kMaxTimeUs = 60'000'000;
constexpr std::uint64_t kMaxBits = 64;

/// A word of the specification that knows where it stands.
struct Word {
    std::string_view text;
    std::size_t at = 0;

    [[nodiscard]] Word trimmed() const {
        Word out = *this;
        while (!out.text.empty() && out.text.front() == ' ') {
            out.text.remove_prefix(1);
            out.at++;
        }
        while (!out.text.empty() && out.text.back() == ' ')
            out.text.remove_suffix(1);
        return out;
    }
    [[nodiscard]] Word sub(std::size_t from, std::size_t n = std::string_view::npos) const {
        return {text.substr(from, n), at + from};
    }
};

std::vector<Word> split(Word word, char separator) {
    std::vector<Word> out;
    while (true) {
        const std::size_t end = word.text.find(separator);
        out.push_back(word.sub(0, end).trimmed());
        if (end == std::string_view::npos)
            return out;
        word = word.sub(end + 1);
    }
}

template <typename List>
std::string joined(const List& list) {
    std::string out;
    for (const auto& item : list) {
        if constexpr (requires { item.name; })
            out += fmt::format("{}{}", out.empty() ? "" : ", ", item.name);
        else
            out += fmt::format("{}{}", out.empty() ? "" : ", ", item);
    }
    return out;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

/// The short form of an opcode name: "RC_RDMA_READ_REQUEST" and "rc_read_request" are the same.
std::string short_name(std::string_view name) {
    std::string out = lower(name);
    for (const auto& [from, to] :
         {std::pair<std::string_view, std::string_view>{"rdma_", ""}, {"acknowledge", "ack"}}) {
        const std::size_t at = out.find(from);
        if (at != std::string::npos)
            out.replace(at, from.size(), to);
    }
    return out;
}

class Parser {
  public:
    explicit Parser(std::string_view spec) : spec_(spec) {}

    std::vector<FaultRule> rules() {
        std::vector<FaultRule> out;
        for (const Word& word : split({spec_, 0}, ';')) {
            if (word.text.empty())
                continue;
            const std::size_t colon = word.text.find(':');
            if (colon == std::string_view::npos)
                short_rules(word, out);
            else
                out.push_back(long_rule(word, colon));
        }
        return out;
    }

  private:
    [[noreturn]] void fail(const Word& word, std::string_view why) const {
        const std::string marker(word.at, ' ');
        throw WireError(fmt::format("bad fault rule: '{}' {}\n  {}\n  {}{}", word.text, why, spec_,
                                    marker,
                                    std::string(std::max<std::size_t>(word.text.size(), 1), '^')));
    }

    /// "drop=1%,reorder=1%" or a bare action.
    void short_rules(const Word& word, std::vector<FaultRule>& out) {
        for (const Word& item : split(word, ',')) {
            const std::size_t equals = item.text.find('=');
            const Word name = item.sub(0, equals).trimmed();
            FaultRule rule = new_rule(name);
            if (equals != std::string_view::npos)
                rule.probability = probability(item.sub(equals + 1).trimmed());
            if (rule.action == FaultAction::kDelay)
                fail(item, "needs a time: write delay:us=200,p=1%");
            rule.text = item.text;
            out.push_back(std::move(rule));
        }
    }

    FaultRule long_rule(const Word& word, std::size_t colon) {
        FaultRule rule = new_rule(word.sub(0, colon).trimmed());
        rule.text = word.text;
        std::vector<std::string_view> seen;
        bool typed = false;
        for (const Word& item : split(word.sub(colon + 1), ',')) {
            const std::size_t equals = item.text.find('=');
            const Word key = item.sub(0, equals).trimmed();
            if (std::find(kKeys.begin(), kKeys.end(), key.text) == kKeys.end())
                fail(key, fmt::format("is no selector or parameter; known are {}", joined(kKeys)));
            if (std::find(seen.begin(), seen.end(), key.text) != seen.end())
                fail(key, "is given twice; for several values write a list, e.g. qpn=2+5..9");
            seen.push_back(key.text);
            if (key.text == "once") {
                if (equals != std::string_view::npos)
                    fail(item, "takes no value; write once or count=N");
                rule.count = 1;
                continue;
            }
            if (equals == std::string_view::npos || equals + 1 == item.text.size())
                fail(item, fmt::format("needs a value: {}=...", key.text));
            set(rule, key, item.sub(equals + 1).trimmed());
            typed |= key.text == "type";
        }
        const bool needs_roce = !rule.qpn.empty() || !rule.psn.empty() || !rule.any_opcode;
        if (needs_roce && typed && rule.type != FaultType::kRoce)
            fail(word, "selects by qpn, psn or opcode, which only type=roce has");
        if (needs_roce)
            rule.type = FaultType::kRoce;
        if (rule.action == FaultAction::kDelay && rule.time == 0 && rule.jitter == 0)
            fail(word, "needs a time: us=, ms= or jitter_us=");
        return rule;
    }

    FaultRule new_rule(const Word& name) {
        if (std::find(kKeys.begin(), kKeys.end(), name.text) != kKeys.end())
            fail(name, "stands where an action should; selectors follow a colon: drop:qpn=5,once");
        FaultRule rule;
        rule.action = one_of(name, kActions, "is no action");
        if (rule.action == FaultAction::kReorder)
            rule.time = 1'000'000;
        return rule;
    }

    void set(FaultRule& rule, const Word& key, const Word& value) {
        const auto only = [&](FaultAction action, std::string_view whom) {
            if (rule.action != action)
                fail(key, fmt::format("is a parameter of {} only", whom));
        };
        if (key.text == "p") {
            rule.probability = probability(value);
        } else if (key.text == "dir") {
            if (value.text != "tx" && value.text != "rx" && value.text != "both")
                fail(value, "is no direction; known are tx, rx, both");
            rule.tx = value.text != "rx";
            rule.rx = value.text != "tx";
        } else if (key.text == "type") {
            rule.type = one_of(value, kTypes, "is no frame type");
        } else if (key.text == "qpn") {
            rule.qpn = ranges(value, 0, kMax24, false);
        } else if (key.text == "psn") {
            rule.psn = ranges(value, 0, kMax24, true);
        } else if (key.text == "opcode") {
            rule.any_opcode = false;
            opcodes(rule.opcodes, value);
        } else if (key.text == "nth") {
            rule.nth = ranges(value, 1, ~std::uint64_t{0}, false);
        } else if (key.text == "every") {
            rule.every = number(value, 1, ~std::uint64_t{0});
        } else if (key.text == "count") {
            rule.count = number(value, 1, ~std::uint64_t{0});
        } else if (key.text == "where") {
            only(FaultAction::kCorrupt, "corrupt");
            rule.part = one_of(value, kParts, "is no part of a frame");
        } else if (key.text == "bits") {
            only(FaultAction::kCorrupt, "corrupt");
            rule.bits = static_cast<unsigned>(number(value, 1, kMaxBits));
        } else if (key.text == "by") {
            only(FaultAction::kReorder, "reorder");
            rule.by = static_cast<unsigned>(number(value, 1, 1'000'000));
        } else if (key.text == "jitter_us") {
            only(FaultAction::kDelay, "delay");
            rule.jitter = number(value, 1, kMaxTimeUs) * 1000;
        } else {  // us, ms
            if (rule.action != FaultAction::kReorder)
                only(FaultAction::kDelay, "delay and reorder");
            const std::uint64_t scale = key.text == "ms" ? 1000 : 1;
            rule.time = number(value, 1, kMaxTimeUs / scale) * scale * 1000;
        }
    }

    template <typename T, std::size_t N>
    T one_of(const Word& word, const std::array<Named<T>, N>& known, std::string_view why) const {
        for (const Named<T>& item : known)
            if (item.name == word.text)
                return item.value;
        fail(word, fmt::format("{}; known are {}", why, joined(known)));
    }

    double probability(const Word& word) const {
        std::string_view text = word.text;
        double scale = 1;
        if (!text.empty() && text.back() == '%') {
            text.remove_suffix(1);
            scale = 100;
        }
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
            value < 0 || value > scale)
            fail(word, "is no probability; write 0 to 1, or 0% to 100%");
        return value / scale;
    }

    std::uint64_t number(const Word& word, std::uint64_t least, std::uint64_t most) const {
        std::string_view text = word.text;
        int base = 10;
        if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
            text.remove_prefix(2);
            base = 16;
        }
        std::uint64_t value = 0;
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), value, base);
        if (text.empty() || error != std::errc() || end != text.data() + text.size())
            fail(word, "is no number; write decimal, or hexadecimal with 0x");
        if (value < least || value > most)
            fail(word, fmt::format("is out of range: {} to {}", least, most));
        return value;
    }

    std::vector<FaultRange> ranges(const Word& list, std::uint64_t least, std::uint64_t most,
                                   bool wraps) const {
        std::vector<FaultRange> out;
        for (const Word& item : split(list, '+')) {
            const std::size_t dots = item.text.find("..");
            FaultRange range;
            range.first = number(item.sub(0, dots), least, most);
            range.last = dots == std::string_view::npos ? range.first
                                                        : number(item.sub(dots + 2), least, most);
            if (!wraps && range.first > range.last)
                fail(item, "is an empty range: the smaller value comes first");
            out.push_back(range);
        }
        return out;
    }

    void opcodes(std::bitset<256>& out, const Word& list) const {
        for (const Word& item : split(list, '+')) {
            if (!item.text.empty() && item.text[0] >= '0' && item.text[0] <= '9') {
                const FaultRange range = ranges(item, 0, 255, false).front();
                for (std::uint64_t i = range.first; i <= range.last; i++)
                    out.set(i);
                continue;
            }
            const std::string pattern = short_name(item.text);
            bool found = false;
            for (std::size_t i = 0; i < packet::kOpcodeTable.size(); i++) {
                const packet::OpcodeTraits& traits = packet::kOpcodeTable[i];
                if (traits.known() &&
                    ::fnmatch(pattern.c_str(), short_name(traits.name).c_str(), 0) == 0) {
                    out.set(i);
                    found = true;
                }
            }
            if (!found)
                fail(item, "is no opcode; write a number or a name such as " + sample_names());
        }
    }

    static std::string sample_names() {
        std::string out;
        for (const packet::OpcodeTraits& traits : packet::kOpcodeTable)
            if (traits.known() && traits.transport != packet::Transport::kUc)
                out += (out.empty() ? "" : ", ") + short_name(traits.name);
        return out;
    }

    std::string_view spec_;
};

}  // namespace

std::vector<FaultRule> parse_faults(std::string_view spec) {
    return Parser(spec).rules();
}

std::string faults_help() {
    return R"(  RULE[;RULE...]  a rule is ACTION:SELECTOR,...  or in short ACTION=P,ACTION=P,...
      drop=1%,reorder=1%,corrupt=0.1%
      corrupt:qpn=0x11,psn=5..9,once ; delay:us=200,opcode=rc_ack ; ecn:p=0.1,dir=rx
    actions    drop | duplicate | reorder[:by=N,us=T] | corrupt[:where=PART,bits=N]
               | delay:us=T,ms=T,jitter_us=T | ecn (sets CE)
    selectors  p=P|P%  dir=tx|rx|both (default tx)  type=any|roce|other  qpn=LIST  psn=LIST
               opcode=LIST (rc_ack, rc_write_*, 0x81)  nth=LIST  every=N  count=N  once
    LIST       values and ranges: 0x11 or 5..9 or 2+5..9
    PART       l4 (default: behind the IP header, where the ICRC looks) eth ip bth payload icrc any
    The same seed and the same frames give the same faults.
)";
}

}  // namespace dingo
