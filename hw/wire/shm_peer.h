// SPDX-License-Identifier: BSD-2-Clause
//
// Another card on a shared-memory segment: a SOCK_SEQPACKET connection and two rings.
//
// The later card connects, creates the memory and sends it with its hello. The earlier card maps it
// if it is sealed and of the right size, and answers with a hello. After that, a message of one
// byte is a kick (look at the rings); others are about memory (shm_segments.h). Unlike an eventfd,
// a socket shows the peer's death and cannot be made to block this side.
//
// Two cards served by one thread need only the rings; a kick is a flag (local_pair).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/foreign_fd.h"
#include "base/hung_up.h"
#include "wire/shm_holds.h"
#include "wire/shm_ring.h"
#include "wire/shm_segments.h"

namespace dingo {

/// What a card on the segment tells about itself.
struct ShmCard {
    std::uint64_t mac = 0;
    bool wants_icrc = false;  ///< in all frames that it receives
    bool references = true;   ///< accepts and offers clients' memory, with cards of the same user
};

class ShmPeer {
  public:
    /// Connects to the card at `address`; null with errno set if no card listens.
    static std::unique_ptr<ShmPeer> connect(const std::string& address, const ShmCard& own);
    /// Called after connect(): creates the rings and sends the hello. Returns false with errno set
    /// on failure.
    bool greet();
    /// An accepted connection; ready() once its hello was received.
    ShmPeer(ForeignSocket socket, const ShmCard& own);
    /// Creates both ends between two cards of one thread, ready at once: the first is held by the
    /// card `first`, the second by `second`. Throws std::system_error.
    static std::pair<std::unique_ptr<ShmPeer>, std::unique_ptr<ShmPeer>> local_pair(
        const ShmCard& first, const ShmCard& second);
    ~ShmPeer();
    ShmPeer(const ShmPeer&) = delete;
    ShmPeer& operator=(const ShmPeer&) = delete;

    /// -1 for a local end.
    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] bool ready() const { return tx_.has_value(); }
    /// The peer has closed the connection, was turned away, or has violated the protocol. Frames
    /// that it sent may still be in the ring.
    [[nodiscard]] bool gone() const { return gone_ || turned_away_ || bad(); }
    [[nodiscard]] bool bad() const { return bad_ || (ready() && (tx_->bad() || rx_->bad())); }
    /// The peer's hello had another version.
    [[nodiscard]] bool speaks_otherwise() const { return other_version_ != 0; }
    /// Returns a line for the log if a peer that is gone probably runs another build, else "".
    [[nodiscard]] std::string stranger() const;
    /// The address that connect() used; "" for an accepted connection.
    [[nodiscard]] const std::string& address() const { return address_; }
    /// PID of the peer's process; 0 for a local end.
    [[nodiscard]] pid_t process() const { return process_; }
    /// 0 until the peer's hello was received.
    [[nodiscard]] std::uint64_t mac() const { return card_.mac; }
    /// The peer wants an ICRC in all frames, or its hello was not received yet.
    [[nodiscard]] bool wants_icrc() const { return mac() == 0 || card_.wants_icrc; }

    /// Returns true if payloads may stay in memory: the peer is local, or accepts memory of this
    /// user's cards.
    [[nodiscard]] bool takes_references() const {
        return tx_->local() || (own_.references && card_.references && same_user_);
    }
    /// Returns where the peer finds `payload` in memory that it has mapped; empty if it cannot. Not
    /// for local ends.
    std::optional<ShmReference> reference(std::span<const std::byte> payload) {
        return offers_->find(payload, [this](const auto& m, int fd) { return send(m, fd); });
    }
    /// Returns the payload of a received frame; nullptr if the reference is invalid. Not for local
    /// ends.
    [[nodiscard]] const std::byte* referred(std::uint64_t word) const {
        return takings_->at(ShmReference::of(word));
    }
    /// The peer has violated the protocol.
    void break_off() { bad_ = true; }
    /// Gives the peer's place up.
    void turn_away() { turned_away_ = true; }
    [[nodiscard]] bool turned_away() const { return turned_away_; }
    /// Copies referenced payloads that are not held, or `all`, into their frames. A peer that reads
    /// one frame for longer than `patience` is dropped.
    void gather(std::chrono::nanoseconds patience, bool all = false) {
        bad_ = !tx_->gather(all, patience, [this] { return has_hung_up(socket_.get()); }) || bad_;
    }
    /// The same without waiting, except for payloads that the peer is reading. Returns true if none
    /// is left.
    [[nodiscard]] bool gather_unread() { return tx_->gather_unread(); }
    /// Returns what holds the payload of the received frame. Only for local ends.
    [[nodiscard]] Held holder() const {
        return other_ != nullptr ? other_->tx_->held_at(rx_->position()) : nullptr;
    }
    /// Keeps the payload at `at`, of a frame of `bytes` bytes, which referred() returned. Null: the
    /// payload is valid only until the frame is popped.
    [[nodiscard]] Held hold(std::uint64_t word, const std::byte* at, std::size_t bytes) {
        const auto& lent = takings_->lent(ShmReference::of(word));
        return lent != nullptr ? holds_.hold(lent, at, bytes, rx_->position()) : nullptr;
    }

    ShmProducer& tx() { return *tx_; }
    ShmConsumer& rx() { return *rx_; }

    /// Makes queued frames visible to the peer and wakes it if it sleeps.
    void publish() {
        if (tx_->publish())
            kick();
    }
    /// Releases the room of popped frames, and lent memory that is no longer held.
    void release() {
        bool waits = false;
        if (std::uint64_t position = 0; holds_.let_go(rx_->tail(), position))
            waits = rx_->let_go(position);
        if (rx_->release() || waits)
            kick();
    }

    /// The socket is readable: handles hellos, kicks and memory messages within `budget`; returns
    /// the rest.
    unsigned service(unsigned budget);
    /// Tells the peer which memory was removed, and sends answers that did not fit into the socket
    /// before.
    void tell();

    /// Kicked by a card of this thread since the last clear_kick().
    [[nodiscard]] bool kicked() const { return kicked_; }
    void clear_kick() { kicked_ = false; }

    /// The peer's hello was received, so it can no longer remove pages of the rings.
    [[nodiscard]] bool met() const { return mac() != 0; }
    /// The peer has not said hello yet.
    [[nodiscard]] bool silent() const { return !ready() && !gone(); }
    Nanoseconds accepted = 0;  ///< time of accept() or connect()

    /// since when the lent memory is at its limit and senders wait
    Nanoseconds lent_since = kNever;
    /// the peer keeps lent memory for too long: senders do not wait for it
    bool keeps_lent = false;

    // For senders: since when the ring is full, and whether they have given up on the peer.
    Nanoseconds full_since = kNever;
    bool stuck = false;
    /// the consumer's position then; the peer is stuck until it changes
    std::uint64_t stuck_at = 0;
    void give_up() {
        stuck = true;
        stuck_at = tx_->tail();
    }
    [[nodiscard]] bool is_stuck() const { return stuck && tx_->tail() == stuck_at; }

  private:
    struct Hello {
        std::uint32_t magic;
        std::uint32_t version;
        std::uint64_t mac;
        std::uint64_t ring_bytes;
        std::uint64_t flags;
    };

    void kick();
    bool send(const ShmSlotMessage& message, int fd);
    /// `lost`: the descriptor was lost because this process has no room for it.
    bool take_message(const ShmSlotMessage& message, int fd, bool lost);
    bool map(int memory, bool ours);
    void use(std::shared_ptr<std::byte> memory, bool ours, bool local);
    bool send_hello(int memory);
    void take_hello(const Hello& hello, int memory);
    void refuse_version(std::uint32_t version);

    ForeignSocket socket_;
    std::string address_;
    ShmCard own_;
    ShmCard card_;                       // the peer
    std::shared_ptr<std::byte> memory_;  // shared by both ends if they are local
    UniqueFd made_;                      // the memory, until the peer has mapped it
    std::optional<ShmProducer> tx_;
    std::optional<ShmConsumer> rx_;
    // Null at a local end.
    std::unique_ptr<ShmOffers> offers_;
    std::unique_ptr<ShmTakings> takings_;
    ShmHolds holds_;
    std::vector<ShmSlotMessage> unsent_;  // answers that did not fit into the socket
    bool same_user_ = false;
    pid_t process_ = 0;
    ShmPeer* other_ = nullptr;  // the other local end, while it exists
    bool kicked_ = false;
    bool gone_ = false;
    bool turned_away_ = false;
    bool bad_ = false;
    std::uint32_t other_version_ = 0;  ///< version of its hello if it differs
};

}  // namespace dingo
