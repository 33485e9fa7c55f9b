// SPDX-License-Identifier: BSD-2-Clause
// Describes, connects and uses queue pairs of the first RDMA device. Needs a device:
// tests/qp-exchange/suite.sh.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bytes.h"
#include "qpx/verbs.h"

namespace qpx {
namespace {

using test::expect_error;

template <class T>
using Verbs = std::unique_ptr<T, int (*)(T*)>;

/// Connects qps[i] to rank i. Any store will do: put(key, bytes), and get(key), which waits.
template <typename Store>
void connect_through(Store& store, const std::string& job, size_t me, std::span<ibv_qp*> qps) {
    const auto key = [&](size_t from, size_t to) {
        return job + "/" + std::to_string(from) + "/" + std::to_string(to);
    };
    std::vector<qpx::Local> local(qps.size());
    for (size_t peer = 0; peer < qps.size(); ++peer) {
        if (peer != me) {
            local[peer] = qpx::describe(qps[peer]);
            store.put(key(me, peer), qpx::pack(local[peer].endpoint));
        }
    }
    for (size_t peer = 0; peer < qps.size(); ++peer) {
        if (peer != me) {
            qpx::connect(qps[peer], local[peer], qpx::unpack(store.get(key(peer, me))));
        }
    }
    store.put(key(me, me), {});
    for (size_t peer = 0; peer < qps.size(); ++peer) {
        store.get(key(peer, peer));  // the peer's queue pairs are ready to receive
    }
}

/// A key-value store shared by threads, in place of one that other programs bring.
class Store {
  public:
    void put(const std::string& key, std::vector<std::byte> value) {
        const std::lock_guard hold(mutex_);
        values_[key] = std::move(value);
        changed_.notify_all();
    }
    std::vector<std::byte> get(const std::string& key) {
        std::unique_lock hold(mutex_);
        changed_.wait(hold, [&] { return values_.contains(key); });
        return values_.at(key);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::vector<std::byte>> values_;
};

class Device : public ::testing::Test {
  protected:
    Device() {
        int count = 0;
        ibv_device** list = ibv_get_device_list(&count);
        if (list != nullptr && count > 0) {
            context.reset(ibv_open_device(list[0]));
        }
        ibv_free_device_list(list);
    }

    void SetUp() override {
        if (context == nullptr) {
            GTEST_SKIP() << "there is no RDMA device";
        }
        pd.reset(ibv_alloc_pd(context.get()));
        cq.reset(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
        mr.reset(
            ibv_reg_mr(pd.get(), memory.data(), memory.size(),
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
        ASSERT_TRUE(pd && cq && mr);
    }

    Verbs<ibv_qp> create(ibv_qp_type type) {
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq.get();
        init.cap.max_send_wr = init.cap.max_recv_wr = 8;
        init.cap.max_send_sge = init.cap.max_recv_sge = 1;
        init.qp_type = type;
        return {ibv_create_qp(pd.get(), &init), ibv_destroy_qp};
    }

    ibv_sge sge(std::size_t at, std::size_t length) const {
        return {mr->addr ? reinterpret_cast<std::uintptr_t>(memory.data()) + at : 0,
                static_cast<std::uint32_t>(length), mr->lkey};
    }

    ibv_wc completion() {
        ibv_wc wc{};
        for (int i = 0; i < 50'000'000 && ibv_poll_cq(cq.get(), 1, &wc) == 0; ++i) {
        }
        return wc;
    }

    void receive(ibv_qp* qp, std::size_t at, std::size_t length) {
        ibv_sge entry = sge(at, length);
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.sg_list = &entry;
        wr.num_sge = 1;
        wr.wr_id = 1;
        ASSERT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
    }

    void send(ibv_qp* qp, ibv_send_wr wr, std::size_t at, std::size_t length) {
        ibv_sge entry = sge(at, length);
        ibv_send_wr* bad = nullptr;
        wr.sg_list = &entry;
        wr.num_sge = 1;
        wr.wr_id = 2;
        wr.send_flags = IBV_SEND_SIGNALED;
        ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
    }

    std::vector<char> memory = std::vector<char>(8192);
    Verbs<ibv_context> context{nullptr, ibv_close_device};
    Verbs<ibv_pd> pd{nullptr, ibv_dealloc_pd};
    Verbs<ibv_cq> cq{nullptr, ibv_destroy_cq};
    Verbs<ibv_mr> mr{nullptr, ibv_dereg_mr};
};

TEST_F(Device, HasARoceV2GidOfEachKindItLists) {
    const auto table = gids(context.get(), 1);
    ASSERT_FALSE(table.empty());
    const GidChoice best = choose_gid(context.get(), 1);
    const GidChoice same = choose_gid(context.get(), 1, {.index = best.index});
    EXPECT_EQ(same.gid, best.gid);
    for (const GidChoice& entry : table) {
        if (entry.type != best.type) {
            continue;
        }
        // An address in the table selects its own entry.
        EXPECT_EQ(choose_gid(context.get(), 1, {.local = gid_text(entry.gid)}).gid, entry.gid)
            << entry.index;
    }
    expect_error(ErrorCode::Argument, "GID index 250",
                 [&] { choose_gid(context.get(), 1, {.index = 250}); });
    expect_error(ErrorCode::Device, "is there such a port", [&] { choose_gid(context.get(), 99); });
}

TEST_F(Device, DescriptionIsValidAndItsPsnRandom) {
    const auto qp = create(IBV_QPT_RC);
    ASSERT_NE(qp, nullptr);
    const Local one = describe(qp.get(), {.regions = {describe(mr.get(), "memory")}});
    EXPECT_EQ(why_invalid(one.endpoint), "");
    EXPECT_EQ(one.endpoint.qpn, qp->qp_num);
    EXPECT_EQ(one.endpoint.gid, one.gid.gid);
    EXPECT_GT(one.endpoint.max_rd_atomic, 0);
    EXPECT_EQ(one.endpoint.regions.at(0).length, memory.size());
    EXPECT_EQ(one.endpoint.regions.at(0).rkey, mr->rkey);
    // Two random PSNs are equal once in 16 million.
    EXPECT_FALSE(describe(qp.get()).endpoint.psn == one.endpoint.psn &&
                 describe(qp.get()).endpoint.psn == one.endpoint.psn);
    EXPECT_EQ(describe(qp.get(), {.mtu = 256}).endpoint.mtu, 256U);
    expect_error(ErrorCode::Argument, "MTU 8192", [&] { describe(qp.get(), {.mtu = 8192}); });
    expect_error(ErrorCode::Argument, "MTU 300", [&] { describe(qp.get(), {.mtu = 300}); });
    expect_error(ErrorCode::Argument, "the device has at most",
                 [&] { describe(qp.get(), {.max_rd_atomic = 256}); });
}

TEST_F(Device, AnyKeyValueStoreConnectsAllToAll) {
    constexpr std::size_t kRanks = 3;
    std::array<std::vector<Verbs<ibv_qp>>, kRanks> qps;
    Store store;
    std::vector<std::thread> ranks;
    for (std::size_t me = 0; me < kRanks; ++me) {
        for (std::size_t peer = 0; peer < kRanks; ++peer) {
            qps[me].push_back(create(IBV_QPT_RC));
            ASSERT_NE(qps[me].back(), nullptr);
        }
    }
    for (std::size_t me = 0; me < kRanks; ++me) {
        ranks.emplace_back([&, me] {
            std::vector<ibv_qp*> mine;
            for (const auto& qp : qps[me]) {
                mine.push_back(qp.get());
            }
            connect_through(store, "job", me, mine);
        });
    }
    for (std::thread& rank : ranks) {
        rank.join();
    }
    // Each rank writes to every other, into a slot of that pair.
    for (std::size_t from = 0; from < kRanks; ++from) {
        for (std::size_t to = 0; to < kRanks; ++to) {
            if (from == to) {
                continue;
            }
            memory[0] = static_cast<char>(1 + from * kRanks + to);
            ibv_send_wr wr{};
            wr.opcode = IBV_WR_RDMA_WRITE;
            wr.wr.rdma.remote_addr =
                reinterpret_cast<std::uintptr_t>(memory.data()) + 64 + from * kRanks + to;
            wr.wr.rdma.rkey = mr->rkey;
            send(qps[from][to].get(), wr, 0, 1);
            EXPECT_EQ(completion().status, IBV_WC_SUCCESS);
            EXPECT_EQ(memory[64 + from * kRanks + to], memory[0]);
        }
    }
}

TEST_F(Device, RcWritesAndReadsWithTheSmallerLimits) {
    const auto a = create(IBV_QPT_RC), b = create(IBV_QPT_RC);
    const Local at_a = describe(a.get(), {.max_rd_atomic = 1, .mtu = 512}),
                at_b = describe(b.get(), {.max_dest_rd_atomic = 2});
    connect(a.get(), at_a, at_b.endpoint);
    connect(b.get(), at_b, at_a.endpoint);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(
        ibv_query_qp(b.get(), &attr,
                     IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_RQ_PSN,
                     &init),
        0);
    EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(attr.path_mtu, IBV_MTU_512);
    EXPECT_EQ(attr.max_dest_rd_atomic, 1);
    EXPECT_EQ(attr.rq_psn, at_a.endpoint.psn);
    std::strcpy(memory.data(), "written");
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(memory.data()) + 4096;
    wr.wr.rdma.rkey = mr->rkey;
    send(a.get(), wr, 0, 1024);
    EXPECT_EQ(completion().status, IBV_WC_SUCCESS);
    EXPECT_STREQ(&memory[4096], "written");
    wr.opcode = IBV_WR_RDMA_READ;
    send(a.get(), wr, 2048, 1024);
    EXPECT_EQ(completion().status, IBV_WC_SUCCESS);
    EXPECT_STREQ(&memory[2048], "written");
    expect_error(ErrorCode::Argument, "is connected already",
                 [&] { connect(a.get(), at_a, at_b.endpoint); });
}

TEST_F(Device, UcSends) {
    const auto a = create(IBV_QPT_UC), b = create(IBV_QPT_UC);
    if (a == nullptr && errno == EOPNOTSUPP) {
        GTEST_SKIP() << "the device has no UC";
    }
    ASSERT_TRUE(a && b);
    const Local at_a = describe(a.get()), at_b = describe(b.get());
    connect(a.get(), at_a, at_b.endpoint);
    connect(b.get(), at_b, at_a.endpoint);
    receive(b.get(), 4096, 1024);
    std::strcpy(memory.data(), "unreliable");
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    send(a.get(), wr, 0, 64);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(completion().status, IBV_WC_SUCCESS);
    }
    EXPECT_STREQ(&memory[4096], "unreliable");
}

TEST_F(Device, UdSendsToAnAddressHandle) {
    const auto a = create(IBV_QPT_UD), b = create(IBV_QPT_UD);
    ASSERT_TRUE(a && b);
    const Local at_a = describe(a.get()), at_b = describe(b.get(), {.qkey = 0x1234});
    EXPECT_EQ(at_a.endpoint.qkey & 0x80000000U, 0U);
    connect(a.get(), at_a, at_b.endpoint);
    connect(b.get(), at_b, at_a.endpoint);
    const Verbs<ibv_ah> ah(create_ah(pd.get(), at_a, at_b.endpoint), ibv_destroy_ah);
    receive(b.get(), 4096, 1024);
    std::strcpy(memory.data(), "datagram");
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.wr.ud.ah = ah.get();
    wr.wr.ud.remote_qpn = at_b.endpoint.qpn;
    wr.wr.ud.remote_qkey = at_b.endpoint.qkey;
    send(a.get(), wr, 0, 64);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(completion().status, IBV_WC_SUCCESS);
    }
    // The data follows the 40 bytes of the GRH.
    EXPECT_STREQ(&memory[4096 + 40], "datagram");
}

TEST_F(Device, TypesThatDifferAreNotConnected) {
    const auto a = create(IBV_QPT_RC), b = create(IBV_QPT_UD);
    const Local at_a = describe(a.get()), at_b = describe(b.get());
    expect_error(ErrorCode::Argument, "QP types differ: RC and UD",
                 [&] { connect(a.get(), at_a, at_b.endpoint); });
}

TEST_F(Device, AnAddressWithoutARouteIsNamed) {
    const auto a = create(IBV_QPT_RC);
    const Local at_a = describe(a.get());
    Endpoint nowhere = at_a.endpoint;
    nowhere.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, 9};
    nowhere.candidates.clear();  // this address and no other
    try {
        connect(a.get(), at_a, nowhere);
        ADD_FAILURE() << "connected to nowhere";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Device);
        EXPECT_NE(error.detail(), 0);
        EXPECT_NE(std::string(error.what()).find("203.0.113.9"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace qpx
