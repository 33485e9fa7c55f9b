// SPDX-License-Identifier: BSD-2-Clause
//
// One other card on a shared-memory segment: a SOCK_SEQPACKET connection and two rings.
//
// The later card connects, creates the memory and sends it with its hello. The earlier card maps it
// if it is sealed and of the right size, and answers with a hello. After that, each message of one
// byte is a kick: look at the rings; others are about memory (shm_segments.h). Unlike an eventfd, a
// socket shows the peer's death and cannot be made to block us.
//
// Two cards that one thread serves need none of this: they have the rings alone, and a kick is a
// flag (local_pair).
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

/// What a card on the segment says of itself.
struct ShmCard {
    std::uint64_t mac = 0;
    bool wants_icrc = false;  ///< in all frames that it receives
    bool references = true;   ///< takes clients' memory of cards of its user, and hands it over
};

class ShmPeer {
  public:
    /// Connects to the card at `address`; null with errno set when no card listens.
    static std::unique_ptr<ShmPeer> connect(const std::string& address, const ShmCard& own);
    /// Then: makes the rings and says our hello. False, with errno: it cannot.
    bool greet();
    /// A connection that was accepted; ready() when its hello came.
    ShmPeer(ForeignSocket socket, const ShmCard& own);
    /// The two ends between cards of one thread, ready at once: what the card `first` holds, and
    /// what the card `second` does. Throws std::system_error.
    static std::pair<std::unique_ptr<ShmPeer>, std::unique_ptr<ShmPeer>> local_pair(
        const ShmCard& first, const ShmCard& second);
    ~ShmPeer();
    ShmPeer(const ShmPeer&) = delete;
    ShmPeer& operator=(const ShmPeer&) = delete;

    /// -1 at a local end.
    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] bool ready() const { return tx_.has_value(); }
    /// The peer has gone or has broken the protocol. Frames that it sent may still be in the ring.
    [[nodiscard]] bool gone() const { return gone_ || turned_away_ || bad(); }
    [[nodiscard]] bool bad() const { return bad_ || (ready() && (tx_->bad() || rx_->bad())); }
    /// It has said a hello of another version.
    [[nodiscard]] bool speaks_otherwise() const { return other_version_ != 0; }
    /// Text for the log when a peer that has gone probably runs another build, else "".
    [[nodiscard]] std::string stranger() const;
    /// Where connect() has found it; "": it came by itself.
    [[nodiscard]] const std::string& address() const { return address_; }
    /// PID of the peer's process. Not at a local end.
    [[nodiscard]] pid_t process() const { return process_; }
    /// 0 until it is known.
    [[nodiscard]] std::uint64_t mac() const { return card_.mac; }
    /// It wants an ICRC in all frames, or has not yet said that it does not.
    [[nodiscard]] bool wants_icrc() const { return mac() == 0 || card_.wants_icrc; }

    /// Whether payloads may stay in memory: the peer is in this thread, or takes memory that it is
    /// handed.
    [[nodiscard]] bool takes_references() const {
        return tx_->local() || (own_.references && card_.references && same_user_);
    }
    /// Where the peer finds `payload` in memory that it was handed; empty: it cannot. Not local.
    std::optional<ShmReference> reference(std::span<const std::byte> payload) {
        return offers_->find(payload, [this](const auto& m, int fd) { return send(m, fd); });
    }
    /// The payload of a received frame; nullptr: the reference is wrong. Not local.
    [[nodiscard]] const std::byte* referred(std::uint64_t word) const {
        return takings_->at(ShmReference::of(word));
    }
    /// It has broken the protocol.
    void break_off() { bad_ = true; }
    /// There is no place for it.
    void turn_away() { turned_away_ = true; }
    [[nodiscard]] bool turned_away() const { return turned_away_; }
    /// Takes back payloads that are referred to and not held, or `all`. A peer that reads one frame
    /// for all of `patience` is cut off.
    void gather(std::chrono::nanoseconds patience, bool all = false) {
        bad_ = !tx_->gather(all, patience, [this] { return has_hung_up(socket_.get()); }) || bad_;
    }
    /// The same without waiting, for payloads that are not held and that the peer is not reading.
    /// True: none is left.
    [[nodiscard]] bool gather_unread() { return tx_->gather_unread(); }
    /// What holds the payload of the frame that was received: of a local end.
    [[nodiscard]] Held holder() const {
        return other_ != nullptr ? other_->tx_->held_at(rx_->position()) : nullptr;
    }
    /// Keeps the payload at `at`, of a frame of `bytes`, which referred() has found. Null: it is
    /// there until the frame is taken.
    [[nodiscard]] Held hold(std::uint64_t word, const std::byte* at, std::size_t bytes) {
        const auto& lent = takings_->lent(ShmReference::of(word));
        return lent != nullptr ? holds_.hold(lent, at, bytes, rx_->position()) : nullptr;
    }

    ShmProducer& tx() { return *tx_; }
    ShmConsumer& rx() { return *rx_; }

    /// Shows queued frames to the peer and wakes it when it sleeps.
    void publish() {
        if (tx_->publish())
            kick();
    }
    /// Gives back the room of frames that were taken, and lent memory that is not held any more.
    void release() {
        bool waits = false;
        if (std::uint64_t position = 0; holds_.let_go(rx_->tail(), position))
            waits = rx_->let_go(position);
        if (rx_->release() || waits)
            kick();
    }

    /// The socket is readable: hellos, kicks, memory, until `budget` is used up. Returns the rest.
    unsigned service(unsigned budget);
    /// Tells the peer which memory is gone, and all that it could not be told before.
    void tell();

    /// Kicked by a card of this thread since the last clear_kick().
    [[nodiscard]] bool kicked() const { return kicked_; }
    void clear_kick() { kicked_ = false; }

    /// Its hello has come: so it cannot take pages of the rings away.
    [[nodiscard]] bool met() const { return mac() != 0; }
    /// It has not said a hello.
    [[nodiscard]] bool silent() const { return !ready() && !gone(); }
    Nanoseconds accepted = 0;  ///< when it has connected to us, or we to it

    Nanoseconds lent_since = kNever;  ///< when enough was lent to it, and senders told to wait
    /// it keeps lent memory for too long: senders do not wait for it
    bool keeps_lent = false;

    // As a sender: since when the ring is full, and whether the peer is given up on.
    Nanoseconds full_since = kNever;
    bool stuck = false;
    std::uint64_t stuck_at = 0;  ///< where it was then; it takes something again when it moves
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
    /// `lost`: there was no room for its descriptor.
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
    std::shared_ptr<std::byte> memory_;  // of both ends, where they are local
    UniqueFd made_;                      // the memory, until the peer has mapped it
    std::optional<ShmProducer> tx_;
    std::optional<ShmConsumer> rx_;
    // Not at a local end.
    std::unique_ptr<ShmOffers> offers_;
    std::unique_ptr<ShmTakings> takings_;
    ShmHolds holds_;
    std::vector<ShmSlotMessage> unsent_;  // answers for which the socket had no room
    bool same_user_ = false;
    pid_t process_ = 0;
    ShmPeer* other_ = nullptr;  // the other local end, while it lives
    bool kicked_ = false;
    bool gone_ = false;
    bool turned_away_ = false;
    bool bad_ = false;
    std::uint32_t other_version_ = 0;  ///< of its hello, when it is not ours
};

}  // namespace dingo
