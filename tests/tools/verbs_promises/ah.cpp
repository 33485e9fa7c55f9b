// SPDX-License-Identifier: BSD-2-Clause
//
// Address handles and multicast groups.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

struct Wrong {
    const char* name;
    void (*spoil)(const Bench& b, ibv_ah_attr& ah);
};
constexpr Wrong kWrong[] = {
    {"a port that is not there", [](const Bench&, ibv_ah_attr& ah) { ah.port_num = 2; }},
    {"port 0", [](const Bench&, ibv_ah_attr& ah) { ah.port_num = 0; }},
    {"no global route, which the port requires",
     [](const Bench&, ibv_ah_attr& ah) { ah.is_global = 0; }},
    {"a source GID behind the table",
     [](const Bench& b, ibv_ah_attr& ah) {
         ah.grh.sgid_index = static_cast<std::uint8_t>(b.port.gid_tbl_len);
     }},
};

void add_create(Promises& all) {
    Page ah(all, "ibv_create_ah.3");
    ah("to the port itself; ibv_destroy_ah() returns 0", [] {
        Bench b;
        auto self = b.self();
        CHECK_RETURNS(0, ibv_destroy_ah(made(ibv_create_ah(b.pd.get(), &self), "AH")));
    });
    for (const Wrong& wrong : kWrong) {
        ah(std::string(wrong.name) + " is refused with EINVAL", [wrong] {
            Bench b;
            auto self = b.self();
            wrong.spoil(b, self);
            CHECK_NULL(EINVAL, ibv_create_ah(b.pd.get(), &self));
        });
    }
    ah("a thousand at a time", [] {
        Bench b;
        auto self = b.self();
        std::vector<Ah> many;
        for (int i = 0; i < 1000; ++i) {
            many.emplace_back(made(ibv_create_ah(b.pd.get(), &self), "AH"));
        }
    });
    ah("traffic class, hop limit and flow label are taken", [] {
        Bench b;
        auto self = b.self();
        self.grh.traffic_class = 0x20;
        self.grh.hop_limit = 1;
        self.grh.flow_label = 0xabcde;
        self.sl = 3;
        Ah handle(made(ibv_create_ah(b.pd.get(), &self), "AH"));
    });
}

/// A datagram that side 1 has received: its completion and GRH.
struct Arrived {
    Arrived() : pair(b, IBV_QPT_UD) {
        CHECK_RETURNS(0, pair.receive(1, 1, 40 + 64));
        CHECK(pair.run(pair.request(IBV_WR_SEND)).status == IBV_WC_SUCCESS);
        wc = wait_wc(pair.cq(1));
        CHECK(wc.status == IBV_WC_SUCCESS);
        std::memcpy(&grh, pair.memory(1).data(), sizeof grh);
    }
    Bench b;
    Pair pair;
    ibv_wc wc{};
    ibv_grh grh{};
};

void add_from_wc(Promises& all) {
    Page wc(all, "ibv_create_ah_from_wc.3");
    wc("ibv_init_ah_from_wc() returns 0 and the way back", [] {
        Arrived a;
        ibv_ah_attr attr{};
        CHECK(ibv_init_ah_from_wc(a.b.ctx(), 1, &a.wc, &a.grh, &attr) == 0);
        CHECK(attr.is_global == 1 && attr.port_num == 1);
        CHECK(std::memcmp(&attr.grh.dgid, &a.b.gid, sizeof a.b.gid) == 0);
    });
    wc("ibv_create_ah_from_wc() makes a handle that answers", [] {
        Arrived a;
        Ah back(made(ibv_create_ah_from_wc(a.b.pd.get(), &a.wc, &a.grh, 1), "AH"));
        CHECK_RETURNS(0, a.pair.receive(0, 9, 40 + 8));
        ibv_sge sge = a.pair.memory(1).sge(1024, 8);
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.wr.ud = {back.get(), a.wc.src_qp, kQkey};
        ibv_send_wr* bad = nullptr;
        CHECK_RETURNS(0, ibv_post_send(a.pair.qp(1), &wr, &bad));
        const ibv_wc answer = wait_wc(a.pair.cq(0));
        CHECK(answer.status == IBV_WC_SUCCESS && answer.wr_id == 9);
    });
}

ibv_gid group() {
    ibv_gid gid{};
    gid.raw[0] = 0xff;
    gid.raw[1] = 0x0e;
    gid.raw[15] = 0x17;
    return gid;
}

void add_mcast(Promises& all) {
    Page mcast(all, "ibv_attach_mcast.3");
    mcast("a UD queue pair joins and leaves, or the device has no multicast (max_mcast_grp is 0)",
          [] {
              Bench b;
              Cq cq = b.cq();
              Qp qp = b.qp(cq.get(), IBV_QPT_UD);
              const ibv_gid gid = group();
              const int rc = ibv_attach_mcast(qp.get(), &gid, 0xc000);
              if (b.attr.max_mcast_grp == 0) {
                  CHECK_RETURNS(EOPNOTSUPP, rc);
                  return;
              }
              CHECK_RETURNS(0, rc);
              CHECK_RETURNS(0, ibv_detach_mcast(qp.get(), &gid, 0xc000));
          });
    mcast("only UD queue pairs may be attached", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        const ibv_gid gid = group();
        const int rc = ibv_attach_mcast(qp.get(), &gid, 0xc000);
        CHECK(rc == EINVAL || (b.attr.max_mcast_grp == 0 && rc == EOPNOTSUPP));
    });
    mcast("a queue pair in a group cannot be destroyed: EBUSY (ibv_destroy_qp.3)", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get(), IBV_QPT_UD);
        const ibv_gid gid = group();
        if (b.attr.max_mcast_grp == 0)
            return;
        CHECK_RETURNS(0, ibv_attach_mcast(qp.get(), &gid, 0));
        CHECK_RETURNS(EBUSY, ibv_destroy_qp(qp.get()));
        CHECK_RETURNS(0, ibv_detach_mcast(qp.get(), &gid, 0));
        CHECK_RETURNS(0, ibv_destroy_qp(qp.release()));
    });
    mcast("joining twice is once", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get(), IBV_QPT_UD);
        const ibv_gid gid = group();
        if (b.attr.max_mcast_grp == 0)
            return;
        CHECK_RETURNS(0, ibv_attach_mcast(qp.get(), &gid, 0));
        CHECK_RETURNS(0, ibv_attach_mcast(qp.get(), &gid, 0));
        CHECK_RETURNS(0, ibv_detach_mcast(qp.get(), &gid, 0));
        CHECK(ibv_detach_mcast(qp.get(), &gid, 0) != 0);
    });
    mcast("an address that is no group's is refused with EINVAL", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get(), IBV_QPT_UD);
        const int rc = ibv_attach_mcast(qp.get(), &b.gid, 0);
        CHECK(rc == EINVAL || (b.attr.max_mcast_grp == 0 && rc == EOPNOTSUPP));
    });
    mcast("a datagram to the group comes to its members, with the GRH", [] {
        Bench b;
        Pair pair(b, IBV_QPT_UD);
        ibv_gid gid = group();
        const bool ipv4 = b.gid.raw[0] == 0 && b.gid.raw[10] == 0xff;
        if (ipv4)
            gid = ibv_gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 23}};
        if (b.attr.max_mcast_grp == 0)
            return;
        CHECK_RETURNS(0, ibv_attach_mcast(pair.qp(1), &gid, 0));
        auto to = b.self();
        to.grh.dgid = gid;
        Ah ah(made(ibv_create_ah(b.pd.get(), &to), "AH"));
        CHECK_RETURNS(0, pair.receive(1, 5, 40 + 64));
        ibv_send_wr wr = pair.request(IBV_WR_SEND);
        wr.wr.ud = {ah.get(), 0xffffff, kQkey};
        CHECK(pair.run(wr).status == IBV_WC_SUCCESS);
        const ibv_wc wc = wait_wc(pair.cq(1));
        CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == 5 && (wc.wc_flags & IBV_WC_GRH) != 0);
        ibv_grh grh{};
        std::memcpy(&grh, pair.memory(1).data(), sizeof grh);
        // For IPv4, the last 20 bytes of the GRH are the IPv4 header.
        const auto* seen = reinterpret_cast<const std::uint8_t*>(&grh);
        CHECK(std::memcmp(seen + (ipv4 ? 36 : 24), gid.raw + (ipv4 ? 12 : 0), ipv4 ? 4 : 16) == 0);
        CHECK_RETURNS(0, ibv_detach_mcast(pair.qp(1), &gid, 0));
    });
    mcast("leaving a group that was not joined is an error", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get(), IBV_QPT_UD);
        const ibv_gid gid = group();
        CHECK(ibv_detach_mcast(qp.get(), &gid, 0xc000) != 0);
    });
}

}  // namespace

void add_ah(Promises& all) {
    add_create(all);
    add_from_wc(all);
    add_mcast(all);
}

}  // namespace verbs_promises
