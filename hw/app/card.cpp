// SPDX-License-Identifier: BSD-2-Clause
#include "card.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "dingo/packet/headers.h"
#include "dingo_hw.h"

namespace dingo {
namespace {

// Budgets of one round: small enough that others are served soon, and large enough that the fixed
// cost of a round does not matter.
constexpr unsigned kEngineBudget = 64;
constexpr unsigned kFrameBudget = 64;
// After this long without a processor, the card receives queued frames before it checks timers: an
// answer that is queued is not late.
constexpr Nanoseconds kPause = 5'000'000;
constexpr unsigned kPausedFrames = 16 * kFrameBudget;

static_assert(DoorbellScanner::kPageSize == DINGO_DB_PAGE_SIZE);

/// Returns true for ARP, ICMP over IPv4, and ICMPv6; without VLAN tag.
bool for_tap(std::span<const std::byte> frame) {
    constexpr std::size_t kType = packet::EthernetHeader::kTypeOffset;
    constexpr std::size_t kL3 = packet::EthernetHeader::kBytes;
    constexpr std::uint16_t kArp = 0x0806;
    constexpr std::byte kIcmp{1};
    constexpr std::byte kIcmp6{58};
    if (frame.size() < kL3 + packet::Ipv4Header::kBytes) {
        return false;
    }
    const auto type =
        std::to_integer<unsigned>(frame[kType]) << 8 | std::to_integer<unsigned>(frame[kType + 1]);
    return type == kArp ||
           (type == packet::kEtherTypeIpv4 &&
            frame[kL3 + packet::Ipv4Header::kProtocolOffset] == kIcmp) ||
           (type == packet::kEtherTypeIpv6 &&
            frame[kL3 + packet::Ipv6Header::kNextHeaderOffset] == kIcmp6);
}

}  // namespace

Card::Card(std::string_view engine, const EngineConfig& config, HostPort& host, Wire& wire,
           std::shared_ptr<Gate> gate, const MemoryOptions& memory)
    : gate_(std::move(gate)), wire_(wire) {
    EngineConfig with_memory = config;
    if (memory.bytes != 0) {
        memory_.size = memory.bytes;
        memory_.counted = memory.counted;
        memory_pages_.emplace("dingo-card-memory", memory.bytes);
        with_memory.memory = &memory_;
    }
    engine_ = make_engine(engine, with_memory, host, wire);
    if (engine_ == nullptr) {
        throw std::invalid_argument(fmt::format("no engine is called '{}'", engine));
    }
    const std::uint64_t caps = register32(DINGO_REG_CAPS);
    if (memory.bytes != 0 && (caps & DINGO_CAP_DEVICE_MEMORY) == 0) {
        throw std::invalid_argument(fmt::format("engine '{}' has no card memory", engine));
    }
    const std::uint64_t doorbell_bytes =
        std::uint64_t{register32(DINGO_REG_DB_PAGES)} * DINGO_DB_PAGE_SIZE;
    const std::uint64_t push_bytes =
        std::uint64_t{register32(DINGO_REG_PUSH_PAGES)} * DINGO_DB_PAGE_SIZE;
    const std::uint32_t vectors = register32(DINGO_REG_VECTORS);
    if (!std::has_single_bit(doorbell_bytes) || doorbell_bytes < DINGO_DB_PAGE_SIZE ||
        vectors == 0 || vectors > DINGO_MSIX_MAX) {
        throw std::invalid_argument(
            fmt::format("engine '{}' reports {} bytes of doorbells and {} interrupt vectors",
                        engine, doorbell_bytes, vectors));
    }
    identity_ = {.vendor = DINGO_PCI_VENDOR_ID,
                 .device = DINGO_PCI_DEVICE_ID,
                 .class_code = DINGO_PCI_CLASS,
                 .revision = static_cast<std::uint8_t>(register32(DINGO_REG_VERSION) >> 16),
                 .bar0_size = DINGO_BAR_REGS_SIZE,
                 .bar2_size = std::bit_ceil(doorbell_bytes + push_bytes),
                 .bar4_size = memory.bytes,
                 .msix_vectors = vectors,
                 .msix_table_offset = DINGO_MSIX_TABLE_OFFSET,
                 .msix_pba_offset = DINGO_MSIX_PBA_OFFSET};
    if (config.memory_doorbells) {
        doorbells_.emplace("dingo-doorbells", doorbell_bytes);
        scanner_.emplace(doorbells_->bytes());
    }
    set_link(true);
}

/// Visitors may have set a later time than that of the round.
void Card::set_now(Nanoseconds now) {
    Nanoseconds last = now_.load(std::memory_order_relaxed);
    while (last < now && !now_.compare_exchange_weak(last, now, std::memory_order_relaxed)) {
    }
}

void Card::host_asks(Nanoseconds now) {
    set_now(now);
    if (slept_ || sleeps_) {
        gate_->run([&] { advance(now); });
    }
}

Card::~Card() {
    const Gate::Hold hold(*gate_);  // frames that it has sent may be used by another card
    engine_.reset();
}

bool Card::poll(Nanoseconds now) {
    const Nanoseconds before = this->now();
    set_now(now);
    now = this->now();
    // A simulated engine is always this slow, and it has its own clock.
    const bool paused = now - before >= kPause && !engine_->simulated_clock();
    wire_.advance(now);
    bool more = false;
    if (scanner_) {
        more |= scanner_->scan(*this, now) != 0 || scanner_->sweeping();
    }
    // The deadline may be that of a frame which the fault injector holds on the receiving side.
    if (wire_ready_ || wire_.polled() || wire_.fd() < 0 || wire_.next_deadline() <= now) {
        first_frame_ = true;
        advance(now);  // frames get the current time, not that before the sleep
        unsigned frames = 0;
        unsigned heard = 0;
        do {
            frames = wire_.receive(*this, kFrameBudget);
            heard += frames;
        } while (paused && frames == kFrameBudget && heard < kPausedFrames);
        wire_ready_ = frames == kFrameBudget;
        more |= heard != 0;
    }
    run_engine();
    return more || engine_due_;
}

bool Card::prepare_sleep(Nanoseconds now) {
    if (engine_due_) {
        return false;
    }
    if (scanner_ && (scanner_->sweeping() || scanner_->spins(now) || !scanner_->arm(*this, now))) {
        return false;
    }
    if (wire_.prepare_sleep()) {
        sleeps_ = true;
        return true;
    }
    if (scanner_) {
        scanner_->disarm();
    }
    return false;
}

void Card::woke() {
    sleeps_ = false;
    slept_ = true;
    wire_.woke();
    if (scanner_) {
        scanner_->disarm();
    }
}

void Card::advance(Nanoseconds now) {
    set_now(now);
    if (slept_ || sleeps_) {
        slept_ = false;
        engine_due_ = engine_->run(this->now(), 1);
    }
}

Nanoseconds Card::next_deadline() const {
    const Nanoseconds due = std::min(engine_->next_deadline(), wire_.next_deadline());
    return scanner_ ? std::min(due, scanner_->next_deadline()) : due;
}

void Card::set_link(bool up) {
    gate_->run([&] {
        link_up_ = up && wire_.link();
        engine_due_ = true;
        engine_->set_link(link_up_);
    });
}

void Card::run_engine() {
    gate_->run([&] {
        engine_due_ = engine_->run(now(), kEngineBudget);
        wire_.flush();
    });
}

std::span<std::byte> Card::doorbell_memory() const {
    return doorbells_ ? doorbells_->bytes() : std::span<std::byte>{};
}

void Card::use_doorbell_pages(std::size_t count) {
    gate_->run([&] {
        if (scanner_) {
            scanner_->use_pages(count);
        }
    });
}

void Card::renew_doorbell_page(std::size_t page) {
    gate_->run([&] {
        if (scanner_) {
            scanner_->renew(page);
        }
    });
}

void Card::clear_doorbell(std::uint64_t offset) {
    gate_->run([&] {
        if (scanner_) {
            scanner_->clear(offset);
        }
    });
}

void Card::doorbell_page_kicked(std::size_t page) {
    gate_->run([&] {
        if (scanner_) {
            scanner_->kicked(page, now());
        }
    });
}

Poller::Id Card::watch_kick(int fd, Pollable& who) {
    return gate_->run(
        [&] { return kick_polls_ == nullptr ? 0 : kick_polls_->add(fd, EPOLLIN, who); });
}

void Card::unwatch_kick(Poller::Id id) {
    gate_->run([&] {
        if (kick_polls_ != nullptr) {
            kick_polls_->remove(id);
        }
    });
}

void Card::memory_became_far(const std::function<bool(const std::byte*)>& there) {
    gate_->run([&] { engine_->memory_became_far(there); });
}

bool Card::send_posted(std::uint32_t qpn) {
    return gate_->run([&] {
        engine_due_ = true;
        const bool more = engine_->send_posted(qpn);
        wire_.flush();
        return more;
    });
}

void Card::take_doorbells() {
    gate_->run([&] {
        if (scanner_) {
            scanner_->scan_all(*this, now());
        }
    });
}

void Card::flush_frames() {
    gate_->run([&] { wire_.flush(); });
}

void Card::set_frame_tap(FrameTap* tap) {
    gate_->run([&] { tap_ = tap; });
}

void Card::pass_frame(std::span<const std::byte> frame) {
    gate_->run([&] {
        engine_due_ = true;
        engine_->receive(frame);
    });
}

std::uint64_t Card::read(Bar bar, std::uint64_t offset, unsigned size) {
    return gate_->run([&]() -> std::uint64_t {
        ++stats_.trapped_reads;
        if (bar == Bar::kDoorbells && scanner_) {
            std::uint64_t value = 0;
            std::memcpy(&value, doorbells_->bytes().data() + offset, size);
            return value;
        }
        return engine_->mmio_read(bar, offset, size);
    });
}

/// The caller is inside the engine and so holds the gate.
std::optional<std::uint64_t> Card::peek(Bar bar, std::uint64_t offset, unsigned size) {
    return engine_->peek(bar, offset, size);
}

void Card::write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) {
    gate_->run([&] {
        ++stats_.trapped_writes;
        if (bar == Bar::kDoorbells && scanner_) {
            scanner_->store(*this, offset, value, size);
            return;
        }
        if (bar == Bar::kRegisters && scanner_) {
            if (offset >= DINGO_KICK_PAGE_OFFSET && offset < DINGO_KICK_PAGE_OFFSET + 4096) {
                scanner_->kicked();
                return;
            }
            if (offset == DINGO_REG_DB_WATCH) {
                const auto word = static_cast<std::uint32_t>(value);
                scanner_->watch(DINGO_GET(DINGO_DB_WATCH_PAGE_MASK, word),
                                DINGO_GET(DINGO_DB_WATCH_SLOT_MASK, word),
                                (word & DINGO_DB_WATCH_ON_MASK) != 0, now());
                return;
            }
            if (offset == DINGO_REG_ASQ_DB) {
                scanner_->scan_all(*this, now());
            }
            if (offset == DINGO_REG_CTRL && (value & DINGO_CTRL_RESET_MASK) != 0) {
                scanner_->reset();
            }
        }
        engine_due_ = true;
        engine_->mmio_write(bar, offset, value, size);
    });
}

void Card::reset() {
    gate_->run([&] {
        if (scanner_) {
            scanner_->reset();
        }
        engine_->reset();
        engine_->set_link(link_up_);
    });
}

int Card::doorbell_fd() const {
    return doorbells_ ? doorbells_->fd() : -1;
}

std::span<std::byte> Card::memory() const {
    return memory_pages_ ? memory_pages_->bytes() : std::span<std::byte>();
}

int Card::memory_fd() const {
    return memory_pages_ && !memory_.counted ? memory_pages_->fd() : -1;
}

void Card::count_memory_access(bool write, std::uint64_t bytes) {
    (write ? memory_.in_requests : memory_.out_requests) += 1;
    (write ? memory_.in_bytes : memory_.out_bytes) += bytes;
}

void Card::ring(std::uint64_t offset, std::uint64_t value) {
    gate_->run([&] { on_doorbell(offset, value); });
}

void Card::on_doorbell(std::uint64_t offset, std::uint64_t value) {
    engine_due_ = true;
    engine_->mmio_write(Bar::kDoorbells, offset, value, sizeof value);
}

bool Card::admit_frame() {
    if (!link_up_) {
        ++stats_.link_down_drops;
        return false;
    }
    // A receive posted before the peer sent this frame must be seen, so the doorbells are scanned
    // before the first frame of a batch.
    if (first_frame_ && scanner_) {
        scanner_->scan(*this, now());
    }
    first_frame_ = false;
    return true;
}

void Card::on_frame(std::span<const std::byte> frame) {
    if (!admit_frame()) {
        return;
    }
    if (tap_ != nullptr && for_tap(frame) && tap_->on_tapped_frame(frame)) {
        return;
    }
    engine_due_ = true;
    engine_->receive(frame);
}

void Card::on_frame_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload) {
    if (!admit_frame()) {
        return;
    }
    engine_due_ = true;
    if (!engine_->receive_without_icrc(frame, payload)) {
        FrameSink::on_frame_without_icrc(frame, payload);  // as a whole frame
    }
}

void Card::on_train(std::span<const std::byte> frame, const Elsewhere& payload, unsigned packets) {
    if (!admit_frame()) {
        return;
    }
    engine_due_ = true;
    if (!engine_->receive_train(frame, payload, packets)) {
        FrameSink::on_train(frame, payload, packets);  // as single packets
    }
}

}  // namespace dingo
