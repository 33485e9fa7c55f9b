// SPDX-License-Identifier: BSD-2-Clause
//
// The Ethernet function: TX and RX rings of struct eth_desc for everything that is not RoCE.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "capabilities.h"
#include "card_context.h"
#include "completion_queue.h"
#include "object_table.h"
#include "port.h"
#include "ring_memory.h"

namespace dingo::model {

inline constexpr std::size_t kEthernetHeader = 14;

/// One ring of either kind.
struct EthernetRing {
    CompletionQueue* cq = nullptr;
    RingMemory memory;
    unsigned log_size = 0;
    std::uint32_t producer = 0;  ///< as rung
    std::uint32_t consumer = 0;  ///< done
    bool stopped = false;        ///< its CQ is in error, or the ring cannot be read

    [[nodiscard]] std::uint32_t available() const noexcept { return producer - consumer; }
    [[nodiscard]] std::uint32_t size() const noexcept { return 1u << log_size; }
};

class Ethernet {
  public:
    Ethernet(CardContext& card, Port& port, ObjectTable<CompletionQueue>& cqs)
        : card_(card), port_(port), cqs_(cqs) {}

    /// CREATE_ETH, validated. On failure nothing has changed.
    RingMemory::Result create(const dingo_cmd_create_eth& command);
    void destroy(std::uint8_t kind, std::uint32_t ring);
    [[nodiscard]] EthernetRing* find(std::uint8_t kind, std::uint32_t ring) const noexcept;

    /// Doorbells. False, with nothing changed: no such ring, or an impossible producer index.
    bool doorbell(std::uint8_t kind, std::uint32_t ring, std::uint32_t producer);

    /// A frame that is not for the transport.
    void receive(std::span<const std::byte> frame);

    /// Sends up to `budget` frames, rings in turn. True: there is more to send at once.
    bool run(unsigned budget);
    /// When a frame that the wire refused is tried again; kNever when there is none.
    [[nodiscard]] Nanoseconds next_deadline() const noexcept { return retry_at_; }

  private:
    using Rings = std::array<std::unique_ptr<EthernetRing>, kEthRings>;
    enum class Step : std::uint8_t { kIdle, kDone, kWireBusy };

    Step transmit(EthernetRing& ring, std::uint32_t number);
    void complete(EthernetRing& ring, std::uint32_t number, dingo_cqe entry);
    bool fetch(EthernetRing& ring, std::uint32_t index, dingo_eth_desc& descriptor);
    EthernetRing* pick_rx(std::span<const std::byte> frame, std::uint32_t& number);

    CardContext& card_;
    Port& port_;
    ObjectTable<CompletionQueue>& cqs_;
    Rings tx_;
    Rings rx_;
    unsigned next_tx_ = 0;
    Nanoseconds retry_at_ = kNever;
};

}  // namespace dingo::model
