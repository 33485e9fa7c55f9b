// SPDX-License-Identifier: BSD-2-Clause
//
// The Ethernet function: TX and RX rings of struct eth_desc for all frames that are not RoCE.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "capabilities.h"
#include "card_context.h"
#include "completion_queue.h"
#include "flow_hash.h"
#include "object_table.h"
#include "port.h"
#include "ring_memory.h"
#include "segmentation.h"

namespace dingo::model {

/// A TX or RX ring.
struct EthernetRing {
    CompletionQueue* cq = nullptr;
    RingMemory memory;
    unsigned log_size = 0;
    std::uint32_t producer = 0;  ///< from the doorbell
    std::uint32_t consumer = 0;  ///< index of the next descriptor
    bool stopped = false;        ///< its CQ is in error, or the ring cannot be read

    std::unique_ptr<Segmentation> segmentation;  ///< created by the first frame with TSO
    std::uint32_t segmented_pieces = 0;          ///< descriptors of the frame being segmented
    std::uint64_t segmented_length = 0;

    [[nodiscard]] std::uint32_t available() const noexcept { return producer - consumer; }
    [[nodiscard]] std::uint32_t size() const noexcept { return 1u << log_size; }
};

class Ethernet {
  public:
    Ethernet(CardContext& card, Port& port, ObjectTable<CompletionQueue>& cqs)
        : card_(card),
          port_(port),
          cqs_(cqs),
          offloads_((capabilities(card.config) & DINGO_CAP_ETH_OFFLOAD) != 0) {}

    /// CREATE_ETH, already validated. Changes nothing on failure.
    RingMemory::Result create(const dingo_cmd_create_eth& command);
    void destroy(std::uint8_t kind, std::uint32_t ring);
    [[nodiscard]] EthernetRing* find(std::uint8_t kind, std::uint32_t ring) const noexcept;

    /// Handles a doorbell. Returns false, and changes nothing, if the ring does not exist or the
    /// producer index is invalid.
    bool doorbell(std::uint8_t kind, std::uint32_t ring, std::uint32_t producer);

    /// Receives a frame that is not for the transport.
    void receive(std::span<const std::byte> frame);

    /// Sends up to `budget` frames, round robin over the rings. Returns true if there is more to
    /// send at once.
    bool run(unsigned budget);
    /// Time to retry a frame that the wire refused; kNever if none.
    [[nodiscard]] Nanoseconds next_deadline() const noexcept { return retry_at_; }

    /// SET_RSS, already validated.
    [[nodiscard]] ReceiveSideScaling& rss() noexcept { return rss_; }

  private:
    using Rings = std::array<std::unique_ptr<EthernetRing>, kEthRings>;
    enum class Step : std::uint8_t { kIdle, kDone, kWireBusy };

    /// The descriptors of a frame to be sent.
    struct Pieces {
        static constexpr std::uint32_t kMost = 64;
        std::array<dingo_eth_desc, kMost> at;
        std::uint32_t count = 0;
        std::uint64_t length = 0;
        bool good = true;

        [[nodiscard]] bool has(std::uint8_t flag) const noexcept {
            return (at[0].flags & flag) != 0;
        }
        [[nodiscard]] std::size_t start() const noexcept { return std::size_t{2} * at[0].start; }
    };

    Step transmit(EthernetRing& ring, std::uint32_t number);
    /// Returns false if the last descriptor of the frame was not posted yet, or the ring cannot be
    /// read.
    bool find_frame(EthernetRing& ring, Pieces& pieces);
    [[nodiscard]] bool is_good(const dingo_eth_desc& descriptor, const Pieces& before) const;
    bool gather(const Pieces& pieces, std::span<std::byte> room);
    Step send_frame(EthernetRing& ring, std::uint32_t number, const Pieces& pieces);
    Step begin_segments(EthernetRing& ring, std::uint32_t number, const Pieces& pieces);
    Step send_segment(EthernetRing& ring, std::uint32_t number);
    void count_sent(std::uint64_t bytes);
    /// Completes the frame of `pieces` descriptors; `good`: it was sent.
    void sent(EthernetRing& ring, std::uint32_t number, std::uint32_t pieces, std::uint64_t length,
              bool good);
    void complete(EthernetRing& ring, std::uint32_t number, dingo_cqe entry);
    bool fetch(EthernetRing& ring, std::uint32_t index, dingo_eth_desc& descriptor);
    EthernetRing* pick_rx(const FrameHeaders& headers, std::span<const std::byte> frame,
                          std::uint32_t& number, dingo_cqe& entry);

    CardContext& card_;
    Port& port_;
    ObjectTable<CompletionQueue>& cqs_;
    bool offloads_;
    ReceiveSideScaling rss_;
    Rings tx_;
    Rings rx_;
    unsigned next_tx_ = 0;
    Nanoseconds retry_at_ = kNever;
};

}  // namespace dingo::model
