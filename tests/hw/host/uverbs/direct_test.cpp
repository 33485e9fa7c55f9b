// SPDX-License-Identifier: BSD-2-Clause
// The card's part of the direct road: to whom it shows pages and regions, and when it withdraws
// them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "base/shared_memory.h"
#include "dingo-abi.h"
#include "host/uverbs/direct_abi.h"
#include "rings.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::uint8_t, 16> kGid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
constexpr std::uint8_t kErr = 6;
constexpr std::uint64_t kUd = 4;

/// A mapping of a descriptor from an answer.
template <typename T>
class Mapped {
  public:
    Mapped(int fd, std::uint64_t offset, std::size_t bytes, int prot)
        : at_(::mmap(nullptr, bytes, prot, MAP_SHARED, fd, static_cast<off_t>(offset))),
          bytes_(bytes) {}
    ~Mapped() {
        if (ok()) {
            ::munmap(at_, bytes_);
        }
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    T* operator->() const { return static_cast<T*>(at_); }
    [[nodiscard]] bool ok() const { return at_ != MAP_FAILED; }

  private:
    void* at_;
    std::size_t bytes_;
};

std::uint32_t load(const std::uint32_t& word) {
    return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(word)).load();
}
void store(std::uint32_t& word, std::uint32_t value) {
    std::atomic_ref<std::uint32_t>(word).store(value);
}

/// A client with two QPs that are connected with each other.
struct Owner {
    Owner() : client(card.directory), verbs(client) {
        EXPECT_EQ(verbs.get_context(), 0);
        EXPECT_EQ(verbs.alloc_pd(), 0);
        pd = verbs.handle;
        EXPECT_EQ(verbs.create_cq(), 0);
        cq = verbs.handle;
        for (std::size_t n = 0; n < 2; ++n) {
            EXPECT_EQ(verbs.create_qp(pd, cq), 0);
            qp[n] = verbs.handle;
            qpn[n] = verbs.qpn;
        }
    }
    void connect() {
        EXPECT_EQ(verbs.connect_qp(qp[0], qpn[1], kGid, 1), 0);
        EXPECT_EQ(verbs.connect_qp(qp[1], qpn[0], kGid, 1), 0);
    }
    int start(dingo_device_direct_resp* answer = nullptr) {
        dingo_device_direct_resp resp{};
        Ioctl io(UVERBS_OBJECT_DEVICE, DINGO_METHOD_DEVICE_DIRECT);
        io.out(DINGO_ATTR_DEVICE_DIRECT_RESP, answer != nullptr ? *answer : resp);
        return client.ioctl(io);
    }
    int open(std::size_t n, dingo_qp_direct_resp& resp) { return open_qp(qp.at(n), resp); }
    int open_qp(std::uint32_t handle, dingo_qp_direct_resp& resp) {
        Ioctl io(UVERBS_OBJECT_QP, DINGO_METHOD_QP_DIRECT);
        io.object(DINGO_ATTR_QP_DIRECT_HANDLE, handle)
            .in(DINGO_ATTR_QP_DIRECT_OPEN, std::uint32_t{1})
            .out(DINGO_ATTR_QP_DIRECT_RESP, resp);
        return client.ioctl(io);
    }
    /// Returns QP 0's claim, after both pages were opened.
    dingo_direct_claim claim() {
        dingo_qp_direct_resp resp{};
        EXPECT_EQ(open(1, resp), 0);
        EXPECT_EQ(open(0, resp), 0);
        dingo_direct_claim result{};
        std::memcpy(&result, resp.claim, sizeof result);
        return result;
    }
    /// Registers `memory`, two pages, which the client shares.
    int reg_mr(const SharedMemory& memory, std::uint32_t access) {
        auto cmd = Verbs::zeroed<ib_uverbs_reg_mr>();
        const auto at = reinterpret_cast<std::uintptr_t>(memory.bytes().data());
        std::array<std::uint32_t, 3> resp{};
        cmd.start = cmd.hca_va = at;
        cmd.length = memory.bytes().size();
        cmd.pd_handle = pd;
        cmd.access_flags = access;
        cmd.response = reinterpret_cast<std::uintptr_t>(&resp);
        Request r(DINGO_UVERBS_WRITE);
        r.payload = Client::classic(IB_USER_VERBS_CMD_REG_MR, cmd, sizeof resp);
        r.header.flags = DINGO_UVERBS_SHARED;
        r.segments.push_back({at, memory.bytes().size(), 0, 0, 0});
        r.fds = {memory.fd()};
        const int result = client.call(std::move(r));
        mr = resp[0];
        key = resp[1];
        return std::min(result, 0);
    }
    int to_error(std::size_t n) {
        return verbs.modify_qp(Verbs::zeroed<ib_uverbs_modify_qp>(), qp.at(n), kErr, 0);
    }

    const RunningCard card;
    Client client;
    Verbs verbs;
    std::uint32_t pd = 0;
    std::uint32_t cq = 0;
    std::array<std::uint32_t, 2> qp{};
    std::array<std::uint32_t, 2> qpn{};
    std::uint32_t mr = 0;
    std::uint32_t key = 0;
};

/// An owner with a connected QP, so that its regions and page may be shown.
struct ConnectedOwner : Owner {
    ConnectedOwner() {
        connect();
        EXPECT_EQ(start(), 0);
    }
};

/// The provider of QP 0, which requests QP 1's page.
struct Peer {
    explicit Peer(const Owner& owner) : client(owner.card.directory, false) {}
    Answer link(const dingo_direct_claim& claim) {
        Request r(DINGO_UVERBS_DIRECT_LINK);
        append(r.payload, claim);
        return client.send(r);
    }
    Answer file(std::uint64_t context, std::uint64_t number) {
        Request r(DINGO_UVERBS_DIRECT_FILE);
        r.header.arg = context;
        r.header.arg2 = number;
        return client.send(r);
    }
    Client client;
};

struct Link {
    explicit Link(const Answer& answer)
        : page(answer.fds.at(0).get(), answer.header.map_offset, 4096, PROT_READ | PROT_WRITE),
          directory(answer.fds.at(1).get(), 0, std::size_t{1} << 20, PROT_READ),
          context(answer.header.need_va),
          generation(static_cast<std::uint32_t>(answer.header.need_length)) {}
    Mapped<dingo_direct_page> page;
    Mapped<dingo_direct_directory> directory;
    std::uint64_t context;
    std::uint32_t generation;
};

TEST(UverbsDirect, LinkShowsThePageOfTheConnectedQp) {
    ConnectedOwner owner;
    const dingo_direct_claim claim = owner.claim();
    Peer peer(owner);
    const Answer answer = peer.link(claim);
    ASSERT_EQ(answer.result(), 0);
    ASSERT_EQ(answer.fds.size(), 4U);
    const Link link(answer);
    ASSERT_TRUE(link.page.ok() && link.directory.ok());
    EXPECT_EQ(link.page->open, link.generation);
    EXPECT_NE(link.generation, 0U);
    EXPECT_EQ(link.page->has_rq, 1);
    EXPECT_EQ(link.page->has_indexes, 1);
    EXPECT_EQ(link.page->access, 0xfU & DINGO_ACC_ALL);
    EXPECT_EQ(link.page->reads, 4U);
    EXPECT_EQ(link.directory->on, 1U);
}

TEST(UverbsDirect, OnlyTheCardWritesADirectory) {
    ConnectedOwner owner;
    Peer peer(owner);
    const Answer answer = peer.link(owner.claim());
    ASSERT_EQ(answer.result(), 0);
    const std::string path = "/proc/self/fd/" + std::to_string(answer.fds.at(1).get());
    const UniqueFd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(again) << "the seal alone keeps it";
    EXPECT_FALSE(Mapped<char>(again.get(), 0, 4096, PROT_READ | PROT_WRITE).ok());
    EXPECT_EQ(::pwrite(again.get(), "x", 1, 0), -1);
}

TEST(UverbsDirect, AClaimThatDoesNotFitIsToBeTriedAgain) {
    ConnectedOwner owner;
    const dingo_direct_claim good = owner.claim();
    Peer peer(owner);
    for (auto spoil : std::vector<void (*)(dingo_direct_claim&)>{
             [](dingo_direct_claim& c) { c.qpn ^= 1; },
             [](dingo_direct_claim& c) { c.mac[5] ^= 1; },
             [](dingo_direct_claim& c) { c.path_mtu = 5; },
             [](dingo_direct_claim& c) { c.sq_psn ^= 1; },
             [](dingo_direct_claim& c) { c.dest_qpn ^= 0x10000; }}) {
        dingo_direct_claim claim = good;
        spoil(claim);
        const Answer answer = peer.link(claim);
        EXPECT_EQ(answer.result(), -EAGAIN);
        EXPECT_TRUE(answer.fds.empty());
    }
    Request cut(DINGO_UVERBS_DIRECT_LINK);
    cut.payload.resize(sizeof good - 1);
    EXPECT_EQ(peer.client.send(cut).result(), -EINVAL);
    EXPECT_EQ(peer.link(good).result(), 0);
}

TEST(UverbsDirect, OnlyAConnectedRcQpOfAClientThatWantsItHasAPage) {
    Owner owner;
    dingo_qp_direct_resp resp{};
    EXPECT_EQ(owner.open(0, resp), -EOPNOTSUPP) << "its client has not asked for a directory";
    EXPECT_EQ(owner.start(), 0);
    EXPECT_EQ(owner.open(0, resp), -EINVAL) << "RESET";
    EXPECT_EQ(owner.verbs.create_qp(owner.pd, owner.cq, -1, kUd), 0);
    EXPECT_EQ(owner.open_qp(owner.verbs.handle, resp), -EOPNOTSUPP);
    owner.connect();
    EXPECT_EQ(owner.open(0, resp), 0);
    const std::uint32_t generation = resp.generation;
    EXPECT_EQ(owner.open(0, resp), 0);
    EXPECT_EQ(resp.generation, generation) << "it was open";
}

TEST(UverbsDirect, AQpThatLeavesRtsIsClosed) {
    ConnectedOwner owner;
    const dingo_direct_claim claim = owner.claim();
    Peer peer(owner);
    const Link link(peer.link(claim));
    EXPECT_EQ(owner.to_error(1), 0);
    EXPECT_EQ(load(link.page->open), 0U);
    EXPECT_EQ(peer.link(claim).result(), -EAGAIN);
    EXPECT_EQ(owner.verbs.destroy_qp(owner.qp[1]), 0);
    EXPECT_EQ(peer.link(claim).result(), -EAGAIN);
}

TEST(UverbsDirect, FaultsOfTheWireSwitchItOff) {
    ConnectedOwner owner;
    Peer peer(owner);
    const Link link(peer.link(owner.claim()));
    owner.card.control(R"({"cmd":"faults","spec":"drop=0.5"})");
    EXPECT_EQ(load(link.directory->on), 0U);
    owner.card.control(R"({"cmd":"faults","spec":""})");
    EXPECT_EQ(load(link.directory->on), 1U);
    owner.card.control(R"({"cmd":"link","up":false})");
    EXPECT_EQ(load(link.directory->on), 0U);
    owner.card.control(R"({"cmd":"link","up":true})");
    EXPECT_EQ(load(link.directory->on), 1U);
}

/// A region of the owner, and a linked peer.
struct WithRegion : ConnectedOwner {
    explicit WithRegion(std::uint32_t access = 7) {
        EXPECT_EQ(reg_mr(memory, access), 0);
        peer.emplace(*this);
        link.emplace(peer->link(claim()));
    }
    const dingo_direct_region& region() const {
        return link->directory.operator->()->regions[key >> DINGO_MR_INDEX_SHIFT];
    }
    /// Binds a window to the region by QP 1. Returns the status of the completion, or -1.
    int bind(std::uint32_t window) {
        const Ring sq(client, verbs.qp_map.sq), completions(client, verbs.cq_map.ring);
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = DINGO_WR_BIND_MW;
        ctrl.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
        ctrl.blocks = 1;
        dingo_wqe_bind request{};
        request.addr = region().iova;
        request.length = region().length;
        request.mr_key = key;
        request.mw_key = window;
        request.new_key = window ^ 1;
        request.access = DINGO_ACC_REMOTE_READ;
        std::memset(sq.entry(0), 0, 64);
        std::memcpy(sq.entry(0), &ctrl, sizeof ctrl);
        std::memcpy(sq.entry(0) + sizeof ctrl, &request, sizeof request);
        const std::uint64_t one = 1;
        if (sq.ring(DINGO_DB_SQ, qpn[1], 1)) {
            EXPECT_EQ(::write(verbs.context.kick_fd, &one, sizeof one), 8);
        }
        for (int ms = 0; ms < 20'000; ++ms) {
            dingo_cqe cqe;
            std::memcpy(&cqe, completions.entry(0), sizeof cqe);
            if ((cqe.owner & 1U) != 0) {
                return cqe.status;
            }
            std::this_thread::sleep_for(1ms);
        }
        return -1;
    }
    bool shown() const { return load(region().seq) != 0 && load(region().seq) % 2 == 0; }

    SharedMemory memory{"dingo-test", 8192};
    std::optional<Peer> peer;
    std::optional<Link> link;
};

TEST(UverbsDirect, ARegionIsShownWithItsFileUntilItIsDeregistered) {
    WithRegion o;
    ASSERT_TRUE(o.shown());
    EXPECT_EQ(o.region().key, o.key);
    EXPECT_EQ(o.region().pdn, o.link->page->pdn);
    EXPECT_EQ(o.region().access, std::uint32_t{DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE |
                                               DINGO_ACC_REMOTE_READ});
    EXPECT_EQ(o.region().length, 8192U);
    const Answer file = o.peer->file(o.link->context, o.region().file);
    ASSERT_EQ(file.result(), 0);
    const Mapped<char> there(file.fds.at(0).get(), o.region().offset, 8192, PROT_READ | PROT_WRITE);
    ASSERT_TRUE(there.ok());
    *there.operator->() = 'x';
    EXPECT_EQ(o.memory.bytes()[0], std::byte{'x'});
    EXPECT_EQ(o.peer->file(o.link->context, o.region().file + 1).result(), -ENOENT);
    EXPECT_EQ(o.peer->file(o.link->context + 1, o.region().file).result(), -ENOENT);
    EXPECT_EQ(o.peer->file(o.link->context + (1ULL << 32), 0).result(), -ENOENT);
    EXPECT_EQ(o.verbs.destroy_mr(o.mr), 0);
    EXPECT_FALSE(o.shown());
}

TEST(UverbsDirect, DeregistrationWaitsForAPeerThatIsBusyAndForNobodyElse) {
    WithRegion o;
    store(o.link->page->busy, 1);
    auto gone = std::async(std::launch::async, [&] { return o.verbs.destroy_mr(o.mr); });
    EXPECT_EQ(gone.wait_for(100ms), std::future_status::timeout);
    EXPECT_FALSE(o.shown());
    Client other(o.card.directory);
    EXPECT_EQ(other.greeting, 0) << "others are served";
    store(o.link->page->busy, 3);  // another request, which began later
    EXPECT_EQ(gone.get(), 0);
}

TEST(UverbsDirect, APeerThatStaysBusyMakesItFailAndTheRegionStays) {
    WithRegion o;
    store(o.link->page->busy, 1);
    EXPECT_EQ(o.verbs.destroy_mr(o.mr), -EBUSY);
    EXPECT_TRUE(o.shown());
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(o.verbs.destroy_mr(o.mr), -EBUSY);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 900ms) << "it is not waited for again";
    o.peer->client.close();
    int error = -EBUSY;
    for (int i = 0; i < 500 && error == -EBUSY; ++i) {
        std::this_thread::sleep_for(10ms);
        error = o.verbs.destroy_mr(o.mr);
    }
    EXPECT_EQ(error, 0) << "a peer that has gone is busy with nothing";
}

TEST(UverbsDirect, ARegionUnderAWindowStaysShown) {
    WithRegion o(7 | IB_UVERBS_ACCESS_MW_BIND);
    auto alloc = Verbs::zeroed<ib_uverbs_alloc_mw>();
    alloc.pd_handle = o.pd;
    alloc.mw_type = 1;
    std::array<std::uint32_t, 2> window{};  // handle and key
    ASSERT_GE(o.client.command(IB_USER_VERBS_CMD_ALLOC_MW, alloc, window), 0);
    ASSERT_EQ(o.bind(window[1]), DINGO_WCS_SUCCESS);
    EXPECT_EQ(o.verbs.destroy_mr(o.mr), -EBUSY);
    EXPECT_TRUE(o.shown());
}

TEST(UverbsDirect, APeerThatUsesAnotherRegionIsNotWaitedFor) {
    WithRegion o;
    store(o.link->page->busy, 1);
    store(o.link->page->key, o.key ^ 0x100);
    EXPECT_EQ(o.verbs.destroy_mr(o.mr), 0);
}

TEST(UverbsDirect, AQpDoesNotWaitForThePeersOfOthers) {
    WithRegion o;
    store(o.link->page->busy, 1);
    auto gone = std::async(std::launch::async, [&] { return o.verbs.destroy_qp(o.qp[0]); });
    EXPECT_EQ(gone.wait_for(900ms), std::future_status::ready);
    EXPECT_EQ(gone.get(), 0);
}

TEST(UverbsDirect, AQpIsDestroyedThoughItsPeerStaysBusy) {
    WithRegion o;
    store(o.link->page->busy, 1);
    EXPECT_EQ(o.verbs.destroy_qp(o.qp[1]), 0);
    EXPECT_EQ(load(o.link->page->open), 0U);
}

TEST(UverbsDirect, WhatProvidersHaveDoneIsCounted) {
    WithRegion o;
    std::atomic_ref<std::uint64_t>(o.link->page->rx_writes).store(3);
    std::atomic_ref<std::uint64_t>(o.link->page->rx_write_bytes).store(300);
    const auto counters = o.card.stats()["counters"];
    EXPECT_EQ(counters["rx_write_requests"], 3);
    EXPECT_EQ(counters["rdma_rx_bytes"], 300);
    EXPECT_EQ(o.verbs.destroy_qp(o.qp[1]), 0);
    EXPECT_EQ(o.card.stats()["counters"]["rx_write_requests"], 3);
}

}  // namespace
}  // namespace dingo::uverbs::test
