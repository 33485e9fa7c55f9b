// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/gate.h"
#include "base/poller.h"
#include "dingo/engine.h"
#include "host/pci_function.h"

namespace dingo {

/// Handles frames that a kernel's network stack would handle: address resolution and ping.
class FrameTap {
  public:
    virtual ~FrameTap() = default;
    /// `frame` is ARP, ICMP or ICMPv6. Returns true if the frame was consumed, so that the engine
    /// does not get it.
    virtual bool on_tapped_frame(std::span<const std::byte> frame) = 0;
};

/// A card as seen by the driver in the same process: registers, doorbell pages, and the host's
/// frames in addition to the engine's. The driver may run in another thread than the card.
class LocalCard : public PciFunction {
  public:
    /// Every call that changes something acquires the gate itself. The caller holds the gate to
    /// make several calls atomic, and while it changes memory that the engine reads.
    [[nodiscard]] virtual const std::shared_ptr<Gate>& gate() = 0;

    /// Read from the engine's registers at construction.
    [[nodiscard]] virtual const PciIdentity& identity() const = 0;
    /// Runs the engine once, with the time of the last round.
    virtual void run_engine() = 0;
    /// Time of the last round.
    [[nodiscard]] virtual Nanoseconds now() const = 0;

    /// The doorbell pages; empty if the card has no doorbells in memory. Then the calls below do
    /// nothing.
    [[nodiscard]] virtual std::span<std::byte> doorbell_memory() const = 0;
    /// The first `count` doorbell pages are in use from now on; the others are not scanned.
    virtual void use_doorbell_pages(std::size_t count) = 0;
    /// Tells the card that the page was replaced by other, zeroed memory.
    virtual void renew_doorbell_page(std::size_t page) = 0;
    /// Clears the doorbell at this byte offset of the doorbell memory without delivering it.
    virtual void clear_doorbell(std::uint64_t offset) = 0;
    /// Scans the page after it was kicked.
    virtual void doorbell_page_kicked(std::size_t page) = 0;
    /// Writes `value` to the doorbell at this byte offset and delivers it at once.
    virtual void ring(std::uint64_t offset, std::uint64_t value) = 0;
    /// Calls `who` in the card's thread, with the gate held, whenever the descriptor is readable,
    /// until unwatch_kick(). Returns 0 if the card is not served yet, so that nothing watches the
    /// descriptor. Throws ErrnoError.
    virtual Poller::Id watch_kick(int fd, Pollable& who) = 0;
    virtual void unwatch_kick(Poller::Id id) = 0;

    /// Calls Engine::memory_became_far().
    virtual void memory_became_far(const std::function<bool(const std::byte*)>& there) {
        static_cast<void>(there);
    }
    /// Calls Engine::send_posted(). Doorbells rung before take_doorbells() are taken into account.
    virtual bool send_posted(std::uint32_t qpn) = 0;
    virtual void take_doorbells() = 0;

    /// Port for frames of the host, used with the gate held from begin_frame() on. The frames are
    /// sent at the end of the round or by flush_frames().
    [[nodiscard]] virtual WirePort& frames() = 0;
    virtual void flush_frames() = 0;
    /// Sets the tap, nullptr for none. The tap must outlive the card or be removed first. The
    /// card's thread calls it with the gate held.
    virtual void set_frame_tap(FrameTap* tap) = 0;
    /// Passes a frame that the tap consumed but does not need to the engine.
    virtual void pass_frame(std::span<const std::byte> frame) = 0;
    /// Returns true if the wire resolves addresses itself, so that no MAC addresses are needed.
    [[nodiscard]] virtual bool resolves_addresses() const = 0;
    /// The UDP source port with which the wire sends all frames, or 0 if frames keep their own.
    [[nodiscard]] virtual std::uint16_t fixed_source_port() const = 0;
};

}  // namespace dingo
