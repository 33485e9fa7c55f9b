// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/gsi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/ordered_write.h"
#include "host/driver/address_vector.h"
#include "host/driver/card_object.h"
#include "host/driver/driver.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kQkey = 0x80010000;  // of every QP1, IBTA 10.2.5
constexpr unsigned kLogSends = 6;
constexpr unsigned kLogBlocks = kLogSends + 1;  // a WQE has two: address vector, one SGE
constexpr std::uint32_t kBlocks = 2;
constexpr unsigned kLogReceives = 8;
constexpr unsigned kLogReceiveStride = 5;
constexpr unsigned kLogCq = 10;
constexpr std::size_t kGrhBytes = 40;
constexpr std::size_t kReceiveBytes = 512;  // GRH and MAD; longer datagrams fail with a length
                                            // error
constexpr std::size_t kSendBase = (std::size_t{1} << kLogReceives) * kReceiveBytes;
constexpr std::size_t kBufferBytes = kSendBase + (kMadBytes << kLogSends);
constexpr std::size_t kMaxWaiting = 1024;
static_assert(sizeof(dingo_wqe_ctrl) + sizeof(dingo_wqe_ud) == DINGO_SQ_BLOCK);
static_assert((1U << kLogCq) - (1U << kLogCq) / 4 >= (1U << kLogReceives) + (1U << kLogSends));

}  // namespace

/// The memory and objects of QP1; destroyed in the reverse order.
struct Gsi::Rings {
    explicit Rings(Driver& d);
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    void create();
    void start();
    void ring(std::uint32_t type, std::uint32_t object, std::uint32_t index);
    /// Tells the card what was consumed and asks for an event.
    void arm();
    void post_receive(std::uint32_t slot);
    void post_send(const AddressVector& av, const MadBytes& mad);
    /// Returns the next completion, or nullptr.
    const dingo_cqe* next();

    Driver& driver;
    QueueMemory buffers;
    QueueMemory sq;
    QueueMemory rq;
    QueueMemory cq;
    OwnedId pdn;
    OwnedId mr;
    std::uint32_t key = 0;
    std::uint32_t cqn;
    std::optional<CardObject> cq_on_card;
    std::optional<CardObject> mr_on_card;
    std::optional<CardObject> qp_on_card;
    std::uint32_t sends = 0;  ///< posted, free-running
    std::uint32_t sends_done = 0;
    std::uint32_t receives = 0;  ///< posted, free-running
    std::uint32_t completions = 0;
    std::uint32_t arm_sn = 0;
};

Gsi::Rings::Rings(Driver& d)
    : driver(d),
      buffers(d.bus(), kBufferBytes),
      sq(d.bus(), std::size_t{DINGO_SQ_BLOCK} << kLogBlocks),
      rq(d.bus(), std::size_t{1} << (kLogReceives + kLogReceiveStride)),
      cq(d.bus(), std::size_t{DINGO_CQE_SIZE} << kLogCq),
      pdn(d.pdns()),
      mr(d.keys().indexes()),
      cqn(d.gsi_cqn()) {}

void Gsi::Rings::create() {
    dingo_cmd_create_cq make_cq{};
    make_cq.cqn = cqn;
    make_cq.eqn = driver.event_queues().eqn(0);
    make_cq.db_page = DINGO_DB_PAGE_KERNEL;
    make_cq.log_size = kLogCq;
    make_cq.ring = cq.describe();
    driver.admin().execute(DINGO_OP_CREATE_CQ, make_cq);
    cq_on_card.emplace(driver.admin(), DINGO_OP_DESTROY_CQ, cqn);

    dingo_cmd_create_mr make_mr{};
    key = driver.keys().make_key(mr.get());
    make_mr.key = key;
    make_mr.pdn = pdn.get();
    make_mr.access = DINGO_ACC_LOCAL_WRITE;
    make_mr.kind = DINGO_MRT_MR;
    make_mr.mem = buffers.describe();
    make_mr.length = kBufferBytes;
    driver.admin().execute(DINGO_OP_CREATE_MR, make_mr);
    mr_on_card.emplace(driver.admin(), DINGO_OP_DESTROY_MR, key, [this] { mr.lose(); });

    dingo_cmd_create_qp make_qp{};
    make_qp.qpn = DINGO_QPN_GSI;
    make_qp.pdn = pdn.get();
    make_qp.send_cqn = cqn;
    make_qp.recv_cqn = cqn;
    make_qp.srqn = DINGO_INVALID_ID;
    make_qp.db_page = DINGO_DB_PAGE_KERNEL;
    make_qp.kind = DINGO_QPT_GSI;
    make_qp.flags = DINGO_CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK;
    make_qp.log_sq = kLogBlocks;
    make_qp.log_rq = kLogReceives;
    make_qp.log_rq_stride = kLogReceiveStride;
    make_qp.sq = sq.describe();
    make_qp.rq = rq.describe();
    driver.admin().execute(DINGO_OP_CREATE_QP, make_qp);
    qp_on_card.emplace(driver.admin(), DINGO_OP_DESTROY_QP, DINGO_QPN_GSI);
}

void Gsi::Rings::start() {
    dingo_cmd_modify_qp step{};
    step.qpn = DINGO_QPN_GSI;
    step.mask = DINGO_QPM_STATE | DINGO_QPM_PKEY_INDEX | DINGO_QPM_QKEY;
    step.next_state = DINGO_QPS_INIT;
    step.attr.qkey = kQkey;
    driver.admin().execute(DINGO_OP_MODIFY_QP, step);
    driver.card().gate()->run([this] {  // one visit instead of 256
        for (std::uint32_t slot = 0; slot < 1U << kLogReceives; ++slot) {
            post_receive(slot);
        }
    });
    step.mask = DINGO_QPM_STATE;
    step.next_state = DINGO_QPS_RTR;
    driver.admin().execute(DINGO_OP_MODIFY_QP, step);
    step.mask = DINGO_QPM_STATE | DINGO_QPM_SQ_PSN;
    step.next_state = DINGO_QPS_RTS;
    driver.admin().execute(DINGO_OP_MODIFY_QP, step);
    arm();
}

void Gsi::Rings::ring(std::uint32_t type, std::uint32_t object, std::uint32_t index) {
    const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) |
                                DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, object);
    driver.card().ring(std::uint64_t{DINGO_DB_PAGE_KERNEL} * DINGO_DB_PAGE_SIZE +
                           DINGO_DB_FIRST_SLOT * sizeof(std::uint64_t),
                       std::uint64_t{index} << 32 | word0);
}

void Gsi::Rings::arm() {
    const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_CQ) |
                                DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, cqn) |
                                DINGO_PREP(DINGO_DOORBELL_WORD0_ARM_SN_MASK, ++arm_sn & 3);
    driver.card().ring(std::uint64_t{DINGO_DB_PAGE_KERNEL} * DINGO_DB_PAGE_SIZE +
                           DINGO_DB_FIRST_SLOT * sizeof(std::uint64_t),
                       std::uint64_t{completions} << 32 | word0);
}

void Gsi::Rings::post_receive(std::uint32_t slot) {
    std::byte* const at =
        rq.bytes().data() + ((receives % (1U << kLogReceives)) << kLogReceiveStride);
    dingo_rq_wqe head{};
    head.tag = slot;
    head.num_sge = 1;
    dingo_sge sge{};
    sge.addr = slot * kReceiveBytes;
    sge.lkey = key;
    sge.length = kReceiveBytes;
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + DINGO_RQ_HDR, &sge, sizeof sge);
    ring(DINGO_DB_RQ, DINGO_QPN_GSI, ++receives);
}

void Gsi::Rings::post_send(const AddressVector& av, const MadBytes& mad) {
    const std::uint32_t slot = sends % (1U << kLogSends);
    const std::size_t offset = kSendBase + slot * kMadBytes;
    std::memcpy(buffers.bytes().data() + offset, mad.data(), mad.size());
    dingo_wqe_ctrl ctrl{};
    ctrl.opcode = DINGO_WR_SEND;
    ctrl.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
    ctrl.blocks = kBlocks;
    ctrl.num_sge = 1;
    dingo_wqe_ud ud{};
    ud.dest_qpn = DINGO_QPN_GSI;
    ud.qkey = kQkey;  // bit 31: use the QP's own Q_Key, which is the same
    std::ranges::copy(av.dgid, ud.dgid);
    std::ranges::copy(av.dmac, ud.dmac);
    ud.sgid_index = av.sgid_index;
    ud.flow_label = av.flow_label;
    ud.udp_sport = av.udp_sport;
    ud.hop_limit = av.hop_limit;
    ud.tclass = av.tclass;
    ud.sl = av.sl;
    dingo_sge sge{};
    sge.addr = offset;
    sge.lkey = key;
    sge.length = kMadBytes;
    std::byte* const at = sq.bytes().data() + std::size_t{slot} * kBlocks * DINGO_SQ_BLOCK;
    std::memset(at, 0, std::size_t{kBlocks} * DINGO_SQ_BLOCK);
    std::memcpy(at, &ctrl, sizeof ctrl);
    std::memcpy(at + sizeof ctrl, &ud, sizeof ud);
    std::memcpy(at + DINGO_SQ_BLOCK, &sge, sizeof sge);
    ++sends;
    ring(DINGO_DB_SQ, DINGO_QPN_GSI, sends * kBlocks);
}

const dingo_cqe* Gsi::Rings::next() {
    const auto* entry = reinterpret_cast<const dingo_cqe*>(
        cq.bytes().data() + (completions % (1U << kLogCq)) * DINGO_CQE_SIZE);
    const unsigned phase = (completions >> kLogCq & 1) == 0 ? 1 : 0;
    return (read_owner(*entry) & 1U) == phase ? entry : nullptr;
}

Gsi::Gsi(Driver& driver) : driver_(driver) {
    driver.capabilities().need(DINGO_CAP_UD);
    rings_ = std::make_unique<Rings>(driver);
    rings_->create();
    rings_->start();
}

Gsi::~Gsi() = default;

void Gsi::send(const AhAttr& to, const MadBytes& mad) {
    if (waiting_.size() + asking_.size() >= kMaxWaiting) {
        ++stats_.unsent;
        return;
    }
    waiting_.emplace_back(*this, to, mad);
    waiting_.back().self = std::prev(waiting_.end());
    send_waiting();
}

bool Gsi::send_waiting() {
    bool any = false;
    while (!waiting_.empty() && rings_->sends - rings_->sends_done < 1U << kLogSends) {
        Waiting& what = waiting_.front();
        any = true;
        try {
            rings_->post_send(make_address_vector(driver_, what.to, 0, 0), what.mad);
            ++stats_.sent;
        } catch (const NotYet& not_yet) {
            // A datagram that waits for an address must not block the others.
            asking_.splice(asking_.end(), waiting_, what.self);
            driver_.await(not_yet, what);
            continue;
        } catch (const ErrnoError&) {
            ++stats_.unsent;  // the sender retries or gives up
        }
        waiting_.pop_front();
    }
    return any;
}

void Gsi::settled(Waiting& what, int error) {
    if (error == 0) {
        waiting_.splice(waiting_.end(), asking_, what.self);
    } else {
        ++stats_.unsent;
        asking_.erase(what.self);
    }
}

void Gsi::take_receive(std::uint32_t slot, std::uint32_t bytes, std::uint8_t flags,
                       std::uint32_t source_qpn,
                       const std::function<void(const GsiReceived&)>& receive) {
    if (slot >= 1U << kLogReceives) {
        return;
    }
    GsiReceived got;
    if (bytes != kGrhBytes + kMadBytes) {
        ++stats_.wrong_length;
    } else {
        const auto* const from =
            reinterpret_cast<const std::uint8_t*>(rings_->buffers.bytes().data()) +
            slot * kReceiveBytes;
        if ((flags & DINGO_CQE_FLAGS_IPV4_MASK) != 0) {
            // The IPv4 header is the last 20 of the 40 bytes, and its addresses are the last 8.
            got.source[10] = got.source[11] = got.destination[10] = got.destination[11] = 0xff;
            std::copy_n(from + kGrhBytes - 8, 4, got.source.begin() + 12);
            std::copy_n(from + kGrhBytes - 4, 4, got.destination.begin() + 12);
        } else {
            std::copy_n(from + 8, 16, got.source.begin());
            std::copy_n(from + 24, 16, got.destination.begin());
        }
        got.qpn = source_qpn;
        std::memcpy(got.mad.data(), from + kGrhBytes, kMadBytes);
    }
    rings_->post_receive(slot);
    if (bytes == kGrhBytes + kMadBytes) {
        ++stats_.received;
        receive(got);
    }
}

bool Gsi::poll(const std::function<void(const GsiReceived&)>& receive) {
    constexpr unsigned kBudget = 64;
    unsigned taken = 0;
    for (; taken < kBudget; ++taken) {
        const dingo_cqe* const entry = rings_->next();
        if (entry == nullptr) {
            break;
        }
        const dingo_cqe cqe = *entry;
        ++rings_->completions;
        const std::uint32_t opcode = (cqe.qpn_op & DINGO_CQE_QPN_OP_OPCODE_MASK) >> 24;
        if (opcode < DINGO_WC_RECV) {
            ++rings_->sends_done;
        } else if (cqe.status == DINGO_WCS_SUCCESS) {
            take_receive(cqe.wqe_index, cqe.byte_len, cqe.flags,
                         cqe.src_qpn & DINGO_CQE_SRC_QPN_QPN_MASK, receive);
        } else {
            rings_->post_receive(cqe.wqe_index % (1U << kLogReceives));
        }
    }
    if (taken != 0) {
        rings_->arm();
    }
    return send_waiting() || taken != 0;
}

}  // namespace dingo::uverbs
