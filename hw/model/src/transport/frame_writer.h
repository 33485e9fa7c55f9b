// SPDX-License-Identifier: BSD-2-Clause
//
// Builds a RoCE frame in place in the wire's buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../card_context.h"
#include "../port.h"
#include "../queue_pair.h"
#include "dingo/packet/build.h"

namespace dingo::model {

/// Payloads of at least this size stay in memory until they are copied to their destination.
inline constexpr std::size_t kReferredBytes = 512;

class FrameWriter {
  public:
    FrameWriter(CardContext& card, const Port& port) : card_(card), port_(port) {}

    /// Reserves room and writes all headers. Returns false if the wire is full or the frame cannot
    /// be built. A port that is down accepts every frame and discards it, like one without a link.
    /// `own_members`: QPs of this card in the multicast group; for them a frame to the wire also
    /// loops back.
    /// `of_all`: all users of the card wait behind this frame, so it must not wait long for one
    /// peer.
    bool open(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
              std::size_t payload_bytes, unsigned own_members = 0, bool of_all = false);
    /// The same for a train of the first `most` packets of a message, or if no train can go there,
    /// for the first packet. headers(n) and bytes(n) are those of n packets. Returns the number of
    /// packets; 0 as false of open().
    template <typename Headers, typename Bytes>
    unsigned open_most(const packet::HeaderTemplate& path, unsigned most, Headers headers,
                       Bytes bytes) {
        if (most > 1 && (card_.wire.takes_trains() || port_.loops_back(path.headers()))) {
            const Train train = open_train(path, headers(most), bytes(most), most);
            if (train != Train::kNone)
                return train == Train::kOpen ? most : 0;
        }
        return open(path, headers(1), bytes(1)) ? 1 : 0;
    }
    /// The frame's payload: fill it before send(), or call refer().
    [[nodiscard]] std::span<std::byte> payload() const noexcept { return builder_.payload(); }
    /// The payload is at `source` (HostPort::dma_pointer) and is copied from there: by send(), or
    /// for a looped frame when it is received. `stays`: it does not change before the frame is
    /// acknowledged, so it may also be copied when the frame is received from the wire.
    void refer(const std::byte* source, bool stays) noexcept {
        source_ = source;
        stays_ = stays;
    }
    /// The same for a payload that is held and therefore does not change.
    void refer(Elsewhere source) noexcept {
        source_ = source.at;
        stays_ = true;
        held_ = std::move(source.held);
    }
    /// Returns true if held payload should be sent later (WirePort::holds_enough).
    [[nodiscard]] bool holds_enough() { return way_ == Way::kWire && card_.wire.holds_enough(); }
    /// Returns true if the open frame loops back.
    [[nodiscard]] bool loops_back() const noexcept { return way_ == Way::kLoopback; }
    /// Adds pad and, if the wire needs it, the ICRC, and sends; updates counters of card and QP.
    void send(QueuePair& qp);
    /// Discards the open frame.
    void cancel();

    /// Number of packets in the frame opened last: more than 1 for a train.
    [[nodiscard]] unsigned packets() const noexcept { return packets_; }

    /// Cost of all frames sent so far, in the units of cost.h. Copies for the card's own members of
    /// a multicast group are charged when sent, before they are received: otherwise a few frames
    /// could cause much work.
    [[nodiscard]] std::int64_t cost() const noexcept { return cost_; }

    /// Returns true if the wire was full since clear_busy(), in general or for one address.
    [[nodiscard]] bool busy() const noexcept { return full_ != Full::kNo; }
    /// Returns true if it was full for all addresses.
    [[nodiscard]] bool all_busy() const noexcept { return full_ == Full::kAll; }
    /// The address for which it was full, if others may have room.
    [[nodiscard]] std::uint64_t full_address() const noexcept { return full_address_; }
    void clear_busy() noexcept { full_ = Full::kNo; }

  private:
    /// Destination of the open frame.
    enum class Way : std::uint8_t { kWire, kLoopback, kNowhere };
    enum class Full : std::uint8_t { kNo, kAddress, kAll };

    enum class Train : std::uint8_t {
        kOpen,
        kNone,  ///< no train can go there
        kBusy,  ///< the wire is full
    };

    Train open_train(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
                     std::size_t payload_bytes, unsigned packets);
    std::span<std::byte> room_for(const packet::HeaderTemplate& path, std::size_t bytes,
                                  bool of_all);
    void look_where(const packet::HeaderTemplate& path);
    /// Records that there was no room for a frame to this address (0: to any), on the wire or in
    /// the loopback.
    void set_busy(std::uint64_t address, bool on_wire);
    /// Completes the frame, passes it to the wire and returns its length.
    std::size_t send_to_wire(const QueuePair& qp);

    CardContext& card_;
    const Port& port_;
    packet::FrameBuilder builder_;
    std::uint16_t ip_id_ = 0;
    unsigned packets_ = 1;        ///< packets of the frame; more than one: a train
    std::size_t wire_bytes_ = 0;  ///< total length of a train's packets
    Full full_ = Full::kNo;
    std::uint64_t full_address_ = 0;
    Way way_ = Way::kNowhere;
    unsigned copies_ = 0;  ///< number of looped copies of a frame to the wire
    std::int64_t cost_ = 0;
    const std::byte* source_ = nullptr;
    bool stays_ = false;  ///< the payload at source_ does not change
    Held held_;
    alignas(64) std::array<std::byte, packet::kMaxRoceFrameBytes> discarded_;
};

}  // namespace dingo::model
