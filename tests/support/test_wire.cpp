// SPDX-License-Identifier: BSD-2-Clause
#include "test_wire.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "dingo/packet/icrc.h"
#include "dingo/packet/parse.h"
#include "dingo/packet/train.h"

namespace dingo::test {

bool without_icrc() {
    static const bool out = std::getenv("DINGO_TEST_NO_ICRC") != nullptr;
    return out;
}

unsigned packets_of_train(std::span<const std::byte> frame) {
    packet::Packet packet;
    if (packet::parse(frame, packet) != packet::ParseResult::kRoce ||
        frame.size() != packet.frame_bytes() + 1) {
        return 1;
    }
    const auto packets = std::to_integer<unsigned>(frame.back());
    return packet::train_pmtu(packet.payload.size(), packets) != 0 ? packets : 1;
}

void cut_train(std::span<const std::byte> frame,
               const std::function<void(std::span<const std::byte>)>& fn) {
    FrameBytes room(frame.size());
    packet::TrainCutter cutter(frame.first(frame.size() - 1), nullptr, packets_of_train(frame));
    for (auto one = cutter.next(room); !one.empty(); one = cutter.next(room)) {
        fn(one);
    }
}

void deliver(Engine& to, std::span<const std::byte> frame) {
    packet::Packet packet;
    if (const unsigned packets = packets_of_train(frame); packets > 1) {
        if (!to.receive_train(frame.first(frame.size() - 1), {}, packets)) {
            cut_train(frame, [&](std::span<const std::byte> one) { deliver(to, one); });
        }
        return;
    }
    if (without_icrc() && packet::parse(frame, packet) == packet::ParseResult::kRoce &&
        packet::icrc_check(frame, packet)) {
        FrameBytes bare(frame.begin(), frame.end());
        std::fill_n(bare.begin() + packet.icrc_offset, packet::kIcrcBytes, std::byte{0});
        // The payload is elsewhere, so that an engine that reads it from the frame is detected.
        FrameBytes payload(packet.payload.begin(), packet.payload.end());
        std::fill_n(bare.begin() + packet.payload_offset, payload.size(), std::byte{0x5a});
        if (to.receive_without_icrc(bare, {payload.empty() ? nullptr : payload.data(), nullptr}))
            return;
    }
    to.receive(frame);
}

std::span<std::byte> TestWire::begin_frame(std::size_t max_len) {
    if (busy) {
        return {};
    }
    if (open_) {
        throw std::logic_error("the engine asked for room twice and gave none back");
    }
    open_ = true;
    packets_ = 1;
    room_.resize(max_len);
    return room_;
}

std::span<std::byte> TestWire::begin_frame_to(std::size_t max_len, std::uint64_t to) {
    if (full.contains(to)) {
        ++refusals;
        return {};
    }
    return begin_frame(max_len);
}

std::optional<std::span<std::byte>> TestWire::begin_train(std::size_t max_len, unsigned packets,
                                                          std::uint64_t to) {
    if (!takes_trains()) {
        return std::nullopt;
    }
    const auto room = begin_frame_to(max_len, to);
    packets_ = packets;
    return room;
}

void TestWire::end_frame(std::size_t len) {
    if (!open_) {
        throw std::logic_error("the engine ended a frame that it had not begun");
    }
    open_ = false;
    if (len > room_.size()) {
        throw std::logic_error("the engine sent more than it had room for");
    }
    if (len == 0) {
        return;
    }
    ++frames;
    if (packets_ > 1) {
        ++trains_sent;
        room_.resize(len);
        room_.push_back(static_cast<std::byte>(packets_));
        ++len;
    }
    if (sink) {
        sink(std::span(room_).first(len));
    } else {
        sent.emplace_back(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(len));
    }
}

void TestWire::end_frame_without_icrc(std::size_t len) {
    packet::Packet packet;
    if (icrc || packet::parse(std::span(room_).first(len), packet) != packet::ParseResult::kRoce) {
        throw std::logic_error("the engine left out an ICRC that it had to make");
    }
    packet::icrc_append(std::span(room_).first(len), packet.l3_offset, packet.l3);
    ++frames_without_icrc;
    end_frame(len);
}

void TestWire::end_frame_referring(std::size_t len, std::size_t offset,
                                   std::span<const std::byte> payload, const Held& /*held*/) {
    if (offset + payload.size() > len || len > room_.size()) {
        throw std::logic_error("the engine referred to more than it had room for");
    }
    std::ranges::copy(payload, room_.begin() + static_cast<std::ptrdiff_t>(offset));
    ++frames_referring;
    end_frame_without_icrc(len);
}

void TestWire::join_group(std::span<const std::uint8_t, 16> group) {
    Gid gid;
    std::ranges::copy(group, gid.begin());
    if (std::ranges::find(groups, gid) != groups.end()) {
        throw std::logic_error("the engine joined a group that it was in");
    }
    groups.push_back(gid);
}

void TestWire::leave_group(std::span<const std::uint8_t, 16> group) {
    Gid gid;
    std::ranges::copy(group, gid.begin());
    if (std::erase(groups, gid) != 1) {
        throw std::logic_error("the engine left a group that it was not in");
    }
}

void TestLink::send(unsigned from, std::span<const std::byte> bytes, Nanoseconds now) {
    Frame frame;
    if (!spare_.empty()) {
        frame.bytes = std::move(spare_.back());
        spare_.pop_back();
    }
    frame.bytes.assign(bytes.begin(), bytes.end());
    frame.from = from;
    frame.delay = latency;
    if (tap) {
        tap(frame);
    }
    if (!hook || hook(frame)) {
        inject(std::move(frame), now);
    }
}

void TestLink::inject(Frame frame, Nanoseconds now) {
    const Nanoseconds arrival = now + frame.delay;
    queue_.emplace(arrival, std::move(frame));
}

bool TestLink::deliver(
    Nanoseconds now, const std::function<void(unsigned to, std::span<const std::byte>)>& deliver) {
    bool any = false;
    while (!queue_.empty() && queue_.begin()->first <= now) {
        auto node = queue_.extract(queue_.begin());
        deliver(1 - node.mapped().from, node.mapped().bytes);
        spare_.push_back(std::move(node.mapped().bytes));
        any = true;
    }
    return any;
}

Nanoseconds TestLink::next_arrival() const {
    return queue_.empty() ? kNever : queue_.begin()->first;
}

}  // namespace dingo::test
