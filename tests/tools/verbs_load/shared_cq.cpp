// SPDX-License-Identifier: BSD-2-Clause
//
// Tests a CQ that never runs empty: one QP posts before each poll for a single completion, and the
// completion of another QP's request, which only the card can execute, must appear nevertheless.
#include <infiniband/verbs.h>
#include <unistd.h>

#include <stdexcept>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

constexpr unsigned kMostPolls = 2000;
constexpr useconds_t kForTheCard = 200'000;

void need(bool good, const char* what) {
    if (!good) {
        throw std::runtime_error(what);
    }
}

unsigned next_qp_num(ibv_cq* cq) {
    ibv_wc wc{};
    int got = 0;
    while (got == 0) {
        got = ibv_poll_cq(cq, 1, &wc);
    }
    need(got == 1 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
    return wc.qp_num;
}

}  // namespace

void shared_cq_test() {
    SelfLink link("", 1, 8192);
    ibv_qp* const other = link.create_qp();
    link.connect(other);
    // The first requests establish the direct road.
    for (unsigned i = 0; i < 100; ++i) {
        link.post(0);
        link.wait();
    }
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.opcode = IBV_WR_RDMA_WRITE;  // of no bytes
    wr.send_flags = IBV_SEND_SIGNALED;
    need(ibv_post_send(other, &wr, &bad) == 0, "ibv_post_send");
    link.post(0);
    ::usleep(kForTheCard);
    unsigned polls = 0;
    do {
        need(++polls <= kMostPolls, "the other QP's completion is kept back");
        link.post(0);
    } while (next_qp_num(link.cq()) != other->qp_num);
    next_qp_num(link.cq());
    next_qp_num(link.cq());
    ibv_destroy_qp(other);
}

}  // namespace verbs_load
