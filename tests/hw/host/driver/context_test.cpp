// SPDX-License-Identifier: BSD-2-Clause
//
// Contexts, doorbell pages, objects and their numbers.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "base/elsewhere.h"
#include "dingo/packet/build.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

std::size_t open_descriptors() {
    while (closing_elsewhere() != 0) {
        std::this_thread::yield();
    }
    std::size_t n = 0;
    DIR* dir = ::opendir("/proc/self/fd");
    while (::readdir(dir) != nullptr) {
        ++n;
    }
    ::closedir(dir);
    return n;
}

std::uint64_t counter(Host& host, std::string_view name) {
    for (const auto& [known, value] : host.driver.card_counters()) {
        if (known == name) {
            return value;
        }
    }
    return ~std::uint64_t{0};
}

using ContextTest = TwoCards;

TEST_F(ContextTest, MmapTakesOnlyWhatWasGivenOut) {
    Client c(*a);
    EXPECT_EQ(errno_of([&] { c.context->mmap(0, kPageBytes); }), EINVAL);
    EXPECT_EQ(errno_of([&] { c.context->mmap(c.context_resp.status_mmap, 2 * kPageBytes); }),
              EINVAL);
    EXPECT_EQ(errno_of([&] { c.context->mmap(c.context_resp.status_mmap, kPageBytes); }), 0);
    EXPECT_EQ(errno_of([&] {
                  ClientMap(*c.context, c.context_resp.status_mmap, kPageBytes,
                            PROT_READ | PROT_WRITE);
              }),
              EPERM)
        << "the status page is read-only";
}

TEST_F(ContextTest, AProviderThatCannotKickIsRefused) {
    dingo_alloc_ucontext_req req{};
    req.kick_modes = 1U << DINGO_KICK_MMIO;
    Udata udata{bytes_of(req), {}, {}};
    EXPECT_EQ(errno_of([&] { Context c(a->driver, udata); }), EOPNOTSUPP);
    udata.in = {};
    EXPECT_EQ(errno_of([&] { Context c(a->driver, udata); }), EINVAL);
}

TEST_F(ContextTest, PagesAreFilesOfTheirOwn) {
    Client first(*a), second(*a);
    first.cq_ring.page.data()[DINGO_DB_PAGE_SIZE - 1] = std::byte{0x77};
    EXPECT_EQ(second.cq_ring.page.data()[DINGO_DB_PAGE_SIZE - 1], std::byte{0});
}

TEST_F(ContextTest, AReusedPageGetsNoStaleDoorbell) {
    auto first = std::make_unique<Client>(*a);
    const auto dropped = [&] { return counter(*a, "db_dropped"); };
    const std::uint32_t page = first->context->doorbells().pages().at(0)->index();
    ClientRing old(*first->context, first->cq_ring.map);
    first->arm_cq();
    first->kick();
    settle();
    first.reset();
    Client second(*a);
    ASSERT_EQ(second.context->doorbells().pages().at(0)->index(), page);
    const std::uint64_t before = dropped();
    old.ring(DINGO_DB_CQ, 0, 99);  // into a file that belongs to no context
    second.kick();
    settle();
    EXPECT_EQ(dropped(), before);
    const auto* slots = reinterpret_cast<const std::uint64_t*>(second.cq_ring.page.data());
    EXPECT_EQ(slots[second.cq_ring.map.db_slot], 0U);
}

TEST_F(ContextTest, MoreQueuesThanAPageHasSlots) {
    Client c(*a);
    std::vector<Client::QpRings> qps;
    for (int n = 0; n < 300; ++n) {
        qps.push_back(c.make_qp());
    }
    EXPECT_EQ(c.context->doorbells().pages().size(), 2U);
    std::set<std::uint32_t> numbers;
    for (const auto& qp : qps) {
        numbers.insert(qp.qp->number());
    }
    EXPECT_EQ(numbers.size(), qps.size());
    auto remote = Client(*b);
    auto peer = remote.make_qp();
    connect(qps.back(), peer);
    dingo_sge sge{};
    c.post_write(qps.back(), sge, 0, 0);  // no bytes: needs no region
    c.kick();
    settle();
    EXPECT_EQ(c.poll_cq().value().status, DINGO_WCS_SUCCESS);
}

TEST_F(ContextTest, MoreCompletionQueuesThanAPageHasSlots) {
    Client c(*a);
    std::vector<std::unique_ptr<Cq>> cqs;
    std::set<std::pair<std::uint64_t, std::uint32_t>> slots;
    const dingo_create_cq_req req{};
    for (std::uint32_t n = 0; n < DINGO_DB_SLOTS; ++n) {
        Udata udata{bytes_of(req), {}, {}};
        cqs.push_back(std::make_unique<Cq>(a->driver, *c.context, 1, 0, 0, c.listener, udata));
        const auto ring = response_of<dingo_create_cq_resp>(udata).ring;
        ASSERT_GE(ring.db_slot, DINGO_DB_FIRST_SLOT);
        ASSERT_LT(ring.db_slot, DINGO_DB_SLOTS);
        slots.emplace(ring.db_mmap, ring.db_slot);
    }
    EXPECT_EQ(slots.size(), cqs.size());
    EXPECT_EQ(c.context->doorbells().pages().size(), 2U);
}

TEST_F(ContextTest, NumbersOfCompletionQueuesComeBack) {
    Client c(*a);
    const auto taken = [&] { return a->driver.cqs().in_use(); };
    const std::size_t before = taken();
    for (int n = 0; n < 3; ++n) {
        const dingo_create_cq_req req{};
        Udata udata{bytes_of(req), {}, {}};
        Cq cq(a->driver, *c.context, 1, 0, 0, c.listener, udata);
        EXPECT_EQ(taken(), before + 1);
    }
    EXPECT_EQ(taken(), before);
}

TEST_F(ContextTest, ACardWithoutTimestampsMakesQueuesWithoutThem) {
    auto more_wires = make_loop_pair();
    Host plain(*more_wires.first, 0x02'44'49'00'00'0C, {}, DINGO_CAP_TIMESTAMP);
    constexpr std::uint32_t kTimestamps = 1;  // IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION
    const auto make = [](Client& c, std::uint32_t flags) {
        const dingo_create_cq_req req{};
        Udata udata{bytes_of(req), {}, {}};
        return errno_of([&] { Cq cq(c.host.driver, *c.context, 1, 0, flags, c.listener, udata); });
    };
    Client of_plain(plain), of_a(*a);
    EXPECT_EQ(make(of_plain, 0), 0);
    EXPECT_EQ(make(of_plain, kTimestamps), EOPNOTSUPP);
    EXPECT_EQ(make(of_a, kTimestamps), 0);
    EXPECT_EQ(make(of_a, 2 * kTimestamps), EOPNOTSUPP);
}

TEST_F(ContextTest, TenThousandQueuePairsLeaveNothingBehind) {
    Client c(*a);
    c.make_qp();
    const std::size_t descriptors = open_descriptors();
    const std::size_t windows = a->driver.bus().size();
    const std::size_t mappings = c.context->published();
    for (int n = 0; n < 10'000; ++n) {
        c.make_qp();
    }
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(a->driver.bus().size(), windows);
    EXPECT_EQ(c.context->published(), mappings);
    EXPECT_EQ(c.context->doorbells().pages().size(), 1U);
}

/// Allows this process to open only `more` further descriptors.
class FewDescriptors {
  public:
    explicit FewDescriptors(std::size_t more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        // Free numbers between the open descriptors must not be available.
        const auto open = [] { return open_descriptors() - kOfTheLook; };
        do {
            between_.emplace_back(::open("/", O_RDONLY | O_CLOEXEC));
        } while (static_cast<std::size_t>(between_.back().get()) + 1 != open());
        between_.pop_back();
        rlimit low = before_;
        low.rlim_cur = open() + more;
        ::setrlimit(RLIMIT_NOFILE, &low);
    }
    ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

  private:
    static constexpr std::size_t kOfTheLook = 3;  // the directory, "." and ".."
    rlimit before_{};
    std::vector<UniqueFd> between_;
};

// Each step of creating an object may be the one that fails.
TEST_F(ContextTest, AnObjectForWhichDescriptorsAreMissingLeavesNothing) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan looks at memory through a pipe, for which there are no descriptors";
#endif
    const std::vector<std::pair<const char*, std::function<void(Host&, Client&)>>> makers{
        {"context",
         [](Host& host, Client&) {
             dingo_alloc_ucontext_req req{};
             req.kick_modes = 1U << DINGO_KICK_FD;
             Udata udata{bytes_of(req), {}, {}};
             const Context context(host.driver, udata);
         }},
        {"client with a CQ", [](Host& host, Client&) { const Client more(host); }},
        {"device memory",
         [](Host& host, Client& c) { const Dm dm(host.driver, *c.context, 5000, 0); }},
        {"map", [](Host&, Client& c) { c.context->mmap(c.context_resp.status_mmap, kPageBytes); }},
        {"large CQ",
         [](Host&, Client& c) {
             Udata none;
             c.cq->resize(5000, none);
         }},
    };
    for (const auto& [what, make] : makers) {
        Client c(*a);
        const auto used = [&] {
            Driver& d = a->driver;
            return std::vector<std::size_t>{
                d.bus().size(),    d.doorbell_pages().in_use(), d.cqs().in_use(),
                d.pdns().in_use(), c.context->published(),      c.context->queue_memory().files(),
                open_descriptors()};
        };
        const auto before = used();
        const auto make_with = [&, m = make](std::size_t more) {
            const FewDescriptors limit(more);
            return errno_of([&] { m(*a, c); });
        };
        std::size_t more = 0;
        for (int error = 1; error != 0; ++more) {
            error = make_with(more);
            EXPECT_TRUE(error == ENOMEM || error == EMFILE || (error == 0 && more != 0))
                << what << ' ' << error;
            ASSERT_LT(more, 512U) << what;  // a quarter of the limit is reserved
            if (error != 0) {
                EXPECT_EQ(used(), before) << what << " with " << more;
            }
        }
    }
}

TEST_F(ContextTest, AllQueuePairsThatAreAdvertisedCanBeMade) {
    const DeviceAttr device = a->driver.query_device();
    const std::size_t windows = a->driver.bus().size();
    {
        Client c(*a);
        const FewDescriptors limit(800);
        QpInit init;
        init.cap = {16, 16, 2, 2, 0};
        init.send_cq = init.recv_cq = c.cq.get();
        dingo_create_qp_req req{};
        req.log_sq = 6;
        req.log_rq = 4;
        req.log_rq_stride = 6;
        std::vector<std::unique_ptr<Qp>> qps;
        const auto make = [&] {
            Udata udata{bytes_of(req), {}, {}};
            return errno_of([&] {
                qps.push_back(
                    std::make_unique<Qp>(a->driver, *c.context, *c.pd, init, c.listener, udata));
            });
        };
        for (std::uint32_t n = 0; n < device.max_qp; ++n) {
            ASSERT_EQ(make(), 0) << n;
        }
        EXPECT_EQ(make(), ENOMEM);
        qps.pop_back();
        EXPECT_EQ(make(), 0);
    }
    EXPECT_EQ(a->driver.bus().size(), windows);
}

TEST_F(ContextTest, ANewQueueIsZeroedWhereverItLies) {
    Client c(*a);
    auto keeps_the_file = c.make_qp();
    auto first = c.make_qp();
    const std::size_t files = c.context->queue_memory().files();
    std::memset(first.sq.memory.data(), 0xff, first.sq.map.ring_bytes);
    std::memset(first.rq.memory.data(), 0xff, first.rq.map.ring_bytes);
    first = {};
    for (int n = 0; n < 8; ++n) {
        auto next = c.make_qp();
        for (const ClientRing* ring : {&next.sq, &next.rq}) {
            EXPECT_TRUE(std::all_of(ring->memory.data(), ring->memory.data() + ring->map.ring_bytes,
                                    [](std::byte value) { return value == std::byte{0}; }));
        }
    }
    EXPECT_EQ(c.context->queue_memory().files(), files);
}

TEST_F(ContextTest, ClientsShareNoFileOfQueues) {
    Client first(*a), second(*a);
    const auto inode = [](Client& c) {
        const auto mapping = c.context->mmap(c.cq_ring.map.ring_mmap, c.cq_ring.map.ring_bytes);
        struct stat st {};
        EXPECT_EQ(::fstat(mapping.fd.get(), &st), 0);
        return st.st_ino;
    };
    EXPECT_NE(inode(first), inode(second));
}

TEST_F(ContextTest, ManyContextsComeAndGo) {
    const std::size_t descriptors = open_descriptors();
    {
        std::vector<std::unique_ptr<Client>> clients;
        for (int n = 0; n < 100; ++n) {
            clients.push_back(std::make_unique<Client>(*a));
        }
        EXPECT_EQ(a->driver.doorbell_pages().in_use(), 101U);
    }
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(a->driver.doorbell_pages().in_use(), 1U);
}

TEST_F(ContextTest, ResizeMovesTheRing) {
    Client c(*a);
    Udata udata;
    c.cq->resize(1000, udata);
    EXPECT_GE(c.cq->entries(), 1000U);
    const auto resp = response_of<dingo_resize_cq_resp>(udata);
    EXPECT_EQ(resp.switch_index, 0U);
    EXPECT_EQ(resp.ring.db_slot, c.cq_ring.map.db_slot);
    EXPECT_EQ(errno_of([&] { c.context->mmap(c.cq_ring.map.ring_mmap, c.cq_ring.map.ring_bytes); }),
              EINVAL)
        << "the old ring is gone";
    ClientRing(*c.context, resp.ring);
}

TEST_F(ContextTest, ResizingForEverKeepsOneRingThatWasLeft) {
    Client c(*a);
    const auto resize = [&](int n) {
        Udata udata;
        c.cq->resize(n % 2 == 0 ? 100 : 5000, udata);
        return response_of<dingo_resize_cq_resp>(udata).ring;
    };
    resize(0);
    resize(1);
    const std::size_t windows = a->driver.bus().size();
    const std::size_t files = c.context->queue_memory().files();
    const std::size_t mappings = c.context->published();
    for (int n = 2; n < 600; ++n) {
        resize(n);
    }
    EXPECT_EQ(a->driver.bus().size(), windows);
    EXPECT_LE(c.context->queue_memory().files(), files + 1);
    EXPECT_EQ(c.context->published(), mappings);
}

TEST_F(ContextTest, TheRingBeforeAResizeStaysUntilTheNext) {
    Client c(*a);
    c.cq_ring.memory.data()[0] = std::byte{0x77};  // an unread entry
    Udata udata;
    c.cq->resize(100, udata);
    EXPECT_EQ(c.cq_ring.memory.data()[0], std::byte{0x77});
}

// Otherwise a client with one message in flight would ring a doorbell for each completion before
// its next request. ibv_resize_cq(3) uses the number reported to the client.
TEST_F(ContextTest, ASmallCompletionQueueHasARingOfOnePage) {
    Client c(*a);
    const dingo_create_cq_req req{};
    Udata udata{bytes_of(req), {}, {}};
    Cq cq(a->driver, *c.context, 1, 0, 0, c.listener, udata);
    const auto resp = response_of<dingo_create_cq_resp>(udata);
    EXPECT_EQ(cq.entries(), 3U);
    EXPECT_EQ(std::size_t{DINGO_CQE_SIZE} << resp.ring.log_size, 4096U);
    EXPECT_EQ(resp.ring.ring_bytes, 4096U);

    udata = Udata{};
    cq.resize(7, udata);
    const auto resized = response_of<dingo_resize_cq_resp>(udata);
    EXPECT_EQ(cq.entries(), 12U);
    EXPECT_EQ(resized.ring.log_size, resp.ring.log_size);
}

TEST_F(ContextTest, SharedReceiveQueue) {
    Client c(*a);
    dingo_create_srq_req req{};
    req.log_size = 4;
    req.log_stride = 6;
    Udata udata{bytes_of(req), {}, {}};
    std::uint32_t wr = 10, sge = 2;
    Srq srq(a->driver, *c.context, *c.pd, wr, sge, c.listener, udata);
    EXPECT_EQ(wr, 16U);
    EXPECT_EQ(sge, 3U);
    EXPECT_EQ(srq.query().max_wr, wr) << "what create said";
    EXPECT_EQ(srq.query().max_sge, sge);
    Udata none;
    srq.modify(2, 0, 16, none);
    settle();
    EXPECT_EQ(c.listener.events, std::vector<int>{15}) << "it is empty: the limit is reached";
    EXPECT_EQ(srq.query().limit, 0U) << "it fires once";
    EXPECT_EQ(errno_of([&] { srq.modify(2, 0, 17, none); }), EINVAL);
    EXPECT_EQ(errno_of([&] { srq.modify(1, 20, 0, none); }), EOPNOTSUPP);
    wr = 17;
    udata = Udata{bytes_of(req), {}, {}};
    EXPECT_EQ(errno_of([&] { Srq more(a->driver, *c.context, *c.pd, wr, sge, c.listener, udata); }),
              EINVAL);
    const std::uint64_t refused = counter(*a, "admin_errors");
    wr = 10;
    for (const std::uint8_t bad : {4, 9}) {
        req.log_stride = bad;
        udata = Udata{bytes_of(req), {}, {}};
        EXPECT_EQ(
            errno_of([&] { Srq more(a->driver, *c.context, *c.pd, wr, sge, c.listener, udata); }),
            EINVAL);
    }
    EXPECT_EQ(counter(*a, "admin_errors"), refused) << "the card is not asked";
}

TEST_F(ContextTest, TheLimitOfASharedReceiveQueueIsItsOwn) {
    Client c(*a);
    dingo_create_srq_req req{};
    req.log_size = 4;
    req.log_stride = 6;
    std::uint32_t wr = 10, sge = 2;
    Udata first_data{bytes_of(req), {}, {}}, second_data{bytes_of(req), {}, {}};
    Srq first(a->driver, *c.context, *c.pd, wr, sge, c.listener, first_data);
    Srq second(a->driver, *c.context, *c.pd, wr, sge, c.listener, second_data);
    const auto resp = response_of<dingo_create_srq_resp>(second_data);
    const ClientRing ring(*c.context, resp.ring);
    ring.ring(DINGO_DB_SRQ, resp.srqn, 8);  // eight receives without a buffer
    c.kick();
    settle();
    Udata none;
    second.modify(2, 0, 4, none);
    settle();
    EXPECT_EQ(second.query().limit, 4U);
    EXPECT_EQ(first.query().limit, 0U);
    EXPECT_TRUE(c.listener.events.empty()) << "eight are more than four";
}

TEST_F(ContextTest, QueuePairChecks) {
    Client c(*a);
    auto make = [&](QpInit init, dingo_create_qp_req req) {
        Udata udata{bytes_of(req), {}, {}};
        return errno_of([&] { Qp qp(a->driver, *c.context, *c.pd, init, c.listener, udata); });
    };
    QpInit init;
    init.cap = {16, 16, 1, 1, 0};
    init.send_cq = init.recv_cq = c.cq.get();
    dingo_create_qp_req req{};
    req.log_sq = 4;
    req.log_rq = 4;
    req.log_rq_stride = 5;
    EXPECT_EQ(make(init, req), 0);
    QpInit bad = init;
    bad.type = 8;
    EXPECT_EQ(make(bad, req), EOPNOTSUPP) << "raw packet";
    bad = init;
    bad.create_flags = 1;
    EXPECT_EQ(make(bad, req), EOPNOTSUPP);
    bad = init;
    bad.cap.max_send_wr = 8193;
    EXPECT_EQ(make(bad, req), EINVAL);
    dingo_create_qp_req small = req;
    small.log_rq = 3;
    EXPECT_EQ(make(init, small), EINVAL);
    dingo_create_qp_req large = req;
    large.log_sq = DINGO_MAX_LOG_SQ;
    EXPECT_EQ(make(init, large), 0);
    large.log_sq = DINGO_MAX_LOG_SQ + 1;
    EXPECT_EQ(make(init, large), EINVAL);
    dingo_create_srq_req srq_req{};
    srq_req.log_stride = 5;
    Udata srq_udata{bytes_of(srq_req), {}, {}};
    std::uint32_t wr = 1, sge = 1;
    Srq srq(a->driver, *c.context, *c.pd, wr, sge, c.listener, srq_udata);
    bad = init;
    bad.type = DINGO_QPT_UC;
    bad.srq = &srq;
    dingo_create_qp_req shared = req;
    shared.log_rq = shared.log_rq_stride = 0;
    EXPECT_EQ(make(bad, shared), EINVAL) << "UC with an SRQ, ibv_create_qp(3)";
    bad.type = DINGO_QPT_RC;
    EXPECT_EQ(make(bad, shared), 0);
    Udata none;
    auto qp = c.make_qp();
    QpAttr attr;
    attr.qp_state = DINGO_QPS_RTS;
    EXPECT_EQ(errno_of([&] { qp.qp->modify(attr, DINGO_QPM_STATE, none); }), EINVAL);
    EXPECT_EQ(errno_of([&] { qp.qp->modify(attr, 1U << 14, none); }), EOPNOTSUPP);
    attr.qp_state = DINGO_QPS_INIT;
    attr.port_num = 1;
    const auto init_with = [&](std::uint32_t access) {
        attr.qp_access_flags = access;
        return errno_of([&] {
            qp.qp->modify(
                attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_ACCESS,
                none);
        });
    };
    EXPECT_EQ(init_with(1U << 10), EOPNOTSUPP) << "nobody knows it";
    EXPECT_EQ(qp.qp->query().qp_state, DINGO_QPS_RESET);
    EXPECT_EQ(init_with(1U << 8 | 1U << 9), 0) << "FLUSH_GLOBAL, FLUSH_PERSISTENT: no MR has them";
    EXPECT_EQ(qp.qp->query().qp_access_flags, 0U);
    attr = {};
    attr.qp_state = DINGO_QPS_RESET;
    qp.qp->modify(attr, DINGO_QPM_STATE, none);
    EXPECT_EQ(qp.qp->query().qp_state, DINGO_QPS_RESET);
}

TEST_F(ContextTest, KickDescriptorIsTheClientsToSpoil) {
    Client c(*a);
    // Made blocking, and drained by the client before the card reads it.
    ASSERT_EQ(::fcntl(c.kick_fd.get(), F_SETFL, 0), 0);
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(c.kick_fd.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    c.context->kicked();
    pollfd ready{c.context->kick_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 0), 0) << "drained";
    c.context->kicked();  // must not block
}

TEST_F(ContextTest, ASleepingCardIsKickedByEachPage) {
    Client c(*a);
    Client remote(*b);
    auto qa = c.make_qp();
    auto qb = remote.make_qp();
    connect(qa, qb);
    const auto need_kick = [&] {
        std::uint32_t word = 0;
        std::memcpy(&word, qa.sq.page.data() + DINGO_DB_NEED_KICK_OFFSET, sizeof word);
        return word;
    };
    c.kick();
    settle();
    EXPECT_EQ(need_kick(), 0U) << "an active page of a card that is awake";
    ASSERT_TRUE(a->card.prepare_sleep(now));
    EXPECT_EQ(need_kick(), 1U);
    c.post_write(qa, {}, 0, 0);
    a->card.woke();
    c.kick();
    settle();
    EXPECT_EQ(c.poll_cq().value().status, DINGO_WCS_SUCCESS);
}

TEST_F(ContextTest, DeviceAndPort) {
    const DeviceAttr device = a->driver.query_device();
    EXPECT_EQ(device.vendor_id, DINGO_PCI_VENDOR_ID);
    EXPECT_EQ(device.timestamp_mask, 0xffff'ffff'ffffULL);
    EXPECT_GT(device.max_qp, 0U);
    EXPECT_LE(device.max_mr_size, BusMap::kMaxWindow);
    const PortAttr port = a->driver.query_port();
    EXPECT_EQ(port.state, 4);
    EXPECT_EQ(port.active_mtu, 5);
    EXPECT_EQ(port.active_speed, 32);
    EXPECT_EQ(port.active_width, 2);
    EXPECT_FALSE(a->driver.card_counters().empty());
    const auto& gids = a->driver.gids();
    ASSERT_EQ(gids.size(), 3U);
    EXPECT_EQ(packet::to_string(packet::Gid{gids[0].gid}), "fe80::44:49ff:fe00:a");
    EXPECT_EQ(packet::to_string(packet::Gid{gids[1].gid}), "10.77.0.1");
    EXPECT_EQ(packet::to_string(packet::Gid{gids[2].gid}), "fd77::1");
}

TEST_F(ContextTest, PortCountsPacketsWithWrongKeys) {
    Client c(*a);
    Client::QpRings qp = c.make_qp(4);
    Udata none;
    QpAttr attr;
    attr.qp_state = DINGO_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = 0x1234;
    qp.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_QKEY,
                  none);
    attr.qp_state = DINGO_QPS_RTR;
    qp.qp->modify(attr, DINGO_QPM_STATE, none);

    packet::NetworkPath path;
    path.dmac.bytes = {0x02, 0x44, 0x49, 0x00, 0x00, 0x0a};
    path.smac.bytes = {0x02, 0x44, 0x49, 0x00, 0x00, 0x0b};
    path.sgid.bytes = b->driver.gids().at(1).gid;
    path.dgid.bytes = a->driver.gids().at(1).gid;
    packet::TransportHeaders headers;
    headers.bth.opcode = packet::Opcode::kUdSendOnly;
    headers.bth.dest_qp = qp.qp->number();
    const auto receive = [&](std::uint16_t pkey, std::uint32_t qkey) {
        headers.bth.pkey = pkey;
        headers.deth.qkey = qkey;
        std::array<std::byte, 256> buffer;
        packet::FrameBuilder frame;
        ASSERT_TRUE(frame.begin(packet::HeaderTemplate(path), headers, 0, 0, buffer));
        a->card.on_frame(frame.finish());
    };
    for (int i = 0; i < 3; ++i) {
        receive(DINGO_PKEY_DEFAULT, 0x4321);
    }
    receive(0x8001, 0x1234);
    const PortAttr port = a->driver.query_port();
    EXPECT_EQ(port.qkey_viol_cntr, 3U);
    EXPECT_EQ(port.bad_pkey_cntr, 1U);
    EXPECT_EQ(b->driver.query_port().qkey_viol_cntr, 0U);
}

TEST_F(ContextTest, WirePulled) {
    std::vector<int> events;
    a->driver.on_port_event = [&](int event) { events.push_back(event); };
    a->card.set_link(false);
    settle();
    EXPECT_EQ(a->driver.query_port().state, 1);
    a->card.set_link(true);
    settle();
    EXPECT_EQ(events, (std::vector<int>{10, 9}));
}

}  // namespace
TEST_F(ContextTest, WatchedQueuesHavePagesOfTheirOwnAsLongAsTheyLive) {
    Client c(*a);
    const DoorbellScanner& scanner = *a->card.scanner();
    dingo_create_cq_req cq_req{};
    cq_req.comp_mask = DINGO_CREATE_WATCHED;
    Udata cq_udata{bytes_of(cq_req), {}, {}};
    auto cq = std::make_unique<Cq>(a->driver, *c.context, 16, 0, 0, c.listener, cq_udata);
    EXPECT_EQ(scanner.watched(), 1u);
    const auto cq_ring = response_of<dingo_create_cq_resp>(cq_udata).ring;
    EXPECT_NE(cq_ring.db_mmap, c.cq_ring.map.db_mmap);
    Udata nothing{};
    EXPECT_EQ(errno_of([&] { cq->resize(64, nothing); }), EINVAL);

    QpInit init;
    init.cap = {16, 16, 2, 2, 0};
    init.send_cq = cq.get();
    init.recv_cq = c.cq.get();
    dingo_create_qp_req req{};
    req.comp_mask = DINGO_CREATE_WATCHED;
    req.log_sq = 6;
    req.log_rq = 4;
    req.log_rq_stride = 6;
    Udata udata{bytes_of(req), {}, {}};
    auto qp = std::make_unique<Qp>(a->driver, *c.context, *c.pd, init, c.listener, udata);
    const auto resp = response_of<dingo_create_qp_resp>(udata);
    EXPECT_EQ(scanner.watched(), 2u) << "the receive queue is the host's";
    EXPECT_EQ(resp.sq.db_mmap, cq_ring.db_mmap);
    EXPECT_EQ(resp.rq.db_mmap, cq_ring.db_mmap);

    qp.reset();
    cq.reset();
    EXPECT_EQ(scanner.watched(), 0u);

    req.comp_mask = DINGO_CREATE_WATCHED << 1;
    Udata unknown{bytes_of(req), {}, {}};
    init.send_cq = c.cq.get();
    EXPECT_EQ(errno_of([&] { Qp(a->driver, *c.context, *c.pd, init, c.listener, unknown); }),
              EOPNOTSUPP);
}

}  // namespace dingo::uverbs::test
