// SPDX-License-Identifier: BSD-2-Clause
//
// The engine interface: what the C++ model and the Verilated RTL both implement, and the only
// way in which hw/app and tests/conformance talk to a card.
//
// An engine is single-threaded and knows no clock, socket or thread: time, host memory and the
// wire are ports. Calls come from one thread at a time; a port never calls back into the engine.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dingo/far_memory.h"
#include "dingo/held_memory.h"

namespace dingo {

/// Nanoseconds since an arbitrary start; never goes backwards.
using Nanoseconds = std::uint64_t;
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

/// The host as the card's PCIe function sees it: bus-master reads and writes, MSI-X.
class HostPort {
  public:
    virtual ~HostPort() = default;

    /// Copies dst.size() bytes from bus address `addr`. False = bus error (nothing usable in dst).
    virtual bool dma_read(std::uint64_t addr, std::span<std::byte> dst) = 0;

    /// Copies src (may overlap: dma_pointer()) to addr. False = bus error, some may be written.
    /// Writes become visible to the host in call order. Of each write the last aligned 8-byte word
    /// becomes visible last: the contract keeps phase bits there, and programs poll the last byte
    /// of a message.
    virtual bool dma_write(std::uint64_t addr, std::span<const std::byte> src) = 0;

    /// An atomic on 8 bytes; `before` = what they were. False = bus error. A host whose memory
    /// others change at the same time makes it in one locked instruction where it can.
    virtual bool dma_atomic(std::uint64_t addr, const FarMemory::Atomic& request,
                            std::uint64_t& before) {
        return request.make_by([&](std::span<std::byte> dst) { return dma_read(addr, dst); },
                               [&](std::span<const std::byte> src) { return dma_write(addr, src); },
                               before);
    }

    /// Address through which [addr, addr+len) may be accessed directly until the next call into
    /// the engine returns, or nullptr where the range is not plain mapped memory. An engine may
    /// use it to save a copy; it must work without it.
    virtual std::byte* dma_pointer(std::uint64_t addr, std::size_t len) = 0;
    /// A dma_pointer() into a region is good, for reading, until the engine has executed a later
    /// admin command that neither creates nor queries, or is reset or gone: no memory is taken away
    /// without one.
    [[nodiscard]] virtual bool pointers_last() const { return false; }

    /// Sends MSI-X message `vector`. The host masks vectors.
    virtual void raise_msix(unsigned vector) = 0;

    /// The way to memory that takes time to reach. nullptr: there is none, or dma_read() and
    /// dma_write() wait for it; they do for engines that do not ask.
    virtual FarMemory* far_memory() { return nullptr; }
};

/// The wire's transmit side, and what a card says about itself there. Frames are Ethernet frames
/// from destination MAC to the last payload byte: no preamble, no FCS.
class WirePort {
  public:
    virtual ~WirePort() = default;

    /// Room for one frame of up to max_len bytes, to be built in place; empty when the wire takes
    /// nothing now (the engine keeps its work and tries again in a later run()).
    virtual std::span<std::byte> begin_frame(std::size_t max_len) = 0;
    /// The same for a frame to the MAC address `to`, most significant byte first on the wire.
    virtual std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) {
        static_cast<void>(to);
        return begin_frame(max_len);
    }
    /// A refusal of begin_frame_to() or begin_train() says nothing about other addresses.
    [[nodiscard]] virtual bool full_by_address() const { return false; }

    /// Sends the first `len` bytes of the room that begin_frame gave; 0 gives the room back unused.
    virtual void end_frame(std::size_t len) = 0;

    /// Whether the frame in the room that begin_frame() gave needs an ICRC, if it is RoCE. False:
    /// the frame stays in the memory of this host, and nothing on the way reads or changes it.
    [[nodiscard]] virtual bool needs_icrc() const { return true; }
    /// Whether begin_train() ever gives room.
    [[nodiscard]] virtual bool takes_trains() const { return false; }
    /// Room for a packet train (dingo/packet/train.h) of `packets` packets to the card with the MAC
    /// address `to`, most significant byte first on the wire. It is ended as a frame without ICRC.
    /// nullopt: no train goes there, its packets go one by one; empty: the wire takes none now.
    virtual std::optional<std::span<std::byte>> begin_train(std::size_t max_len, unsigned packets,
                                                            std::uint64_t to) {
        static_cast<void>(max_len);
        static_cast<void>(packets);
        static_cast<void>(to);
        return std::nullopt;
    }
    /// end_frame() of a RoCE frame with 0 in the place of its ICRC. Only where needs_icrc() is
    /// false.
    virtual void end_frame_without_icrc(std::size_t len) { end_frame(len); }

    /// Whether the payload of the frame in the room that begin_frame() gave may stay in host memory
    /// until the frame is received. Only where needs_icrc() is false.
    [[nodiscard]] virtual bool takes_references() const { return false; }
    /// end_frame_without_icrc() of a frame whose payload, at `offset` in the frame, is at
    /// `payload`. The memory must last as long as `held`, or, where that is null, until gather()
    /// returns.
    virtual void end_frame_referring(std::size_t len, std::size_t offset,
                                     std::span<const std::byte> payload, const Held& held) {
        static_cast<void>(offset);
        static_cast<void>(payload);
        static_cast<void>(held);
        end_frame(len);
    }
    /// True when the peer that the open frame goes to still uses so much held memory that a frame
    /// with a held payload should be sent later. A peer that releases nothing is lent nothing soon
    /// after: it gets copies, and this is false again.
    [[nodiscard]] virtual bool holds_enough() { return false; }
    /// Returns true once after holds_enough() has become false for a peer.
    [[nodiscard]] virtual bool has_let_go() { return false; }
    /// Copies all payloads that still lie in memory that nothing holds. While a frame is being
    /// received it may wait until that is over.
    virtual void gather() {}

    /// The card starts to take datagrams to this multicast group, or stops. `group` is its GID.
    /// Only for wires that must join groups; most wires carry all frames to all cards.
    virtual void join_group(std::span<const std::uint8_t, 16> group) { static_cast<void>(group); }
    virtual void leave_group(std::span<const std::uint8_t, 16> group) { static_cast<void>(group); }
};

/// PCI BAR numbers of the contract (docs/reference/contract.md).
enum class Bar : std::uint8_t { kRegisters = 0, kDoorbells = 2, kMemory = 4 };

/// The card's memory behind BAR_MEM as an engine knows it: how much there is, and what others did
/// with it. What serves the BAR counts; the engine reaches the bytes by DMA (docs/reference/
/// contract.md, card memory).
struct CardMemory {
    std::uint64_t size = 0;  ///< bytes, a power of two; 0: none
    bool counted = false;    ///< sets capability MEM_COUNTS
    std::atomic<std::uint64_t> in_requests = 0;
    std::atomic<std::uint64_t> in_bytes = 0;
    std::atomic<std::uint64_t> out_requests = 0;
    std::atomic<std::uint64_t> out_bytes = 0;
};

/// What a card does with admin commands to try its driver. Its owner changes it between calls.
struct AdminFaults {
    std::bitset<256> refused;                ///< by opcode: they get BAD_STATE
    std::array<Nanoseconds, 256> held = {};  ///< by opcode: how long one waits, and all behind it
    std::uint64_t met = 0;                   ///< counted by the engine: commands that had to wait
};

/// Configuration of a card instance. All values have working defaults.
struct EngineConfig {
    std::uint64_t mac =
        0x02'44'49'00'00'01;       ///< factory MAC, most significant byte first on the wire
    std::uint64_t seed = 1;        ///< for every random choice the engine makes
    std::uint32_t max_qp = 16384;  ///< limits reported by QUERY_DEVICE; memory grows with use
    std::uint32_t max_cq = 16384;
    std::uint32_t max_mr = 65536;
    std::uint32_t max_srq = 4096;
    std::uint64_t link_mbps = 100'000;   ///< reported link speed
    bool memory_doorbells = false;       ///< BAR2 is shared memory: sets capability DB_MEMORY
    std::uint64_t withheld = 0;          ///< DINGO_CAP_* that the engine has but this card has not
    const CardMemory* memory = nullptr;  ///< outlives the engine; nullptr: none
    /// Outlives the engine; the model's only.
    AdminFaults* admin_faults = nullptr;
};

/// Speed of a card that is simulated clock by clock, on this machine. Only shown to users: the
/// card's behaviour does not depend on it.
struct SimulatedClock {
    std::uint64_t cycles = 0;   ///< of the card's clock, since it was made
    Nanoseconds busy = 0;       ///< time that they took; a card at rest has none
    Nanoseconds processor = 0;  ///< the part of it in which the card's thread had a processor
};

class Engine {
  public:
    virtual ~Engine() = default;

    /// Function-level reset: every object is gone, registers have reset values, nothing is sent.
    virtual void reset() = 0;

    /// Accesses a BAR at a byte offset: little endian, `size` 1, 2, 4 or 8, naturally aligned.
    /// Reads of undefined offsets give 0, writes to them are dropped and counted.
    virtual std::uint64_t mmio_read(Bar bar, std::uint64_t offset, unsigned size) = 0;
    virtual void mmio_write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) = 0;

    /// mmio_read() of a register that can be told in the middle of another call, in which the
    /// engine waits for its host; nullopt: this one cannot.
    [[nodiscard]] virtual std::optional<std::uint64_t> peek(Bar bar, std::uint64_t offset,
                                                            unsigned size) const {
        static_cast<void>(bar);
        static_cast<void>(offset);
        static_cast<void>(size);
        return std::nullopt;
    }

    /// A frame arrived on the wire, from destination MAC to the last byte before the FCS. The
    /// engine copies what it needs before it returns.
    virtual void receive(std::span<const std::byte> frame) = 0;

    /// The same for a RoCE frame that came without ICRC (WirePort::end_frame_without_icrc), and
    /// maybe without its payload. False: this engine wants whole frames and has not taken it.
    virtual bool receive_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload) {
        static_cast<void>(frame);
        static_cast<void>(payload);
        return false;
    }

    /// The same for a train of `packets` packets (WirePort::begin_train). False: not taken; it is
    /// to be cut into its packets.
    virtual bool receive_train(std::span<const std::byte> frame, const Elsewhere& payload,
                               unsigned packets) {
        static_cast<void>(frame);
        static_cast<void>(payload);
        static_cast<void>(packets);
        return false;
    }

    /// The link came up or went down.
    virtual void set_link(bool up) = 0;

    /// Memory of regions has become far since they were made (FarMemory::is_far()). `there` tells
    /// which pointers (HostPort::dma_pointer()) lead there: they are used no more, and frames whose
    /// payload is there are lost.
    virtual void memory_became_far(const std::function<bool(const std::byte*)>& there) {
        static_cast<void>(there);
    }

    /// For a host that is about to move a QP to ERR: it gets a turn for what was posted. True: more
    /// would leave soon, in a next run() or when its payload has come from far memory. False: not,
    /// there is no such QP, or this engine does not know.
    virtual bool send_posted(std::uint32_t qpn) {
        static_cast<void>(qpn);
        return false;
    }

    /// Sets the time and does at most about `budget` units of work (a packet, a command, a WQE).
    /// True: there is more to do at once. False: there is nothing to do until the next input or
    /// next_deadline().
    virtual bool run(Nanoseconds now, unsigned budget) = 0;

    /// Time at which run() must be called even if no input arrives; kNever when no timer is armed.
    [[nodiscard]] virtual Nanoseconds next_deadline() const = 0;

    /// nullopt: the card is not simulated clock by clock.
    [[nodiscard]] virtual std::optional<SimulatedClock> simulated_clock() const {
        return std::nullopt;
    }

    /// "model" or "rtl".
    [[nodiscard]] virtual std::string_view name() const = 0;
};

using EngineFactory = std::unique_ptr<Engine> (*)(const EngineConfig&, HostPort&, WirePort&);

/// Engines by name. A program calls each engine library's register function once at start
/// (dingo::model::register_model_engine()); a static initialiser in an archive could be dropped.
std::vector<std::string> engine_names();
/// Makes an engine. `host` and `wire` outlive it. nullptr when no engine has this name.
std::unique_ptr<Engine> make_engine(std::string_view name, const EngineConfig& config,
                                    HostPort& host, WirePort& wire);
/// Called by an engine library's register function.
void register_engine(std::string_view name, EngineFactory factory);

}  // namespace dingo
