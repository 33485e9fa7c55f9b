// SPDX-License-Identifier: BSD-2-Clause
//
// What a script expects besides frames: completions, events, memory, counters, QP states.
#include <fmt/format.h>

#include <algorithm>

#include "match.h"
#include "names.h"
#include "runner.h"

namespace dingo::wire {
namespace {

bool is_send(const dingo_cqe& cqe) {
    return test::cqe_opcode(cqe) < DINGO_WC_RECV;
}

std::string describe_cqe(const dingo_cqe& cqe) {
    std::string text = fmt::format("{} {} qp={:#x} index={}", opcode_text(test::cqe_opcode(cqe)),
                                   status_text(cqe.status), test::cqe_qpn(cqe), cqe.wqe_index);
    if (cqe.status == DINGO_WCS_SUCCESS)
        text += fmt::format(" len={} imm={:#x} flags={:#x}", cqe.byte_len,
                            __builtin_bswap32(cqe.imm), cqe.flags);
    else
        text += fmt::format(" verr={}", vendor_error_text(cqe.vendor_err));
    return text;
}

template <typename T, typename U>
void want(std::string_view what, const T& got, const U& expected) {
    if (got != expected)
        throw ScriptError(fmt::format("{} is {}, expected {}", what, got, expected));
}

}  // namespace

void Runner::check_cqe(Words& words) {
    std::optional<Window> window;
    if (const auto after = words.value("after"))
        window = read_window(*after);
    std::optional<dingo_cqe> cqe;
    wait_until([&] { return (cqe = card_.driver.poll_cq(cq_)).has_value(); },
               window ? last_frame_ + window->latest : card_.now);
    if (!cqe)
        throw ScriptError("expected a completion, got none");
    if (!in_time(window, card_.now))
        throw ScriptError(
            fmt::format("it came {} ns after the last frame", card_.now - last_frame_));
    note("cqe " + describe_cqe(*cqe));
    try {
        want("status", status_text(cqe->status),
             status_text(status_value(words.value("status").value_or("SUCCESS"))));
        std::uint64_t wr = cqe->wqe_index;
        if (is_send(*cqe)) {
            const auto& sends = qp(test::cqe_qpn(*cqe)).sends;
            const auto it = sends.find(cqe->wqe_index);
            if (it == sends.end())
                throw ScriptError("its index is of no work request");
            wr = it->second;
        }
        want("wr", wr, words.number("wr"));
        if (const auto qpn = words.value("qp"))
            want("qp", test::cqe_qpn(*cqe), read_number(*qpn));
        if (const auto op = words.value("op"))
            want("op", opcode_text(test::cqe_opcode(*cqe)), opcode_text(opcode_value(*op)));
        if (const auto error = words.value("verr"))
            want("verr", vendor_error_text(cqe->vendor_err),
                 vendor_error_text(vendor_error_value(*error)));
        if (const auto length = words.value("len"))
            want("len", cqe->byte_len, read_number(*length));
        const bool imm = (cqe->flags & DINGO_CQE_FLAGS_IMM_MASK) != 0;
        const bool inv = (cqe->flags & DINGO_CQE_FLAGS_INV_MASK) != 0;
        if (const auto value = words.value("imm")) {
            want("flag IMM", imm, true);
            want("imm", fmt::format("{:#x}", __builtin_bswap32(cqe->imm)),
                 fmt::format("{:#x}", read_number(*value)));
        } else if (cqe->status == DINGO_WCS_SUCCESS) {
            want("flag IMM", imm, false);
        }
        if (const auto value = words.value("inv")) {
            want("flag INV", inv, true);
            want("inv", fmt::format("{:#x}", cqe->imm), fmt::format("{:#x}", key_of(*value)));
        }
        if (const auto value = words.value("src"))
            want("src", DINGO_GET(DINGO_CQE_SRC_QPN_QPN_MASK, cqe->src_qpn), read_number(*value));
        if (words.flag("se"))
            want("flag SOLICITED", (cqe->flags & DINGO_CQE_FLAGS_SOLICITED_MASK) != 0, true);
        if (words.flag("grh"))
            want("flag GRH", (cqe->flags & DINGO_CQE_FLAGS_GRH_MASK) != 0, true);
        if (words.flag("ipv4"))
            want("flag IPV4", (cqe->flags & DINGO_CQE_FLAGS_IPV4_MASK) != 0, true);
    } catch (const ScriptError& error) {
        throw ScriptError(fmt::format("got   cqe {}\n    ({})", describe_cqe(*cqe), error.what()));
    }
}

void Runner::check_event(Words& words) {
    card_.settle();
    const auto event = card_.driver.poll_eq(card_.driver.async_eq);
    if (!event)
        throw ScriptError("expected an event, got none");
    card_.driver.ring_eq(card_.driver.async_eq);
    note(fmt::format("event {} id={:#x}", event_text(event->kind), event->id));
    want("event", event_text(event->kind), event_text(event_value(words.bare("an event"))));
    if (const auto id = words.value("id"))
        want("id", event->id, read_number(*id));
    else if (event->kind >= DINGO_EV_QP_FATAL && event->kind < DINGO_EV_SRQ_ERR)
        want("QPN", event->id, last_qpn_);
}

void Runner::check_memory(Words& words) {
    const std::string place = words.bare("a place");
    const auto expected = read_bytes(words.bare("bytes"));
    const auto got = memory(place, expected.size());
    const auto at = std::ranges::mismatch(got, expected);
    if (at.in1 != got.end())
        throw ScriptError(fmt::format("byte {} is {:#04x}, expected {:#04x}", at.in1 - got.begin(),
                                      std::to_integer<unsigned>(*at.in1),
                                      std::to_integer<unsigned>(*at.in2)));
}

void Runner::check_counter(Words& words) {
    const std::string name = words.bare("a counter");
    const std::uint64_t value = read_number(words.bare("a value"));
    want(name, card_.driver.card_stats().at(card_counter(name)), value);
}

void Runner::check_qp_counter(Words& words) {
    const auto qpn = static_cast<std::uint32_t>(read_number(words.bare("a QPN")));
    const std::string name = words.bare("a counter");
    const std::uint64_t value = read_number(words.bare("a value"));
    want(name, card_.driver.qp_stats(qpn).at(qp_counter(name)), value);
}

void Runner::check_state(Words& words) {
    card_.settle();
    const auto qpn = static_cast<std::uint32_t>(read_number(words.bare("a QPN")));
    const std::uint8_t state = state_value(words.bare("a state"));
    want("state", state_text(card_.driver.query_qp(qpn).state), state_text(state));
}

void Runner::check_query(Words& words) {
    card_.settle();
    const auto qpn = static_cast<std::uint32_t>(read_number(words.bare("a QPN")));
    const dingo_qp_info info = card_.driver.query_qp(qpn);
    const std::pair<std::string_view, std::uint64_t> fields[] = {
        {"rq_psn", info.attr.rq_psn},
        {"sq_psn", info.attr.sq_psn},
        {"msn", info.msn},
        {"oldest_psn", info.oldest_psn},
        {"sq_producer", info.sq_producer},
        {"sq_consumer", info.sq_consumer},
        {"rq_producer", info.rq_producer},
        {"rq_consumer", info.rq_consumer},
        {"retries_left", info.retries_left},
        {"rnr_left", info.rnr_left},
        {"draining", info.sq_draining},
    };
    for (const auto& [name, value] : fields)
        if (const auto expected = words.value(name))
            want(name, value, read_number(*expected));
}

void Runner::check_nothing(Words& words) {
    const std::string what = words.bare("frame, cqe or event");
    card_.settle();
    if (what == "frame") {
        if (!frames_.empty())
            throw ScriptError("got   " + describe(frames_.front().bytes) +
                              "\n    (expected no frame)");
    } else if (what == "cqe") {
        if (const auto cqe = card_.driver.poll_cq(cq_))
            throw ScriptError(fmt::format("got   cqe {}\n    (expected none)", describe_cqe(*cqe)));
    } else if (what == "event") {
        if (const auto event = card_.driver.poll_eq(card_.driver.async_eq))
            throw ScriptError(fmt::format("got   event {} id={:#x}\n    (expected none)",
                                          event_text(event->kind), event->id));
    } else {
        throw ScriptError(fmt::format("'{}' is not frame, cqe or event", what));
    }
}

void Runner::ignore(Words& words) {
    const std::string what = words.bare("frame, cqe or event");
    card_.settle();
    if (what == "frame") {
        frames_.clear();
    } else if (what == "cqe") {
        while (card_.driver.poll_cq(cq_)) {
        }
    } else if (what == "event") {
        while (card_.driver.poll_eq(card_.driver.async_eq))
            card_.driver.ring_eq(card_.driver.async_eq);
    } else {
        throw ScriptError(fmt::format("'{}' is not frame, cqe or event", what));
    }
}

}  // namespace dingo::wire
