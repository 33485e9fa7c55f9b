// SPDX-License-Identifier: BSD-2-Clause
//
// The engine interface: implemented by the C++ model and by the Verilated RTL, and the only way in
// which hw/app and tests/conformance use a card.
//
// An engine is not thread-safe and uses no clock, socket or thread: time, host memory and the wire
// are ports. Calls come from one thread at a time; a port never calls back into the engine.
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

/// Nanoseconds since an arbitrary start; monotonic.
using Nanoseconds = std::uint64_t;
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

/// The host as the card's PCIe function sees it: bus-master reads and writes, MSI-X.
class HostPort {
  public:
    virtual ~HostPort() = default;

    /// Copies dst.size() bytes from bus address `addr`. Returns false on a bus error (`dst`
    /// undefined).
    virtual bool dma_read(std::uint64_t addr, std::span<std::byte> dst) = 0;

    /// Copies src (may overlap: dma_pointer()) to addr. Returns false on a bus error, after which a
    /// part may be written. Writes become visible to the host in call order. The last aligned
    /// 8-byte word of each write becomes visible last: the contract keeps phase bits there, and
    /// programs poll the last byte of a message.
    virtual bool dma_write(std::uint64_t addr, std::span<const std::byte> src) = 0;

    /// Executes an RDMA atomic on 8 bytes; `before` receives the old value. Returns false on a bus
    /// error. Hosts whose memory is changed concurrently use one locked instruction where possible.
    virtual bool dma_atomic(std::uint64_t addr, const FarMemory::Atomic& request,
                            std::uint64_t& before) {
        return request.make_by([&](std::span<std::byte> dst) { return dma_read(addr, dst); },
                               [&](std::span<const std::byte> src) { return dma_write(addr, src); },
                               before);
    }

    /// Returns a pointer to [addr, addr+len), valid until the next call into the engine returns, or
    /// nullptr if the range is not plain mapped memory. An engine may use it to save a copy; it
    /// must work without it.
    virtual std::byte* dma_pointer(std::uint64_t addr, std::size_t len) = 0;
    /// Returns true if a dma_pointer() into a region stays readable until the engine executes a
    /// later admin command other than create or query, is reset or destroyed: no memory is unmapped
    /// before.
    [[nodiscard]] virtual bool pointers_last() const { return false; }

    /// Sends MSI-X message `vector`. Masking is up to the host.
    virtual void raise_msix(unsigned vector) = 0;

    /// The port to memory that takes time to reach. nullptr: no such memory, or dma_read() and
    /// dma_write() block until it is reached, as they do for engines that do not use this port.
    virtual FarMemory* far_memory() { return nullptr; }
};

/// The wire's transmit side, and what it tells about itself. Frames are Ethernet frames from
/// destination MAC to the last payload byte: no preamble, no FCS.
class WirePort {
  public:
    virtual ~WirePort() = default;

    /// Returns room for one frame of up to max_len bytes, to be built in place; empty if the wire
    /// is full (the engine keeps its work and retries in a later run()).
    virtual std::span<std::byte> begin_frame(std::size_t max_len) = 0;
    /// The same for a frame to the MAC address `to`, most significant byte first on the wire.
    virtual std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) {
        static_cast<void>(to);
        return begin_frame(max_len);
    }
    /// Returns true if a full begin_frame_to() or begin_train() says nothing about other addresses.
    [[nodiscard]] virtual bool full_by_address() const { return false; }

    /// Sends the first `len` bytes of the room from begin_frame(); 0 returns it unused.
    virtual void end_frame(std::size_t len) = 0;

    /// Returns true if the open frame needs an ICRC, if it is RoCE. False: the frame stays in this
    /// host's memory, and nothing on its way reads or changes it.
    [[nodiscard]] virtual bool needs_icrc() const { return true; }
    /// Returns true if begin_train() may ever return room.
    [[nodiscard]] virtual bool takes_trains() const { return false; }
    /// Returns room for a packet train (dingo/packet/train.h) of `packets` packets to the card with
    /// MAC address `to`, most significant byte first on the wire. Ended as a frame without ICRC.
    /// nullopt: no trains to this address, send single packets; empty: the wire is full.
    virtual std::optional<std::span<std::byte>> begin_train(std::size_t max_len, unsigned packets,
                                                            std::uint64_t to) {
        static_cast<void>(max_len);
        static_cast<void>(packets);
        static_cast<void>(to);
        return std::nullopt;
    }
    /// end_frame() of a RoCE frame whose ICRC field is 0. Only if needs_icrc() is false.
    virtual void end_frame_without_icrc(std::size_t len) { end_frame(len); }

    /// Returns true if the payload of the open frame may stay in host memory until the frame is
    /// received. Only if needs_icrc() is false.
    [[nodiscard]] virtual bool takes_references() const { return false; }
    /// end_frame_without_icrc() of a frame whose payload, `offset` bytes into the frame, is at
    /// `payload`. That memory must stay valid as long as `held`, or, if that is null, until
    /// gather() returns.
    virtual void end_frame_referring(std::size_t len, std::size_t offset,
                                     std::span<const std::byte> payload, const Held& held) {
        static_cast<void>(offset);
        static_cast<void>(payload);
        static_cast<void>(held);
        end_frame(len);
    }
    /// Returns true if the open frame's peer still uses so much held memory that a frame with a
    /// held payload should be sent later. A peer that releases nothing soon gets copies instead,
    /// and this is false again.
    [[nodiscard]] virtual bool holds_enough() { return false; }
    /// Returns true once after holds_enough() has become false for a peer.
    [[nodiscard]] virtual bool has_let_go() { return false; }
    /// Copies all payloads that are still in memory that nothing holds. May block while a peer is
    /// receiving such a frame.
    virtual void gather() {}

    /// The card starts, or stops, receiving datagrams to the multicast group with the GID `group`.
    /// Only for wires that must join groups; most wires carry all frames to all cards.
    virtual void join_group(std::span<const std::uint8_t, 16> group) { static_cast<void>(group); }
    virtual void leave_group(std::span<const std::uint8_t, 16> group) { static_cast<void>(group); }
};

/// PCI BAR numbers of the contract (docs/reference/contract.md).
enum class Bar : std::uint8_t { kRegisters = 0, kDoorbells = 2, kMemory = 4 };

/// The card's memory behind BAR_MEM as an engine sees it: its size and counters of accesses by
/// others, which the server of the BAR counts. The engine accesses the bytes by DMA
/// (docs/reference/contract.md, card memory).
struct CardMemory {
    std::uint64_t size = 0;  ///< bytes, a power of two; 0: none
    bool counted = false;    ///< sets capability MEM_COUNTS
    std::atomic<std::uint64_t> in_requests = 0;
    std::atomic<std::uint64_t> in_bytes = 0;
    std::atomic<std::uint64_t> out_requests = 0;
    std::atomic<std::uint64_t> out_bytes = 0;
};

/// Faults injected into admin commands to test drivers. Its owner changes it between calls.
struct AdminFaults {
    std::bitset<256> refused;  ///< by opcode: refused with BAD_STATE
    /// by opcode: delay of the command and of all behind it
    std::array<Nanoseconds, 256> held = {};
    std::uint64_t met = 0;  ///< counted by the engine: commands that were delayed
};

/// Configuration of a card instance. All values have working defaults.
struct EngineConfig {
    /// factory MAC, most significant byte first on the wire
    std::uint64_t mac = 0x02'44'49'00'00'01;
    std::uint64_t seed = 1;        ///< for all random choices of the engine
    std::uint32_t max_qp = 16384;  ///< limits reported by QUERY_DEVICE; memory grows with use
    std::uint32_t max_cq = 16384;
    std::uint32_t max_mr = 65536;
    std::uint32_t max_srq = 4096;
    std::uint64_t link_mbps = 100'000;  ///< reported link speed
    bool memory_doorbells = false;      ///< BAR2 is shared memory: sets capability DB_MEMORY
    /// DINGO_CAP_* that the engine has but this card does not offer
    std::uint64_t withheld = 0;
    const CardMemory* memory = nullptr;  ///< outlives the engine; nullptr: none
    /// Outlives the engine; used by the model only.
    AdminFaults* admin_faults = nullptr;
};

/// Speed of a card simulated clock by clock on this machine. For display only: the card's behaviour
/// does not depend on it.
struct SimulatedClock {
    std::uint64_t cycles = 0;   ///< of the card's clock, since its creation
    Nanoseconds busy = 0;       ///< wall-clock time of these cycles; idle time is not counted
    Nanoseconds processor = 0;  ///< CPU time of the card's thread in `busy`
};

class Engine {
  public:
    virtual ~Engine() = default;

    /// Function-level reset: destroys all objects, resets registers, sends nothing.
    virtual void reset() = 0;

    /// Accesses a BAR at a byte offset: little endian, `size` 1, 2, 4 or 8, naturally aligned.
    /// Reads of undefined offsets return 0; writes to them are dropped and counted.
    virtual std::uint64_t mmio_read(Bar bar, std::uint64_t offset, unsigned size) = 0;
    virtual void mmio_write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) = 0;

    /// mmio_read() of a register that can be read inside another call, while the engine waits for
    /// its host; nullopt if this register cannot.
    [[nodiscard]] virtual std::optional<std::uint64_t> peek(Bar bar, std::uint64_t offset,
                                                            unsigned size) const {
        static_cast<void>(bar);
        static_cast<void>(offset);
        static_cast<void>(size);
        return std::nullopt;
    }

    /// Receives a frame, from destination MAC to the last byte before the FCS. The engine copies
    /// what it needs before it returns.
    virtual void receive(std::span<const std::byte> frame) = 0;

    /// The same for a RoCE frame without ICRC (WirePort::end_frame_without_icrc), and maybe without
    /// its payload. Returns false, and ignores the frame, if this engine needs complete frames.
    virtual bool receive_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload) {
        static_cast<void>(frame);
        static_cast<void>(payload);
        return false;
    }

    /// The same for a train of `packets` packets (WirePort::begin_train). Returns false if not
    /// taken: the caller has to split it into packets.
    virtual bool receive_train(std::span<const std::byte> frame, const Elsewhere& payload,
                               unsigned packets) {
        static_cast<void>(frame);
        static_cast<void>(payload);
        static_cast<void>(packets);
        return false;
    }

    /// The link came up or went down.
    virtual void set_link(bool up) = 0;

    /// Tells the engine that memory of existing regions has become far (FarMemory::is_far()).
    /// `there` returns true for pointers (from HostPort::dma_pointer()) into that memory: the
    /// engine must not use them any more, and drops frames whose payload is there.
    virtual void memory_became_far(const std::function<bool(const std::byte*)>& there) {
        static_cast<void>(there);
    }

    /// For a host that is about to move a QP to ERR: gives the QP a turn to send what was posted.
    /// Returns true if more can leave soon, in the next run() or when its payload arrives from far
    /// memory. False: nothing more, no such QP, or not supported by this engine.
    virtual bool send_posted(std::uint32_t qpn) {
        static_cast<void>(qpn);
        return false;
    }

    /// Sets the time and does at most about `budget` units of work (packets, commands, WQEs).
    /// Returns true if there is more to do at once; false if there is nothing to do until the next
    /// input or next_deadline().
    virtual bool run(Nanoseconds now, unsigned budget) = 0;

    /// Time at which run() must be called even without input; kNever if no timer is armed.
    [[nodiscard]] virtual Nanoseconds next_deadline() const = 0;

    /// nullopt: the card is not simulated clock by clock.
    [[nodiscard]] virtual std::optional<SimulatedClock> simulated_clock() const {
        return std::nullopt;
    }

    /// Describes the engine for users: begins with "model: " or "rtl: ".
    [[nodiscard]] virtual std::string_view name() const = 0;
};

using EngineFactory = std::unique_ptr<Engine> (*)(const EngineConfig&, HostPort&, WirePort&);

/// Returns the names of the registered engines. A program calls each engine library's register
/// function once at start (dingo::model::register_model_engine()); a static initialiser in an
/// archive could be dropped by the linker.
std::vector<std::string> engine_names();
/// Creates an engine. `host` and `wire` must outlive it. nullptr if the name is unknown.
std::unique_ptr<Engine> make_engine(std::string_view name, const EngineConfig& config,
                                    HostPort& host, WirePort& wire);
/// Called by an engine library's register function.
void register_engine(std::string_view name, EngineFactory factory);

}  // namespace dingo
