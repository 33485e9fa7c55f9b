// SPDX-License-Identifier: BSD-2-Clause
#include "two_cards.h"

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "dingo/model.h"

namespace dingo::uverbs::test {
namespace {

const bool registered = [] {
    model::register_model_engine();
    return true;
}();

EngineConfig engine_config(std::uint64_t mac, std::uint64_t withheld) {
    EngineConfig config;
    config.mac = mac;
    config.withheld = withheld;
    config.memory_doorbells = true;
    return config;
}

}  // namespace

std::size_t mappings_of(std::string_view name) {
    std::ifstream maps("/proc/self/maps");
    std::size_t n = 0;
    for (std::string line; std::getline(maps, line);) {
        n += line.find(name) != std::string::npos ? 1 : 0;
    }
    return n;
}

ClientMap::ClientMap(Context& context, std::uint64_t offset, std::uint64_t length, int prot) {
    const Context::Mapping mapping = context.mmap(offset, length);
    void* at = ::mmap(nullptr, length, prot, MAP_SHARED, mapping.fd.get(),
                      static_cast<off_t>(mapping.offset));
    if (at == MAP_FAILED) {
        throw ErrnoError(errno);
    }
    at_ = {static_cast<std::byte*>(at), length};
}

ClientMap::~ClientMap() {
    if (!at_.empty()) {
        ::munmap(at_.data(), at_.size());
    }
}

ClientRing::ClientRing(Context& context, const dingo_ring_map& m)
    : map(m),
      memory(context, m.ring_mmap, m.ring_bytes, PROT_READ | PROT_WRITE),
      page(context, m.db_mmap, DINGO_DB_PAGE_SIZE, PROT_READ | PROT_WRITE) {}

void ClientRing::ring(std::uint32_t type, std::uint32_t object, std::uint32_t index,
                      std::uint32_t more) const {
    const std::uint64_t value = std::uint64_t{index} << 32 | more |
                                DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) |
                                DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, object);
    auto* slots = reinterpret_cast<std::uint64_t*>(page.data());
    std::atomic_ref<std::uint64_t>(slots[map.db_slot]).store(value);
    page.data()[DINGO_DB_DIRTY_OFFSET + map.db_slot * 8 / 64] = std::byte{1};
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

Host::Host(Wire& wire, std::uint64_t mac, std::vector<std::string> addresses,
           std::uint64_t withheld)
    : driver([&] {
          DriverConfig config;
          config.addresses = std::move(addresses);
          return config;
      }()),
      card("model", engine_config(mac, withheld), driver, wire) {
    EXPECT_TRUE(registered);
    driver.start(card);
}

Client::Client(Host& h) : host(h) {
    dingo_alloc_ucontext_req context_req{};
    context_req.kick_modes = 1U << DINGO_KICK_FD;
    Udata udata{bytes_of(context_req), {}, {}};
    context = std::make_unique<Context>(host.driver, udata);
    context_resp = response_of<dingo_alloc_ucontext_resp>(udata);
    kick_fd = std::move(udata.fds.at(0).fd);
    Udata pd_data;
    pd = std::make_unique<Pd>(host.driver, pd_data);
    const dingo_create_cq_req cq_req{};
    Udata cq_data{bytes_of(cq_req), {}, {}};
    cq = std::make_unique<Cq>(host.driver, *context, 100, 0, 0, listener, cq_data);
    const auto resp = response_of<dingo_create_cq_resp>(cq_data);
    cqn = resp.cqn;
    cq_ring = ClientRing(*context, resp.ring);
}

Client::QpRings Client::make_qp(std::uint8_t type) {
    QpInit init;
    init.type = type;
    init.cap = {16, 16, 2, 2, 0};
    init.send_cq = cq.get();
    init.recv_cq = cq.get();
    dingo_create_qp_req req{};
    req.log_sq = 6;
    req.log_rq = 4;
    req.log_rq_stride = 6;
    Udata udata{bytes_of(req), {}, {}};
    QpRings rings;
    rings.qp = std::make_unique<Qp>(host.driver, *context, *pd, init, listener, udata);
    const auto resp = response_of<dingo_create_qp_resp>(udata);
    rings.sq = ClientRing(*context, resp.sq);
    rings.rq = ClientRing(*context, resp.rq);
    return rings;
}

void Client::post_write(QpRings& qp, const dingo_sge& sge, std::uint64_t raddr,
                        std::uint32_t rkey) {
    std::byte* const block =
        qp.sq.memory.data() + (qp.producer % (1U << qp.sq.map.log_size)) * DINGO_SQ_BLOCK;
    std::memset(block, 0, DINGO_SQ_BLOCK);
    dingo_wqe_ctrl ctrl{};
    ctrl.opcode = DINGO_WR_WRITE;
    ctrl.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
    ctrl.blocks = 1;
    ctrl.num_sge = 1;
    dingo_wqe_rdma rdma{};
    rdma.raddr = raddr;
    rdma.rkey = rkey;
    std::memcpy(block, &ctrl, sizeof ctrl);
    std::memcpy(block + 16, &rdma, sizeof rdma);
    std::memcpy(block + 32, &sge, sizeof sge);
    qp.sq.ring(DINGO_DB_SQ, qp.qp->number(), ++qp.producer);
}

std::optional<dingo_cqe> Client::poll_cq() {
    dingo_cqe entry;
    const std::uint32_t size = 1U << cq_ring.map.log_size;
    std::memcpy(&entry, cq_ring.memory.data() + (consumer & (size - 1)) * DINGO_CQE_SIZE,
                sizeof entry);
    if ((entry.owner & 1U) != ((consumer & size) == 0 ? 1U : 0U)) {
        return std::nullopt;
    }
    ++consumer;
    return entry;
}

void Client::arm_cq() {
    arm_sn = (arm_sn + 1) & 3;
    cq_ring.ring(DINGO_DB_CQ, cqn, consumer, DINGO_PREP(DINGO_DOORBELL_WORD0_ARM_SN_MASK, arm_sn));
}

TwoCards::TwoCards() {
    a = std::make_unique<Host>(*wires.first, 0x02'44'49'00'00'0A,
                               std::vector<std::string>{"10.77.0.1/24", "fd77::1/64"});
    b = std::make_unique<Host>(*wires.second, 0x02'44'49'00'00'0B,
                               std::vector<std::string>{"10.77.0.2/24", "fd77::2/64"});
    settle();
}

void TwoCards::settle() {
    for (int idle = 0, rounds = 0; idle < 3 && rounds < 100'000; ++rounds) {
        const bool more_a = a->poll(now);
        const bool more_b = b->poll(now);
        idle = more_a || more_b ? 0 : idle + 1;
        for (const auto& host : {a.get(), b.get()}) {
            if (host->driver.far().is_waiting()) {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                idle = 0;
            }
        }
    }
}

dingo_cqe TwoCards::wait_cqe(Client& client) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
        settle();
        if (const auto cqe = client.poll_cq()) {
            return *cqe;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    throw std::runtime_error("no completion");
}

void TwoCards::to_rtr(Client::QpRings& qp, std::uint32_t remote, const Gid& dgid) {
    Udata none;
    QpAttr attr;
    attr.qp_state = DINGO_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = 0xf;
    qp.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_ACCESS,
                  none);
    attr.qp_state = DINGO_QPS_RTR;
    attr.path_mtu = mtu;
    attr.dest_qp_num = remote;
    attr.rq_psn = 100;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah.is_global = true;
    attr.ah.dgid = dgid;
    attr.ah.sgid_index = dgid[0] == 0xfe ? 0 : dgid[0] == 0xfd ? 2 : 1;
    for (int tries = 0;; ++tries) {
        try {
            qp.qp->modify(attr,
                          DINGO_QPM_STATE | DINGO_QPM_AV | DINGO_QPM_PATH_MTU | DINGO_QPM_DEST_QPN |
                              DINGO_QPM_RQ_PSN | DINGO_QPM_MAX_DEST_RD_ATOMIC |
                              DINGO_QPM_MIN_RNR_TIMER,
                          none);
            break;
        } catch (const NotYet&) {
            ASSERT_LT(tries, 10) << "the neighbour does not answer";
            settle();
        }
    }
}

void TwoCards::to_rts(Client::QpRings& qp, Host& host, std::uint32_t remote, const Gid& dgid) {
    ASSERT_NO_FATAL_FAILURE(to_rtr(qp, remote, dgid));
    Udata none;
    QpAttr attr;
    attr.qp_state = DINGO_QPS_RTS;
    attr.sq_psn = 100;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    qp.qp->modify(attr,
                  DINGO_QPM_STATE | DINGO_QPM_SQ_PSN | DINGO_QPM_TIMEOUT | DINGO_QPM_RETRY_CNT |
                      DINGO_QPM_RNR_RETRY | DINGO_QPM_MAX_RD_ATOMIC,
                  none);
    static_cast<void>(host);
}

void TwoCards::connect(Client::QpRings& qa, Client::QpRings& qb) {
    const Gid gid_a = a->driver.gids().at(1).gid;
    const Gid gid_b = b->driver.gids().at(1).gid;
    to_rts(qa, *a, qb.qp->number(), gid_b);
    to_rts(qb, *b, qa.qp->number(), gid_a);
}

}  // namespace dingo::uverbs::test
