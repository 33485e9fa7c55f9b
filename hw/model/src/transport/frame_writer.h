// SPDX-License-Identifier: BSD-2-Clause
//
// One RoCE frame, built in place in the wire's buffer.
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

/// Payloads from this size on stay where they are until they are copied to their destination.
inline constexpr std::size_t kReferredBytes = 512;

class FrameWriter {
  public:
    FrameWriter(CardContext& card, const Port& port) : card_(card), port_(port) {}

    /// Takes room from the wire and writes all headers. False: the wire is busy, or the frame
    /// cannot be built. A port that is down takes every frame and forgets it, as one
    /// without a link does.
    /// `own_members`: QPs of this card that are in the multicast group; for them what goes to the
    /// wire also loops back.
    /// `of_all`: all who use the card wait behind it, so that it may not wait for one peer for
    /// long.
    bool open(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
              std::size_t payload_bytes, unsigned own_members = 0, bool of_all = false);
    /// The same for the first `most` packets of a message, or where no train goes for the first
    /// one. headers(n) and bytes(n) are those of n packets. How many it has; 0: as false of open().
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
    /// The frame's payload: fill it before send(), or name it with refer().
    [[nodiscard]] std::span<std::byte> payload() const noexcept { return builder_.payload(); }
    /// The payload is at `source` (HostPort::dma_pointer) and is taken from there: by send(), or
    /// where the frame loops back, when it is received.
    /// `stays`: it does not change before the frame is acknowledged, so it may be taken when the
    /// frame is received from the wire, too.
    void refer(const std::byte* source, bool stays) noexcept {
        source_ = source;
        stays_ = stays;
    }
    /// The same for a payload that is held and so stays.
    void refer(Elsewhere source) noexcept {
        source_ = source.at;
        stays_ = true;
        held_ = std::move(source.held);
    }
    /// What is held should be sent later (WirePort::holds_enough).
    [[nodiscard]] bool holds_enough() { return way_ == Way::kWire && card_.wire.holds_enough(); }
    /// The frame loops back.
    [[nodiscard]] bool loops_back() const noexcept { return way_ == Way::kLoopback; }
    /// Adds pad and, where the wire needs it, the ICRC, and sends; counts for card and QP.
    void send(QueuePair& qp);
    /// Gives the room back.
    void cancel();

    /// Number of packets in the frame that was opened last: more than 1 in a train.
    [[nodiscard]] unsigned packets() const noexcept { return packets_; }

    /// Cost of all frames sent so far, in the units of cost.h. Copies for the card's own members of
    /// a multicast group count when sent, before anybody receives one: else a few frames could make
    /// much work.
    [[nodiscard]] std::int64_t cost() const noexcept { return cost_; }

    /// The wire had no room since clear_busy(), for anybody or at one address.
    [[nodiscard]] bool busy() const noexcept { return full_ != Full::kNo; }
    /// It had none for anybody.
    [[nodiscard]] bool all_busy() const noexcept { return full_ == Full::kAll; }
    /// Where it had none, when others may have some.
    [[nodiscard]] std::uint64_t full_address() const noexcept { return full_address_; }
    void clear_busy() noexcept { full_ = Full::kNo; }

  private:
    /// Where the frame goes.
    enum class Way : std::uint8_t { kWire, kLoopback, kNowhere };
    enum class Full : std::uint8_t { kNo, kAddress, kAll };

    enum class Train : std::uint8_t {
        kOpen,
        kNone,  ///< no train goes there
        kBusy,  ///< the wire is busy
    };

    Train open_train(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
                     std::size_t payload_bytes, unsigned packets);
    std::span<std::byte> room_for(const packet::HeaderTemplate& path, std::size_t bytes,
                                  bool of_all);
    void look_where(const packet::HeaderTemplate& path);
    /// No room for a frame to this address, 0: to any; on the wire, or in the loopback.
    void set_busy(std::uint64_t address, bool on_wire);
    /// Completes the frame, gives it to the wire and returns its length.
    std::size_t send_to_wire(const QueuePair& qp);

    CardContext& card_;
    const Port& port_;
    packet::FrameBuilder builder_;
    std::uint16_t ip_id_ = 0;
    unsigned packets_ = 1;        ///< of the frame; more than one: a train
    std::size_t wire_bytes_ = 0;  ///< of the packets of a train
    Full full_ = Full::kNo;
    std::uint64_t full_address_ = 0;
    Way way_ = Way::kNowhere;
    unsigned copies_ = 0;  ///< that loop back of the frame for the wire
    std::int64_t cost_ = 0;
    const std::byte* source_ = nullptr;
    bool stays_ = false;  ///< what is there
    Held held_;
    alignas(64) std::array<std::byte, packet::kMaxRoceFrameBytes> discarded_;
};

}  // namespace dingo::model
