// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dingo/engine.h"
#include "host/pci_function.h"

namespace dingo {

/// Takes frames that are for the host's network stack where there is none: address resolution,
/// ping.
class FrameTap {
  public:
    virtual ~FrameTap() = default;
    /// ARP, ICMP or ICMPv6. True: taken, the engine does not see it.
    virtual bool on_tapped_frame(std::span<const std::byte> frame) = 0;
};

/// A card as the driver in its own process sees it: registers, doorbell pages, and frames of the
/// host beside those of the engine.
class LocalCard : public PciFunction {
  public:
    /// From the engine's registers.
    [[nodiscard]] virtual const PciIdentity& identity() const = 0;
    /// Does some of the engine's work, at the time of the last round.
    virtual void run_engine() = 0;
    /// Time of the last round.
    [[nodiscard]] virtual Nanoseconds now() const = 0;

    /// Empty without doorbells in memory; then the calls below do nothing.
    [[nodiscard]] virtual std::span<std::byte> doorbell_memory() const = 0;
    /// The first `count` pages are in use from now on.
    virtual void use_doorbell_pages(std::size_t count) = 0;
    /// Other memory lies where the page was.
    virtual void renew_doorbell_page(std::size_t page) = 0;
    /// Takes away what was written to the doorbell at this offset of the doorbell memory.
    virtual void clear_doorbell(std::uint64_t offset) = 0;
    /// The page was kicked: scan it.
    virtual void doorbell_page_kicked(std::size_t page) = 0;
    /// As a write of `value` to the doorbell at this offset, seen at once.
    virtual void ring(std::uint64_t offset, std::uint64_t value) = 0;

    /// Where frames of the host go out. They leave with the round, or at flush_frames().
    [[nodiscard]] virtual WirePort& frames() = 0;
    virtual void flush_frames() = 0;
    /// nullptr: no tap. It outlives the card, or is taken away first.
    virtual void set_frame_tap(FrameTap* tap) = 0;
    /// True when the network below finds MAC addresses itself.
    [[nodiscard]] virtual bool resolves_addresses() const = 0;
    /// The UDP source port that all frames leave with whatever they say; 0: their own.
    [[nodiscard]] virtual std::uint16_t fixed_source_port() const = 0;
};

}  // namespace dingo
