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

/// Takes the frames that a kernel's network stack would handle: address resolution and ping.
class FrameTap {
  public:
    virtual ~FrameTap() = default;
    /// `frame` is ARP, ICMP or ICMPv6. True: taken, so the engine does not get it.
    virtual bool on_tapped_frame(std::span<const std::byte> frame) = 0;
};

/// A card as the driver in its own process sees it: registers, doorbell pages, and frames of the
/// host beside those of the engine. The driver may run in another thread than the card.
class LocalCard : public PciFunction {
  public:
    /// Every call that changes something takes the gate for itself. A caller holds it where several
    /// belong together, and while it changes memory that the engine reads.
    [[nodiscard]] virtual const std::shared_ptr<Gate>& gate() = 0;

    /// Read from the engine's registers when the card is made.
    [[nodiscard]] virtual const PciIdentity& identity() const = 0;
    /// Runs the engine once, with the time of the last round.
    virtual void run_engine() = 0;
    /// Time of the last round.
    [[nodiscard]] virtual Nanoseconds now() const = 0;

    /// The doorbell pages; empty when the card has no doorbells in memory. Then the calls below do
    /// nothing.
    [[nodiscard]] virtual std::span<std::byte> doorbell_memory() const = 0;
    /// The first `count` doorbell pages are in use from now on; the others are not scanned.
    virtual void use_doorbell_pages(std::size_t count) = 0;
    /// The memory of the page was replaced by other memory, all zero.
    virtual void renew_doorbell_page(std::size_t page) = 0;
    /// Clears the doorbell at this byte offset of the doorbell memory, without delivering it.
    virtual void clear_doorbell(std::uint64_t offset) = 0;
    /// The page was kicked: scan it.
    virtual void doorbell_page_kicked(std::size_t page) = 0;
    /// Writes `value` to the doorbell at this byte offset and delivers it at once.
    virtual void ring(std::uint64_t offset, std::uint64_t value) = 0;
    /// Calls `who` in the card's thread, with the gate held, whenever the descriptor is readable,
    /// until unwatch_kick(). 0: the card is not served yet, nobody watches. Throws ErrnoError.
    virtual Poller::Id watch_kick(int fd, Pollable& who) = 0;
    virtual void unwatch_kick(Poller::Id id) = 0;

    /// Engine::memory_became_far().
    virtual void memory_became_far(const std::function<bool(const std::byte*)>& there) {
        static_cast<void>(there);
    }
    /// Engine::send_posted(), which knows of every doorbell that was rung before take_doorbells().
    virtual bool send_posted(std::uint32_t qpn) = 0;
    virtual void take_doorbells() = 0;

    /// Sends frames of the host, from begin_frame() on with the gate held. They leave at the end of
    /// the round, or at flush_frames().
    [[nodiscard]] virtual WirePort& frames() = 0;
    virtual void flush_frames() = 0;
    /// `tap` outlives the card, or is removed first; nullptr: none. The card's thread calls it with
    /// the gate held.
    virtual void set_frame_tap(FrameTap* tap) = 0;
    /// The engine gets a frame that the tap took and has no use for.
    virtual void pass_frame(std::span<const std::byte> frame) = 0;
    /// True when the wire resolves addresses itself, so that no MAC addresses are needed.
    [[nodiscard]] virtual bool resolves_addresses() const = 0;
    /// The UDP source port that all frames leave with, whatever they contain; 0: their own.
    [[nodiscard]] virtual std::uint16_t fixed_source_port() const = 0;
};

}  // namespace dingo
