// SPDX-License-Identifier: BSD-2-Clause
//
// Completion channels and their events.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

bool readable(int fd, int ms) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, ms) == 1 && (p.revents & POLLIN) != 0;
}

/// A queue pair on a CQ with a channel; flush() makes completions.
struct Notified {
    Notified() : channel(made(ibv_create_comp_channel(b.ctx()), "channel")) {
        cq = b.cq(64, channel.get(), this);
        fresh();
    }
    void fresh() {
        qp = b.qp(cq.get());
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
    }
    void flush(int count = 1) {
        for (int i = 0; i < count; ++i) {
            ibv_recv_wr wr{}, *bad = nullptr;
            CHECK_RETURNS(0, ibv_post_recv(qp.get(), &wr, &bad));
        }
        CHECK_RETURNS(0, modify(qp.get(), to_state(IBV_QPS_ERR)));
    }
    ibv_cq* event() {
        ibv_cq* from = nullptr;
        void* context = nullptr;
        CHECK(ibv_get_cq_event(channel.get(), &from, &context) == 0);
        CHECK(context == this);
        return from;
    }
    Bench b;
    Channel channel;
    Cq cq;
    Qp qp;
};

void add_channel(Promises& all) {
    Page page(all, "ibv_create_comp_channel.3");
    page("has a descriptor; ibv_destroy_comp_channel() returns 0", [] {
        Bench b;
        Channel channel(made(ibv_create_comp_channel(b.ctx()), "channel"));
        CHECK(channel->fd >= 0 && fcntl(channel->fd, F_GETFD) >= 0);
        CHECK_RETURNS(0, ibv_destroy_comp_channel(channel.release()));
    });
    page("ibv_destroy_comp_channel() with a CQ on it fails with EBUSY", [] {
        Bench b;
        Channel channel(made(ibv_create_comp_channel(b.ctx()), "channel"));
        Cq cq = b.cq(4, channel.get());
        CHECK_RETURNS(EBUSY, ibv_destroy_comp_channel(channel.get()));
    });
    page("many CQs can share it", [] {
        Bench b;
        Channel channel(made(ibv_create_comp_channel(b.ctx()), "channel"));
        std::vector<Cq> many;
        for (int i = 0; i < 20; ++i) {
            many.push_back(b.cq(4, channel.get()));
        }
    });
}

void add_notify(Promises& all) {
    Page page(all, "ibv_req_notify_cq.3");
    page("returns 0, for any and for solicited completions", [] {
        Notified n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 1));
    });
    page("without it there is no event", [] {
        Notified n;
        n.flush();
        wait_wc(n.cq.get());
        CHECK(!readable(n.channel->fd, 50));
    });
    page("the next completion makes one event", [] {
        Notified n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush(5);
        CHECK(n.event() == n.cq.get());
        ibv_ack_cq_events(n.cq.get(), 1);
        CHECK(!readable(n.channel->fd, 50));
    });
    page("it is one shot: after its event it has to be asked for again", [] {
        Notified n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush();
        CHECK(n.event() == n.cq.get());
        ibv_ack_cq_events(n.cq.get(), 1);
        n.fresh();
        n.flush();
        CHECK(!readable(n.channel->fd, 50));
        n.fresh();
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush();
        CHECK(n.event() == n.cq.get());
        ibv_ack_cq_events(n.cq.get(), 1);
    });
    page("what was there before it makes no event", [] {
        Notified n;
        n.flush();
        while (!readable(n.channel->fd, 0)) {
            ibv_wc wc{};
            if (ibv_poll_cq(n.cq.get(), 1, &wc) != 0) {
                break;
            }
        }
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        CHECK(!readable(n.channel->fd, 50));
    });
    page("solicited_only: a completion with error makes an event", [] {
        Notified n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 1));
        n.flush();
        CHECK(n.event() == n.cq.get());
        ibv_ack_cq_events(n.cq.get(), 1);
    });
    for (const bool solicited : {false, true}) {
        page(std::string("solicited_only: a receive ") +
                 (solicited ? "of a solicited send makes an event" : "of another send makes none"),
             [solicited] {
                 Bench b;
                 Channel channel(made(ibv_create_comp_channel(b.ctx()), "channel"));
                 Cq quiet = b.cq(16), loud = b.cq(16, channel.get());
                 Qp from = b.qp(quiet.get()), to = b.qp(loud.get());
                 connect(b, from.get(), to->qp_num);
                 connect(b, to.get(), from->qp_num);
                 ibv_recv_wr receive{}, *bad_receive = nullptr;
                 CHECK_RETURNS(0, ibv_post_recv(to.get(), &receive, &bad_receive));
                 CHECK_RETURNS(0, ibv_req_notify_cq(loud.get(), 1));
                 ibv_send_wr send{}, *bad = nullptr;
                 send.opcode = IBV_WR_SEND;
                 send.send_flags =
                     solicited ? IBV_SEND_SIGNALED | IBV_SEND_SOLICITED : IBV_SEND_SIGNALED;
                 CHECK_RETURNS(0, ibv_post_send(from.get(), &send, &bad));
                 CHECK(wait_wc(quiet.get()).status == IBV_WC_SUCCESS);
                 CHECK(wait_wc(loud.get()).status == IBV_WC_SUCCESS);
                 CHECK(readable(channel->fd, solicited ? 20000 : 50) == solicited);
             });
    }
}

int moderate(ibv_cq* cq, std::uint16_t count, std::uint16_t period,
             std::uint32_t mask = IBV_CQ_ATTR_MODERATE) {
    ibv_modify_cq_attr attr{};
    attr.attr_mask = mask;
    attr.moderate = {count, period};
    return ibv_modify_cq(cq, &attr);
}

/// A CQ with moderation: an event waits for more completions than flush() makes, or for 20 ms.
struct Slow : Notified {
    Slow() { done(moderate(cq.get(), 100, 20'000), "CQ moderation"); }
    /// Waits for an event, without timeout.
    void hear() {
        CHECK(event() == cq.get());
        ibv_ack_cq_events(cq.get(), 1);
    }
};

void add_moderation(Promises& all) {
    Page page(all, "ibv_modify_cq.3");
    page("moderation is taken up to the device's most, or EOPNOTSUPP where that is 0", [] {
        Bench b;
        Cq cq = b.cq();
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        const ibv_cq_moderation_caps& most = attr.cq_mod_caps;
        const int answer = most.max_cq_count != 0 && most.max_cq_period != 0 ? 0 : EOPNOTSUPP;
        CHECK_RETURNS(answer, moderate(cq.get(), most.max_cq_count, most.max_cq_period));
        CHECK_RETURNS(answer, moderate(cq.get(), 0, 0));
    });
    page("no attribute, and one that nobody knows, is refused with EINVAL", [] {
        Slow n;
        CHECK_RETURNS(EINVAL, moderate(n.cq.get(), 1, 1, 0));
        CHECK_RETURNS(EINVAL, moderate(n.cq.get(), 1, 1, IBV_CQ_ATTR_RESERVED));
    });
    page("there are fewer events than completions, and the last completion has one", [] {
        constexpr int kCompletions = 8;
        Slow n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush(kCompletions);
        int events = 0;
        for (int polled = 0; polled < kCompletions; ++events) {
            n.hear();
            CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
            ibv_wc wc{};
            while (ibv_poll_cq(n.cq.get(), 1, &wc) == 1) {
                ++polled;
            }
        }
        CHECK(events >= 1 && events < kCompletions);
        n.fresh();
        n.flush();
        n.hear();
    });
    page("solicited_only: a completion with error has its event", [] {
        Slow n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 1));
        n.flush();
        n.hear();
    });
    page("a change counts for the event that waits", [] {
        Slow n;
        CHECK_RETURNS(0, moderate(n.cq.get(), 2, 20'000));
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush();
        CHECK_RETURNS(0, moderate(n.cq.get(), 0, 0));
        n.hear();
    });
    page("the event that waits comes after a resizing, too", [] {
        Slow n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush(2);
        done(ibv_resize_cq(n.cq.get(), 200), "resizing of CQs");
        n.hear();
    });
    page("a queue whose event waits can be destroyed", [] {
        Slow n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush();
        n.qp.reset();
        CHECK_RETURNS(0, ibv_destroy_cq(n.cq.release()));
        CHECK(!readable(n.channel->fd, 50));
    });
}

void add_get(Promises& all) {
    Page page(all, "ibv_get_cq_event.3");
    page("with a non-blocking descriptor and no event: -1 and EAGAIN", [] {
        Notified n;
        CHECK(fcntl(n.channel->fd, F_SETFL, fcntl(n.channel->fd, F_GETFL) | O_NONBLOCK) == 0);
        ibv_cq* cq = nullptr;
        void* context = nullptr;
        CHECK_FAILS(-1, EAGAIN, ibv_get_cq_event(n.channel.get(), &cq, &context));
    });
    page("blocks until there is an event", [] {
        Notified n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        std::atomic<bool> flushed{false};
        std::thread later([&] {
            usleep(50'000);
            flushed = true;
            n.flush();
        });
        const ibv_cq* const from = n.event();
        const bool right = flushed && from == n.cq.get();
        later.join();
        ibv_ack_cq_events(n.cq.get(), 1);
        CHECK(right);
    });
    page("events of two CQs on a channel name their CQ", [] {
        Notified n;
        Cq other = n.b.cq(4, n.channel.get(), &n);
        Qp qp = n.b.qp(other.get());
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        CHECK_RETURNS(0, ibv_req_notify_cq(other.get(), 0));
        n.flush();
        CHECK(n.event() == n.cq.get());
        ibv_recv_wr wr{}, *bad = nullptr;
        CHECK_RETURNS(0, ibv_post_recv(qp.get(), &wr, &bad));
        CHECK_RETURNS(0, modify(qp.get(), to_state(IBV_QPS_ERR)));
        CHECK(n.event() == other.get());
        ibv_ack_cq_events(n.cq.get(), 1);
        ibv_ack_cq_events(other.get(), 1);
    });
    page("ibv_destroy_cq() waits until the events are acknowledged", [] {
        Notified n;
        CHECK_RETURNS(0, ibv_req_notify_cq(n.cq.get(), 0));
        n.flush();
        ibv_cq* const cq = n.event();
        n.qp.reset();
        std::atomic<bool> acknowledged{false};
        std::thread later([&] {
            usleep(100'000);
            acknowledged = true;
            ibv_ack_cq_events(cq, 1);
        });
        const int rc = ibv_destroy_cq(n.cq.release());
        const bool waited = acknowledged;
        later.join();
        CHECK(rc == 0 && waited);
    });
}

}  // namespace

void add_cq_events(Promises& all) {
    add_channel(all);
    add_notify(all);
    add_moderation(all);
    add_get(all);
}

}  // namespace verbs_promises
