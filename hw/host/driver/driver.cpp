// SPDX-License-Identifier: BSD-2-Clause
//
// The driver's life: bringing the card up, its port and addresses, events.
#include "host/driver/driver.h"

#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "base/log.h"
#include "host/driver/state.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kMagic = 0x4F474E44;
constexpr std::uint32_t kFirstQpIndex = 2;
constexpr std::uint32_t kQpIndexMask = (1U << DINGO_QPN_INDEX_BITS) - 1;

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

void set_gid(Driver::State& d, std::uint32_t index, const packet::Gid& gid) {
    dingo_cmd_set_gid cmd{};
    cmd.index = index;
    cmd.valid = 1;
    cmd.vlan = DINGO_VLAN_NONE;
    std::ranges::copy(d.mac, cmd.mac);
    std::ranges::copy(gid.bytes, cmd.gid);
    d.admin->execute(DINGO_OP_SET_GID, cmd);
    d.gids.push_back({gid.bytes, index});
}

void start_port(Driver::State& d, const std::vector<Prefix>& prefixes) {
    dingo_cmd_set_port cmd{};
    cmd.flags = DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK;
    cmd.mtu = d.config.mtu;
    d.admin->execute(DINGO_OP_SET_PORT, cmd);
    for (std::uint32_t n = 0; n < prefixes.size(); ++n) {
        set_gid(d, n, prefixes[n].address);
    }
}

void query_limits(Driver::State& d) {
    const auto out = d.admin->out();
    dingo_cmd_query_device cmd{};
    cmd.out_addr = d.admin->out_address();
    cmd.out_len = sizeof(dingo_limits);
    d.admin->execute(DINGO_OP_QUERY_DEVICE, cmd);
    std::memcpy(&d.limits, out.data(), sizeof d.limits);
    d.pdns = IdPool(d.limits.max_pd);
    d.mr_ids = IdPool(d.limits.max_mr);
    d.srqns = IdPool(d.limits.max_srq);
    d.mr_tags.resize(d.limits.max_mr);
    d.cqs.resize(d.limits.max_cq - 1);  // the last one is the GSI QP's
    d.srqs.resize(d.limits.max_srq);
    d.qps.resize(std::min(d.limits.max_qp + kFirstQpIndex, kQpIndexMask + 1));
    d.qp_tags.resize(d.qps.size());
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

std::uint32_t Driver::State::make_key(std::uint32_t index) {
    auto tag = static_cast<std::uint16_t>(random_bits());
    // Peers that still use the last owner's key must miss.
    if (tag == mr_tags[index]) {
        tag ^= 0x5a5a;
    }
    mr_tags[index] = tag;
    return index << DINGO_MR_INDEX_SHIFT | tag;
}

bool Driver::State::destroy(std::uint16_t opcode, std::uint32_t id) noexcept {
    try {
        admin->destroy(opcode, id);
        return true;
    } catch (const ErrnoError& error) {
        log::error("the card would not destroy object 0x{:x} (command 0x{:02x}): {}", id, opcode,
                   std::strerror(error.code()));
        return false;
    }
}

// Numbers of objects that are gone by now are ignored: the card wrote the event before.
void Driver::State::dispatch(const dingo_eqe& event) {
    const std::uint32_t id = event.id;
    switch (event.kind) {
        case DINGO_EV_COMPLETION:
        case DINGO_EV_CQ_ERR:
            if (id >= cqs.size() || cqs[id] == nullptr) {
                return;
            }
            if (event.kind == DINGO_EV_COMPLETION) {
                cqs[id]->listener.on_completion();
            } else {
                cqs[id]->listener.on_cq_error();
            }
            return;
        case DINGO_EV_QP_FATAL:
        case DINGO_EV_QP_REQ_ERR:
        case DINGO_EV_QP_ACCESS_ERR:
        case DINGO_EV_COMM_EST:
        case DINGO_EV_SQ_DRAINED:
        case DINGO_EV_QP_LAST_WQE: {
            const std::uint32_t index = id & kQpIndexMask;
            if (index < qps.size() && qps[index] != nullptr && qps[index]->number == id) {
                qps[index]->listener.on_event(qp_event(event.kind));
            }
            return;
        }
        case DINGO_EV_SRQ_ERR:
        case DINGO_EV_SRQ_LIMIT:
            if (id < srqs.size() && srqs[id] != nullptr) {
                srqs[id]->listener.on_event(event.kind == DINGO_EV_SRQ_ERR ? kEventSrqErr
                                                                           : kEventSrqLimit);
            }
            return;
        case DINGO_EV_PORT_UP:
        case DINGO_EV_PORT_DOWN:
            if (self->on_port_event) {
                self->on_port_event(event.kind == DINGO_EV_PORT_UP ? kEventPortActive
                                                                   : kEventPortErr);
            }
            return;
        case DINGO_EV_DEVICE_FATAL:
            log::error("the card reports fatal error {}", std::uint32_t{event.data});
            admin->fail();
            return;
        default:
            log::warn("event of unknown kind 0x{:02x}", event.kind);
    }
}

Driver::Driver(DriverConfig config) : state_(std::make_unique<State>(std::move(config))) {
    state_->self = this;
}

Driver::~Driver() = default;

void Driver::start(LocalCard& card) {
    State& d = *state_;
    d.card = &card;
    reset_card(card);
    d.caps = card.read(Bar::kRegisters, DINGO_REG_CAPS, 8);
    if (!d.has(DINGO_CAP_DB_MEMORY) || card.doorbell_memory().empty()) {
        throw std::runtime_error(
            "a card for programs of this machine needs doorbells in memory "
            "(EngineConfig::memory_doorbells)");
    }
    const auto mac = packet::Mac::from_u64(card.read(Bar::kRegisters, DINGO_REG_MAC, 8));
    d.mac = mac.bytes;
    if (d.config.mtu < DINGO_MIN_MTU || d.config.mtu > DINGO_MAX_MTU) {
        throw std::runtime_error(fmt::format("MTU {}: it is {} to {} bytes", d.config.mtu,
                                             DINGO_MIN_MTU, DINGO_MAX_MTU));
    }
    const std::vector<Prefix> prefixes = port_prefixes(d.config, mac);
    try {
        d.status.emplace();
        d.clock.emplace(*d.status);
        d.admin.emplace(card, d.bus);
        query_limits(d);
        if (prefixes.size() > d.limits.max_gid) {
            throw std::runtime_error(
                fmt::format("{} addresses: the card's GID table has room for {}",
                            prefixes.size() - 1, d.limits.max_gid - 1));
        }
        d.doorbells.emplace(card);
        d.eqs.emplace(card, *d.admin, d.bus, d.limits);
        start_port(d, prefixes);
        d.neighbours.emplace(card, mac, prefixes);
        card.set_frame_tap(&*d.neighbours);
    } catch (const ErrnoError& error) {
        throw std::runtime_error(
            fmt::format("the card does not come up: {}", std::strerror(error.code())));
    }
}

bool Driver::poll(Nanoseconds now) {
    State& d = *state_;
    d.clock->poll(now);
    bool any = d.neighbours->poll(now);
    if (d.vectors != 0) {
        const std::uint64_t vectors = std::exchange(d.vectors, 0);
        any |= d.eqs->poll(vectors, [&d](const dingo_eqe& event) { d.dispatch(event); });
    }
    if (d.admin->failed() && !d.told_fatal) {
        d.told_fatal = true;
        d.status->set_gone();
        if (on_port_event) {
            on_port_event(kEventDeviceFatal);
        }
        any = true;
    }
    return any;
}

Nanoseconds Driver::next_deadline() const {
    return state_->vectors != 0 ? 0 : state_->neighbours->next_deadline();
}

void Driver::set_crowded(bool crowded) {
    state_->status->set_crowded(crowded);
}

// The client may drain or fill its copy, or make it block: RWF_NOWAIT does not care.
void Driver::kicked(Context& context) {
    std::uint64_t count = 0;
    const iovec to{&count, sizeof count};
    [[maybe_unused]] const ssize_t n = ::preadv2(context.kick_fd(), &to, 1, -1, RWF_NOWAIT);
    for (const auto& page : context.state().doorbells.pages()) {
        state_->card->doorbell_page_kicked(page->index());
    }
}

const std::vector<GidEntry>& Driver::gids() const {
    return state_->gids;
}

const DriverConfig& Driver::config() const {
    return state_->config;
}

Mac Driver::mac() const {
    return state_->mac;
}

std::uint32_t Driver::num_comp_vectors() const {
    return state_->eqs->comp_vectors();
}

bool Driver::dma_read(std::uint64_t addr, std::span<std::byte> dst) {
    return state_->bus.read(addr, dst);
}

bool Driver::dma_write(std::uint64_t addr, std::span<const std::byte> src) {
    return state_->bus.write(addr, src);
}

std::byte* Driver::dma_pointer(std::uint64_t addr, std::size_t len) {
    return state_->bus.pointer(addr, len);
}

void Driver::raise_msix(unsigned vector) {
    state_->vectors |= std::uint64_t{1} << (vector % 64);
}

}  // namespace dingo::uverbs
