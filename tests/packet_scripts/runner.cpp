// SPDX-License-Identifier: BSD-2-Clause
//
// Cases, frames and time.
#include "runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "dingo/packet/icrc.h"
#include "dingo/packet/text.h"
#include "match.h"

namespace dingo::wire {
namespace {

constexpr std::size_t kLogLines = 24;
constexpr std::uint64_t kPeerMac = 0x02'00'00'00'00'22;
constexpr std::uint64_t kNanosecondsPerMicrosecond = 1000;

/// The GID table of the card under test: IPv4, IPv6, IPv4 on VLAN 5.
constexpr std::uint16_t kVlan = 5;

double microseconds(Nanoseconds t) {
    return static_cast<double>(t) / static_cast<double>(kNanosecondsPerMicrosecond);
}

/// What `[...]` in front of a frame does to its bytes.
struct Damage {
    std::uint64_t cut = 0;                                      ///< bytes off the end
    std::uint64_t trail = 0;                                    ///< zero bytes behind the end
    std::vector<std::pair<std::uint64_t, std::uint8_t>> flips;  ///< offset, mask
    bool fix_ip = false;  ///< IPv4 header checksum made right again
    bool fix_icrc = false;
};

Damage read_damage(std::string_view text) {
    Damage damage;
    std::istringstream in{std::string(text)};
    std::string word;
    while (in >> word) {
        const auto equals = word.find('=');
        const std::string key = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (key == "cut") {
            damage.cut = read_number(value);
        } else if (key == "trail") {
            damage.trail = read_number(value);
        } else if (key == "flip") {
            const auto colon = value.find(':');
            if (colon == std::string::npos)
                throw ScriptError("flip wants flip=OFFSET:MASK");
            damage.flips.emplace_back(
                read_number(value.substr(0, colon)),
                static_cast<std::uint8_t>(read_number(value.substr(colon + 1))));
        } else if (word == "fixip") {
            damage.fix_ip = true;
        } else if (word == "fixicrc") {
            damage.fix_icrc = true;
        } else {
            throw ScriptError(
                fmt::format("'{}' is not cut=, trail=, flip=, fixip or fixicrc", word));
        }
    }
    return damage;
}

void apply_damage(const Damage& damage, test::FrameBytes& frame) {
    packet::Packet whole;
    const bool parsed = packet::parse(frame, whole) == packet::ParseResult::kRoce;
    for (const auto& [offset, mask] : damage.flips) {
        if (offset >= frame.size())
            throw ScriptError(fmt::format("flip={} is behind the frame's end", offset));
        frame[offset] ^= static_cast<std::byte>(mask);
    }
    if (damage.fix_ip && parsed && whole.l3 == packet::L3Kind::kIpv4) {
        std::byte* const ip = frame.data() + whole.l3_offset;
        packet::store_be16(ip + packet::Ipv4Header::kChecksumOffset, 0);
        packet::store_be16(ip + packet::Ipv4Header::kChecksumOffset,
                           static_cast<std::uint16_t>(~packet::ipv4_header_sum(ip)));
    }
    if (damage.fix_icrc && parsed)
        packet::icrc_append(frame, whole.l3_offset, whole.l3);
    frame.resize(frame.size() - std::min<std::size_t>(damage.cut, frame.size()));
    frame.resize(frame.size() + damage.trail);
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

}  // namespace

Runner::Runner(const std::string& engine_name) : engine_(engine_name), card_(engine_name) {
    card_.wire.sink = [this](std::span<const std::byte> frame) {
        frames_.push_back({{frame.begin(), frame.end()}, card_.now});
        note("> " + describe(frame));
    };
    test::TestDriver& driver = card_.driver;
    driver.start();
    driver.set_ipv4(0, 0x0a4d0001);
    driver.set_gid(1, {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
    driver.set_gid(2, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, kVlan, 1}, kVlan);
    driver.enable_port();
    card_.settle();
    while (driver.poll_eq(driver.async_eq)) {  // PORT_UP
    }
    driver.ring_eq(driver.async_eq);
    cq_ = driver.create_cq(10);
}

void Runner::note(std::string text) {
    log_.push_back(fmt::format("{:>12.3f} us {}", microseconds(card_.now), text));
    if (log_.size() > kLogLines)
        log_.pop_front();
}

void Runner::run(const Case& script) {
    run_lines(script.lines, 0, script.lines.size());
    finish();
}

void Runner::run_lines(const std::vector<Line>& lines, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
        if (lines[i].verb != "repeat") {
            run_line(lines[i]);
            continue;
        }
        std::size_t stop = i + 1;
        while (stop < end && lines[stop].verb != "end")
            ++stop;
        if (stop == end || lines[i].words.size() != 1)
            throw ScriptError(fmt::format("{}: repeat wants a number and an end", lines[i].number));
        for (std::uint64_t n = read_number(lines[i].words[0].key); n > 0; --n)
            run_lines(lines, i + 1, stop);
        i = stop;
    }
}

void Runner::run_line(const Line& line) {
    static const std::map<std::string_view, Directive> kDirectives = {
        {"mr", &Runner::make_mr},
        {"srq", &Runner::make_srq},
        {"qp", &Runner::make_qp},
        {"modify", &Runner::modify_qp},
        {"post", &Runner::post},
        {"destroy", &Runner::destroy},
        {"link", &Runner::link},
        {"need", &Runner::need},
        {"only", &Runner::only},
        {"fill", &Runner::fill},
        {"break", &Runner::break_memory},
        {"cqe", &Runner::check_cqe},
        {"event", &Runner::check_event},
        {"mem", &Runner::check_memory},
        {"counter", &Runner::check_counter},
        {"qpcounter", &Runner::check_qp_counter},
        {"state", &Runner::check_state},
        {"query", &Runner::check_query},
        {"no", &Runner::check_nothing},
        {"at", &Runner::pass_time},
        {"ignore", &Runner::ignore},
        {"window", &Runner::make_window},
    };
    const auto complain = [&](const std::string& what) -> ScriptError {
        return ScriptError(fmt::format("{}: {}\n    {}", line.number, line.text, what));
    };
    try {
        if (line.verb == "<") {
            inject(std::string_view(line.text).substr(1));
        } else if (line.verb == ">") {
            expect(std::string_view(line.text).substr(1));
        } else if (line.verb == ">?") {
            allow(std::string_view(line.text).substr(2));
        } else if (line.verb.starts_with("<[")) {
            inject(std::string_view(line.text).substr(1));
        } else {
            const auto directive = kDirectives.find(line.verb);
            if (directive == kDirectives.end())
                throw ScriptError(fmt::format("'{}' is no directive", line.verb));
            Words words(line.words);
            (this->*directive->second)(words);
            words.end();
        }
    } catch (const CaseSkipped&) {
        throw;
    } catch (const std::exception& error) {
        throw complain(error.what());
    }
}

void Runner::finish() {
    for (const char* what : {"frame", "cqe", "event"}) {
        try {
            Words words({{what, {}, false}});
            check_nothing(words);
        } catch (const ScriptError& error) {
            throw ScriptError(fmt::format("0: end of the case: {}", error.what()));
        }
    }
}

void Runner::inject(std::string_view rest) {
    rest = trim(rest);
    Damage damage;
    if (rest.starts_with('[')) {
        const auto close = rest.find(']');
        if (close == std::string_view::npos)
            throw ScriptError("']' is missing");
        damage = read_damage(rest.substr(1, close - 1));
        rest = trim(rest.substr(close + 1));
    }
    test::FrameBytes frame;
    if (rest.starts_with("raw:")) {
        frame = read_bytes(fmt::format("hex:{}", rest.substr(4)));
    } else {
        std::string error;
        const auto packet = packet::parse_text(resolve_line(rest), error);
        if (!packet)
            throw ScriptError(error);
        packet::NetworkPath path = path_to_card(packet->bth.dest_qp);
        frame = packet::build_text(path, *packet);
        if (frame.empty())
            throw ScriptError("this packet cannot be built");
    }
    apply_damage(damage, frame);
    note("< " + describe(frame));
    last_frame_ = card_.now;
    card_.receive(frame);
}

bool Runner::in_time(const std::optional<Window>& window, Nanoseconds time) const {
    const Nanoseconds passed = time - last_frame_;
    return !window || (passed >= window->earliest && passed <= window->latest);
}

void Runner::wait_until(const std::function<bool()>& done, Nanoseconds limit) {
    card_.settle();
    while (!done()) {
        const Nanoseconds next = card_.engine->next_deadline();
        if (next == kNever || next > limit)
            return;
        card_.now = std::max(next, card_.now + 1);
        card_.settle();
    }
}

Runner::Window Runner::read_window(std::string_view text) {
    const auto dots = text.find("..");
    if (dots == std::string_view::npos)
        throw ScriptError("after= wants after=EARLIEST..LATEST");
    return {read_time(text.substr(0, dots)), read_time(text.substr(dots + 2))};
}

void Runner::expect(std::string_view rest) {
    rest = trim(rest);
    std::optional<Window> window;
    if (rest.starts_with("after=")) {
        window = read_window(rest.substr(6, rest.find(' ') - 6));
        rest = trim(rest.substr(std::min(rest.find(' '), rest.size())));
    }
    wait_until([&] { return !frames_.empty(); }, window ? last_frame_ + window->latest : card_.now);
    if (frames_.empty())
        throw ScriptError("expected a frame, got none");
    const SentFrame frame = std::move(frames_.front());
    frames_.pop_front();
    packet::Packet packet;
    packet::parse(frame.bytes, packet);
    const std::string difference =
        mismatch(frame.bytes, resolve_line(rest), path_from_card(packet.bth.dest_qp));
    if (!difference.empty())
        throw ScriptError(fmt::format("got   {}\n    ({})", describe(frame.bytes), difference));
    if (!in_time(window, frame.time))
        throw ScriptError(fmt::format("it came {:.3f} us after the frame before it",
                                      microseconds(frame.time - last_frame_)));
    last_frame_ = frame.time;
}

void Runner::allow(std::string_view rest) {
    card_.settle();
    if (frames_.empty())
        return;
    packet::Packet packet;
    packet::parse(frames_.front().bytes, packet);
    if (mismatch(frames_.front().bytes, resolve_line(rest), path_from_card(packet.bth.dest_qp))
            .empty())
        frames_.pop_front();
}

void Runner::advance_to(Nanoseconds target) {
    card_.settle();
    for (;;) {
        const Nanoseconds next = card_.engine->next_deadline();
        if (next == kNever || next > target)
            break;
        card_.now = std::max(next, card_.now + 1);
        card_.settle();
    }
    card_.now = std::max(card_.now, target);
    card_.settle();
}

void Runner::pass_time(Words& words) {
    const std::string time = words.bare("a time");
    if (!time.starts_with('+'))
        throw ScriptError("at wants +TIME");
    advance_to(card_.now + read_time(time.substr(1)));
}

packet::NetworkPath Runner::peer_path(unsigned gid) const {
    packet::NetworkPath path;
    path.dmac = packet::Mac::from_u64(0x02'44'49'00'00'01);
    path.smac = packet::Mac::from_u64(kPeerMac);
    path.has_vlan = gid == 2;
    path.vlan_tci = gid == 2 ? kVlan : 0;
    path.l3 = gid == 1 ? packet::L3Kind::kIpv6 : packet::L3Kind::kIpv4;
    if (gid == 1) {
        path.sgid.bytes = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
        path.dgid.bytes = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    } else {
        const std::uint32_t net = gid == 2 ? 0x0a4d0000u | kVlan << 8 : 0x0a4d0000u;
        path.sgid = packet::Gid::from_ipv4(net | 2);
        path.dgid = packet::Gid::from_ipv4(net | 1);
    }
    path.ecn = packet::tos::kEcnCapable0;
    return path;
}

packet::NetworkPath Runner::path_to_card(std::uint32_t qpn) const {
    const auto it = qps_.find(qpn);
    return it == qps_.end() ? peer_path(0) : it->second.to_card;
}

packet::NetworkPath Runner::path_from_card(std::uint32_t dest_qpn) const {
    packet::NetworkPath path = peer_path(0);
    for (const auto& [qpn, entry] : qps_)
        if (!entry.qp.datagram() && entry.options.dest_qpn == dest_qpn)
            path = entry.to_card;
    std::swap(path.dmac, path.smac);
    std::swap(path.dgid, path.sgid);
    return path;
}

}  // namespace dingo::wire
