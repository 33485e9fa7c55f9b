// SPDX-License-Identifier: BSD-2-Clause
#include "event_queue.h"

#include <algorithm>
#include <span>

namespace dingo::model {

RingMemory::Result EventQueue::attach(CardContext& card, const dingo_cmd_create_eq& command) {
    log_size_ = command.log_size;
    vector_ = command.vector;
    return ring_.attach(card, command.ring, std::uint64_t{DINGO_EQE_SIZE} << log_size_);
}

void EventQueue::post(CardContext& card, std::uint8_t kind, std::uint32_t id, std::uint32_t data) {
    const Event event{kind, id, data};
    if (!full() && waiting_.empty()) {
        write(card, event);
        interrupt(card);
        return;
    }
    if (waiting_names_.insert(event.name()).second) {
        card.count(DINGO_CARD_EQ_OVERFLOW);
        waiting_.push_back(event);
    }
}

bool EventQueue::doorbell(CardContext& card, bool arm, std::uint32_t consumer) {
    if (consumer - consumer_ > producer_ - consumer_) {
        return false;
    }
    consumer_ = consumer;
    while (!waiting_.empty() && !full()) {
        write(card, waiting_.front());
        waiting_names_.erase(waiting_.front().name());
        waiting_.pop_front();
    }
    armed_ = armed_ || arm;
    if (producer_ != consumer_) {
        interrupt(card);
    }
    return true;
}

void EventQueue::forget(std::uint8_t kind, std::uint32_t id) {
    const Event event{kind, id, 0};
    if (waiting_names_.erase(event.name()) != 0) {
        std::erase_if(waiting_, [&](const Event& e) { return e.name() == event.name(); });
    }
}

void EventQueue::write(CardContext& card, const Event& event) {
    if (error_) {
        return;
    }
    dingo_eqe entry{};
    entry.kind = event.kind;
    entry.id = event.id;
    entry.data = event.data;
    entry.owner = (producer_ >> log_size_ & 1) == 0 ? 1 : 0;
    const std::uint64_t slot = producer_ & ((1u << log_size_) - 1);
    if (!ring_.write(card, slot * DINGO_EQE_SIZE, std::as_bytes(std::span(&entry, 1)))) {
        error_ = true;
        return;
    }
    ++producer_;
}

void EventQueue::interrupt(CardContext& card) {
    if (armed_) {
        armed_ = false;
        card.host.raise_msix(vector_);
    }
}

}  // namespace dingo::model
