// SPDX-License-Identifier: BSD-2-Clause
#include "cable.h"

#include <stdexcept>
#include <utility>

namespace dingo::test {

std::span<std::byte> TestWire::begin_frame(std::size_t max_len) {
    if (busy) {
        return {};
    }
    room_.resize(max_len);
    return room_;
}

void TestWire::end_frame(std::size_t len) {
    if (len > room_.size()) {
        throw std::logic_error("the engine sent more than it had room for");
    }
    if (len == 0) {
        return;
    }
    ++frames;
    if (sink) {
        sink(std::span(room_).first(len));
    } else {
        sent.emplace_back(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(len));
    }
}

void Cable::send(unsigned from, std::span<const std::byte> bytes, Nanoseconds now) {
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

void Cable::inject(Frame frame, Nanoseconds now) {
    const Nanoseconds arrival = now + frame.delay;
    queue_.emplace(arrival, std::move(frame));
}

bool Cable::deliver(Nanoseconds now,
                    const std::function<void(unsigned to, std::span<const std::byte>)>& deliver) {
    bool any = false;
    while (!queue_.empty() && queue_.begin()->first <= now) {
        auto node = queue_.extract(queue_.begin());
        deliver(1 - node.mapped().from, node.mapped().bytes);
        spare_.push_back(std::move(node.mapped().bytes));
        any = true;
    }
    return any;
}

Nanoseconds Cable::next_arrival() const {
    return queue_.empty() ? kNever : queue_.begin()->first;
}

}  // namespace dingo::test
