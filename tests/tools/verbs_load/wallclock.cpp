// SPDX-License-Identifier: BSD-2-Clause
//
// Tests IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK and ibv_query_rt_values_ex(3).
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

constexpr unsigned kRounds = 200;
// ns. A completion has the time at which the card's round began; on a loaded machine the card may
// be preempted between that and the work.
constexpr std::int64_t kSlack = 2'000'000'000;

void need(bool good, const char* what) {
    if (!good)
        throw std::runtime_error(std::string(what) + " (errno " + std::to_string(errno) + ")");
}

std::int64_t time_of_day() {
    timespec t{};
    ::clock_gettime(CLOCK_REALTIME, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void post(ibv_qp* qp) {
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    need(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

struct Times {
    std::int64_t wall;
    std::uint64_t card;
};

Times poll(ibv_cq_ex* cq) {
    ibv_poll_cq_attr none{};
    int got = 0;
    while ((got = ibv_start_poll(cq, &none)) == ENOENT) {
    }
    need(got == 0 && cq->status == IBV_WC_SUCCESS, "ibv_start_poll");
    const Times times{static_cast<std::int64_t>(ibv_wc_read_completion_wallclock_ns(cq)),
                      ibv_wc_read_completion_ts(cq)};
    ibv_end_poll(cq);
    return times;
}

std::uint64_t card_clock(ibv_context* context) {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    need(ibv_query_rt_values_ex(context, &values) == 0 &&
             values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK,
         "ibv_query_rt_values_ex");
    return static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
}

void rounds(const SelfLink& link, ibv_qp* qp, ibv_cq_ex* cq, std::uint64_t mask) {
    Times last{};
    for (unsigned i = 0; i < kRounds; ++i) {
        const std::int64_t before = time_of_day();
        const std::uint64_t card_before = card_clock(link.context());
        post(qp);
        const Times times = poll(cq);
        const std::int64_t after = time_of_day();
        need(times.wall > before - kSlack && times.wall < after + kSlack,
             "a completion is between posting and polling");
        need(((times.card - card_before) & mask) < static_cast<std::uint64_t>(kSlack) ||
                 ((card_before - times.card) & mask) < static_cast<std::uint64_t>(kSlack),
             "the card's clock, asked for, is that of time stamps");
        need(i == 0 || times.card >= last.card, "time stamps do not go back");
        last = times;
    }
}

}  // namespace

void wallclock_test() {
    SelfLink link("", 1, 8192);
    ibv_device_attr_ex attr{};
    need(ibv_query_device_ex(link.context(), nullptr, &attr) == 0, "ibv_query_device_ex");
    ibv_values_ex values{};
    values.comp_mask = 1U << 20;
    need(ibv_query_rt_values_ex(link.context(), &values) == EINVAL, "an unknown value");
    ibv_cq_init_attr_ex want{};
    want.cqe = 16;
    want.wc_flags =
        IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    ibv_cq_ex* const cq = ibv_create_cq_ex(link.context(), &want);
    need(cq != nullptr, "ibv_create_cq_ex");
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
    init.qp_type = IBV_QPT_RC;
    init.cap = {8, 1, 1, 1, 0};
    ibv_qp* const qp = ibv_create_qp(link.pd(), &init);
    need(qp != nullptr, "ibv_create_qp");
    link.connect(qp);
    rounds(link, qp, cq, attr.completion_timestamp_mask);
    ibv_destroy_qp(qp);
    ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

}  // namespace verbs_load
