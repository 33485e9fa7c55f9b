// SPDX-License-Identifier: BSD-2-Clause
//
// Start of the driver: initialization of the card, its port and addresses; events.
#include "host/driver/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/offenders.h"
#include "host/driver/context.h"
#include "host/driver/cq.h"
#include "host/driver/qp.h"
#include "host/driver/srq.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kMagic = 0x4F474E44;

// enum ibv_event_type
constexpr int kEventQpFatal = 1;
constexpr int kEventQpReqErr = 2;
constexpr int kEventQpAccessErr = 3;
constexpr int kEventCommEst = 4;
constexpr int kEventSqDrained = 5;
constexpr int kEventDeviceFatal = 8;
constexpr int kEventPortActive = 9;
constexpr int kEventPortErr = 10;
constexpr int kEventSrqErr = 14;
constexpr int kEventSrqLimit = 15;
constexpr int kEventQpLastWqe = 16;

std::uint32_t read32(LocalCard& card, std::uint32_t reg) {
    return static_cast<std::uint32_t>(card.read(Bar::kRegisters, reg, 4));
}

void reset_card(LocalCard& card) {
    if (read32(card, DINGO_REG_MAGIC) != kMagic) {
        throw std::runtime_error("this engine is no Dingo card: register MAGIC is wrong");
    }
    card.write(Bar::kRegisters, DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK, 4);
    const auto give_up =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(DINGO_RESET_TIMEOUT_MS);
    while ((read32(card, DINGO_REG_STATUS) & DINGO_STATUS_READY_MASK) == 0) {
        if (std::chrono::steady_clock::now() >= give_up) {
            throw std::runtime_error("the card is not ready after its reset");
        }
        card.run_engine();
    }
}

/// The addresses of the port: link-local first, then the configured ones.
std::vector<Prefix> port_prefixes(const DriverConfig& config, const packet::Mac& mac) {
    std::vector<Prefix> prefixes{{link_local_gid(mac), 64}};
    for (const std::string& text : config.addresses) {
        prefixes.push_back(parse_prefix(text));
    }
    return prefixes;
}

int qp_event(std::uint8_t kind) {
    switch (kind) {
        case DINGO_EV_QP_FATAL:
            return kEventQpFatal;
        case DINGO_EV_QP_REQ_ERR:
            return kEventQpReqErr;
        case DINGO_EV_QP_ACCESS_ERR:
            return kEventQpAccessErr;
        case DINGO_EV_COMM_EST:
            return kEventCommEst;
        case DINGO_EV_SQ_DRAINED:
            return kEventSqDrained;
        default:
            return kEventQpLastWqe;
    }
}

}  // namespace

Driver::Driver(DriverConfig config)
    : config_(std::move(config)),
      device_memory_(config_.device_memory, ENOMEM, Quota::Fair::kForeign) {}

Driver::~Driver() = default;

void Driver::query_limits() {
    const auto out = admin_->out();
    dingo_cmd_query_device cmd{};
    cmd.out_addr = admin_->out_address();
    cmd.out_len = sizeof(dingo_limits);
    admin_->execute(DINGO_OP_QUERY_DEVICE, cmd);
    dingo_limits limits;
    std::memcpy(&limits, out.data(), sizeof limits);
    caps_ = Capabilities(caps_.bits(), limits);
    pdns_ = IdPool(limits.max_pd);
    keys_ = MrKeys(limits.max_mr);
    cqs_ = CqTable(limits.max_cq - 1);  // the last one is the GSI QP's
    srqs_ = SrqTable(limits.max_srq);
    qps_ = QpTable(limits.max_qp);
}

void Driver::start_port(const std::vector<Prefix>& prefixes) {
    dingo_cmd_set_port cmd{};
    cmd.flags = DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK;
    cmd.mtu = config_.mtu;
    admin_->execute(DINGO_OP_SET_PORT, cmd);
    gids_.emplace(*admin_, mac_);
    for (const Prefix& prefix : prefixes) {
        gids_->add(prefix.address);
    }
}

// Numbers of objects that no longer exist are ignored: the card wrote the event earlier.
void Driver::dispatch(const dingo_eqe& event) {
    const std::uint32_t id = event.id;
    switch (event.kind) {
        case DINGO_EV_COMPLETION:
            if (const Cq* cq = cqs_.find(id)) {
                cq->listener().on_completion();
            } else {
                gsi_event_ |= id == gsi_cqn();
            }
            return;
        case DINGO_EV_CQ_ERR:
            if (const Cq* cq = cqs_.find(id)) {
                cq->listener().on_cq_error();
            }
            return;
        case DINGO_EV_QP_FATAL:
        case DINGO_EV_QP_REQ_ERR:
        case DINGO_EV_QP_ACCESS_ERR:
        case DINGO_EV_COMM_EST:
        case DINGO_EV_SQ_DRAINED:
        case DINGO_EV_QP_LAST_WQE:
            if (const Qp* qp = qps_.find(id)) {
                qp->listener().on_event(qp_event(event.kind));
            }
            return;
        case DINGO_EV_SRQ_ERR:
        case DINGO_EV_SRQ_LIMIT:
            if (const Srq* srq = srqs_.find(id)) {
                srq->listener().on_event(event.kind == DINGO_EV_SRQ_ERR ? kEventSrqErr
                                                                        : kEventSrqLimit);
            }
            return;
        case DINGO_EV_PORT_UP:
        case DINGO_EV_PORT_DOWN:
            port_events_.push_back(event.kind == DINGO_EV_PORT_UP ? kEventPortActive
                                                                  : kEventPortErr);
            return;
        case DINGO_EV_DEVICE_FATAL:
            log::error("the card reports fatal error {}", std::uint32_t{event.data});
            admin_->fail();
            return;
        default:
            log::warn("event of unknown kind 0x{:02x}", event.kind);
    }
}

void Driver::start(LocalCard& card) {
    card_ = &card;
    reset_card(card);
    caps_ = Capabilities(card.read(Bar::kRegisters, DINGO_REG_CAPS, 8), {});
    if (!caps_.has(DINGO_CAP_DB_MEMORY) || card.doorbell_memory().empty()) {
        throw std::runtime_error(
            "a card for programs of this machine needs doorbells in memory "
            "(EngineConfig::memory_doorbells)");
    }
    const auto mac = packet::Mac::from_u64(card.read(Bar::kRegisters, DINGO_REG_MAC, 8));
    mac_ = mac.bytes;
    if (config_.mtu < DINGO_MIN_MTU || config_.mtu > DINGO_MAX_MTU) {
        throw std::runtime_error(fmt::format("MTU {}: must be {} to {} bytes", config_.mtu,
                                             DINGO_MIN_MTU, DINGO_MAX_MTU));
    }
    const std::vector<Prefix> prefixes = port_prefixes(config_, mac);
    try {
        bus_.set_gate(card.gate());
        status_.emplace();
        clock_.emplace(*status_);
        admin_.emplace(card, bus_);
        query_limits();
        if (prefixes.size() > caps_.limits().max_gid) {
            throw std::runtime_error(
                fmt::format("{} addresses: the card's GID table has room for {}",
                            prefixes.size() - 1, caps_.limits().max_gid - 1));
        }
        doorbells_.emplace(card);
        shares_.emplace(
            static_cast<std::uint32_t>(card.doorbell_memory().size() / DINGO_DB_PAGE_SIZE));
        eqs_.emplace(card, *admin_, bus_, caps_.limits());
        start_port(prefixes);
        neighbours_.emplace(card, mac, prefixes);
        last_sends_.emplace(card);
        tapped_.emplace(card);
        card.set_frame_tap(&*tapped_);
    } catch (const ErrnoError& error) {
        throw std::runtime_error(
            fmt::format("cannot start the card: {}", std::strerror(error.code())));
    }
}

bool Driver::poll(Nanoseconds now) {
    clock_->poll(now);
    bool any = tapped_->hand_over(*neighbours_);
    any |= neighbours_->poll(now);
    any |= last_sends_->poll(now);
    any |= vectors_.load(std::memory_order_relaxed) != 0;
    deliver();
    any |= !port_events_.empty();
    for (const int event : std::exchange(port_events_, {})) {
        if (on_port_event) {
            on_port_event(event);
        }
    }
    if (admin_->failed() && !told_fatal_) {
        told_fatal_ = true;
        status_->set_gone();
        if (on_port_event) {
            on_port_event(kEventDeviceFatal);
        }
        any = true;
    }
    return any;
}

bool Driver::pending(Nanoseconds now) {
    clock_->poll(now);
    return vectors_.load(std::memory_order_relaxed) != 0 || tapped_->waiting();
}

bool Driver::deliver() {
    if (vectors_.load(std::memory_order_relaxed) != 0) {
        eqs_->poll(vectors_.exchange(0), [this](const dingo_eqe& event) { dispatch(event); });
    }
    return std::exchange(gsi_event_, false) || !port_events_.empty() || tapped_->waiting() ||
           (admin_->failed() && !told_fatal_);
}

Nanoseconds Driver::next_deadline() const {
    return vectors_.load(std::memory_order_relaxed) != 0 || tapped_->waiting()
               ? 0
               : std::min(neighbours_->next_deadline(), last_sends_->next_deadline());
}

void Driver::set_crowded(bool crowded) {
    status_->set_crowded(crowded);
}

bool Driver::dma_read(std::uint64_t addr, std::span<std::byte> dst) {
    return bus_.read(addr, dst);
}

bool Driver::dma_write(std::uint64_t addr, std::span<const std::byte> src) {
    return bus_.write(addr, src);
}

bool Driver::dma_atomic(std::uint64_t addr, const FarMemory::Atomic& request,
                        std::uint64_t& before) {
    return bus_.atomic(addr, request, before);
}

std::byte* Driver::dma_pointer(std::uint64_t addr, std::size_t len) {
    return bus_.pointer(addr, len);
}

std::size_t Driver::make_far(const std::shared_ptr<Account>& account) {
    // A visit is short however many regions there are.
    constexpr std::size_t kAtOnce = 256;
    std::size_t made = 0;
    bool more = true;
    for (std::size_t first = 0; more; first += kAtOnce) {
        card_->gate()->run([&] {
            made += bus_.make_far(account, first, kAtOnce);
            more = first + kAtOnce < bus_.end();
            if (!more && made != 0) {
                card_->memory_became_far(
                    [&account](const std::byte* at) { return offenders().has(account, at); });
            }
        });
    }
    return made;
}

std::shared_ptr<FarWatch> Driver::watch_far() {
    std::shared_ptr<FarWatch> watch = far_watch_.lock();
    if (watch == nullptr) {
        watch = std::make_shared<FarWatch>(*card_, far_);
        far_watch_ = watch;
    }
    return watch;
}

void Driver::raise_msix(unsigned vector) {
    // A thread that reads the bit also sees the event queue entry behind it.
    vectors_.fetch_or(std::uint64_t{1} << (vector % 64), std::memory_order_release);
}

}  // namespace dingo::uverbs
