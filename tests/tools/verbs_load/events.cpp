// SPDX-License-Identifier: BSD-2-Clause
//
// Tests the completion channel of a program that arms more often than it reads events: QEMU's
// migration over RDMA arms before each wait, often finds the completion by polling, and reads the
// left-over events much later.
#include <infiniband/verbs.h>
#include <poll.h>

#include <stdexcept>
#include <string>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

constexpr unsigned kRounds = 1000;
constexpr unsigned kMostUnread = 9;
constexpr int kPatience = 5000;  // ms

void need(bool good, const char* what) {
    if (!good)
        throw std::runtime_error(what);
}

class Channel {
  public:
    explicit Channel(const SelfLink& link) : channel_(ibv_create_comp_channel(link.context())) {
        need(channel_ != nullptr, "ibv_create_comp_channel");
        cq_ = ibv_create_cq(link.context(), 16, nullptr, channel_, 0);
        need(cq_ != nullptr, "ibv_create_cq");
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq_;
        init.qp_type = IBV_QPT_RC;
        init.cap = {8, 1, 1, 1, 0};
        qp_ = ibv_create_qp(link.pd(), &init);
        need(qp_ != nullptr, "ibv_create_qp");
        link.connect(qp_);
    }
    ~Channel() {
        ibv_destroy_qp(qp_);
        ibv_destroy_cq(cq_);
        ibv_destroy_comp_channel(channel_);
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    void post() {
        ibv_send_wr wr{};
        ibv_send_wr* bad = nullptr;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.send_flags = IBV_SEND_SIGNALED;
        need(ibv_post_send(qp_, &wr, &bad) == 0, "ibv_post_send");
    }
    void arm() { need(ibv_req_notify_cq(cq_, 0) == 0, "ibv_req_notify_cq"); }
    bool poll_once() {
        ibv_wc wc{};
        const int got = ibv_poll_cq(cq_, 1, &wc);
        need(got >= 0 && (got == 0 || wc.status == IBV_WC_SUCCESS), "ibv_poll_cq");
        return got == 1;
    }
    [[nodiscard]] bool readable(int patience) const {
        pollfd one{channel_->fd, POLLIN, 0};
        return ::poll(&one, 1, patience) == 1;
    }
    void read() {
        ibv_cq* cq = nullptr;
        void* context = nullptr;
        need(ibv_get_cq_event(channel_, &cq, &context) == 0 && cq == cq_, "ibv_get_cq_event");
        ibv_ack_cq_events(cq_, 1);
    }

  private:
    ibv_comp_channel* channel_;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
};

}  // namespace

void events_test() {
    const SelfLink link("", 1, 8192);
    Channel channel(link);
    for (unsigned round = 0; round < kRounds; ++round) {
        for (unsigned i = 0; i < round % kMostUnread; ++i) {
            channel.arm();
            channel.post();
            while (!channel.poll_once()) {
            }
        }
        // Some events are queued now. Read each and arm again, as if it were a new one; then the
        // completion of one more work request must give an event.
        channel.arm();
        channel.post();
        while (!channel.poll_once()) {
            if (!channel.readable(kPatience))
                throw std::runtime_error("round " + std::to_string(round) + ": no event came");
            channel.read();
            channel.arm();
        }
        while (channel.readable(0))
            channel.read();
    }
}

}  // namespace verbs_load
