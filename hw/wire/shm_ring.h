// SPDX-License-Identifier: BSD-2-Clause
//
// One direction between two cards: a single-producer single-consumer ring of frames in memory that
// the other process can write, too. So each position and length is read once, validated and then
// used; an invalid one makes the ring bad() and the peer is dropped.
//
// Records of {length and flags, frame} start at multiples of kAlign and are contiguous: a record
// that does not fit before the end starts at the beginning, after a kSkip mark. Positions only
// grow.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>

#include "wire/shm_segments.h"
#include "wire/wire.h"

namespace dingo {

/// Positions and flags, each on its own cache line: one side writes what the other one polls.
struct ShmRingHeader {
    alignas(64) std::atomic<std::uint64_t> head;             ///< producer: end of the frames
    alignas(64) std::atomic<std::uint64_t> tail;             ///< consumer: start of the frames
    alignas(64) std::atomic<std::uint32_t> consumer_sleeps;  ///< consumer: kick it when head moves
    /// Producer: kick it when tail or let_go moves.
    alignas(64) std::atomic<std::uint32_t> producer_waits;
    /// Consumer: it has also released the lent payloads of all frames before this position.
    alignas(64) std::atomic<std::uint64_t> let_go;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::size_t kShmRingBytes = 2UL * 1024 * 1024;
inline constexpr std::size_t kShmDataOffset = 4096;
/// Bytes of a thread-local ring that are used while the consumer keeps up.
inline constexpr std::size_t kLocalBytes = 256UL * 1024;
/// Memory of one direction.
inline constexpr std::size_t kShmDirectionBytes = kShmDataOffset + kShmRingBytes;

/// Flags of a record.
inline constexpr std::uint32_t kShmNoIcrc = 1;  ///< a RoCE frame without ICRC
/// The payload is not in the record but at an address of this process. Thread-local rings only.
inline constexpr std::uint32_t kShmElsewhere = 2;
/// The payload is not in the record but in memory that the producer's card has offered
/// (shm_segments.h). Rings between processes only.
inline constexpr std::uint32_t kShmHandedOver = 4;
/// States of a record with kShmHandedOver: the consumer is reading its payload, has read it, or the
/// producer is copying the payload into it. The side that first adds one of these bits owns the
/// payload.
inline constexpr std::uint32_t kShmReading = 8;
inline constexpr std::uint32_t kShmRead = 16;
inline constexpr std::uint32_t kShmGathering = 32;
/// Bits of a train's number of packets; 0: not a train.
inline constexpr unsigned kShmTrainShift = 8;
inline constexpr std::uint32_t kShmTrainMask = 0xff << kShmTrainShift;
inline constexpr std::uint32_t shm_train_flags(unsigned packets) {
    return packets > 1 ? packets << kShmTrainShift : 0;
}

/// Common to both sides of a ring.
class ShmRing {
  public:
    explicit ShmRing(std::byte* memory)
        : header_(*reinterpret_cast<ShmRingHeader*>(memory)), data_(memory + kShmDataOffset) {}

    /// The other side wrote something invalid: the ring must not be used any more.
    [[nodiscard]] bool bad() const { return bad_; }

  protected:
    static constexpr std::size_t kAlign = 16;
    static constexpr std::size_t kMask = kShmRingBytes - 1;
    static constexpr std::uint32_t kSkip = ~std::uint32_t{0};

    /// Header of a record.
    struct Mark {
        std::uint32_t length;
        std::uint32_t flags;
    };
    static_assert(sizeof(Mark) == sizeof(std::uint64_t));
    /// Next 8 bytes of a record: with kShmElsewhere the payload's address, with kShmHandedOver its
    /// reference.
    static constexpr std::size_t kAddressOffset = sizeof(Mark);
    static_assert(kAddressOffset + sizeof(const std::byte*) <= kAlign);
    static_assert(sizeof(const std::byte*) == sizeof(std::uint64_t));

    static constexpr std::size_t record_size(std::size_t len) {
        return kAlign + (len + kAlign - 1) / kAlign * kAlign;
    }

    /// The other process may change a mark at any time: it is loaded and stored as one word.
    [[nodiscard]] Mark load_mark(std::uint64_t at) const {
        return std::bit_cast<Mark>(__atomic_load_n(word(at), __ATOMIC_ACQUIRE));
    }
    void store_mark(std::uint64_t at, Mark mark) {
        __atomic_store_n(word(at), std::bit_cast<std::uint64_t>(mark), __ATOMIC_RELEASE);
    }
    [[nodiscard]] bool change_mark(std::uint64_t at, Mark from, Mark to) {
        auto expected = std::bit_cast<std::uint64_t>(from);
        return __atomic_compare_exchange_n(word(at), &expected, std::bit_cast<std::uint64_t>(to),
                                           false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }

    ShmRingHeader& header_;
    std::byte* const data_;
    bool bad_ = false;

  private:
    [[nodiscard]] std::uint64_t* word(std::uint64_t at) const {
        return reinterpret_cast<std::uint64_t*>(data_ + (at & kMask));
    }
};

class ShmProducer : public ShmRing {
  public:
    /// `local`: the consumer is in this thread.
    explicit ShmProducer(std::byte* memory, bool local = false) : ShmRing(memory), local_(local) {}

    /// Memory that the consumer may still read is released later (let_go_later()).
    ~ShmProducer();
    ShmProducer(const ShmProducer&) = delete;
    ShmProducer& operator=(const ShmProducer&) = delete;

    /// Returns room for a frame; empty if the ring is full.
    std::span<std::byte> reserve(std::size_t max_len) {
        const std::size_t need = record_size(max_len);
        const std::size_t to_end = kShmRingBytes - (head_ & kMask);
        const std::size_t skip = need > to_end || rewind() ? to_end : 0;
        if (head_ + skip + need - tail_ > kShmRingBytes) {
            const std::uint64_t tail = header_.tail.load(std::memory_order_acquire);
            if (tail < tail_ || tail > published_)
                bad_ = true;
            if (bad_)
                return {};
            moved_ |= tail != tail_;
            tail_ = tail;
            if (head_ + skip + need - tail_ > kShmRingBytes)
                return {};
        }
        reserved_ = head_ + skip;
        return {data_ + (reserved_ & kMask) + kAlign, max_len};
    }

    /// Queues the frame in the reserved room; 0 cancels the reservation.
    void commit(std::size_t len, std::uint32_t flags = 0) {
        if (len == 0)
            return;
        if (reserved_ != head_)
            store_mark(head_, {kSkip, 0});
        store_mark(reserved_, {static_cast<std::uint32_t>(len), flags});
        head_ = reserved_ + record_size(len);
    }

    /// Used instead of commit() if the frame's bytes from `offset` on are at `payload`; in a ring
    /// between processes the peer finds them at `reference`. A `held` payload needs no gather().
    void commit_referring(std::size_t len, std::size_t offset, std::span<const std::byte> payload,
                          const Held& held, const ShmReference& reference = {},
                          unsigned packets = 1) {
        const std::uint64_t where =
            local_ ? reinterpret_cast<std::uintptr_t>(payload.data()) : reference.word();
        std::memcpy(data_ + (reserved_ & kMask) + kAddressOffset, &where, sizeof where);
        if (local_ || references_.size() >= kManyReferences)
            forget_received();
        const std::uint32_t flags = kShmNoIcrc | shm_train_flags(packets);
        references_.push_back({reserved_, len, flags, offset, payload, held, reference.lent});
        lent_bytes_ += reference.lent ? payload.size() : 0;
        commit(len, flags | (local_ ? kShmElsewhere : kShmHandedOver));
    }
    /// Releases payloads of frames that were received; lent ones when the consumer has released
    /// them.
    void forget_received();
    /// Returns true if so much is lent that further payloads should wait.
    [[nodiscard]] bool lends_enough() {
        if (lent_bytes_ < kMostLent)
            return false;
        forget_received();
        return lent_bytes_ >= kMostLent;
    }
    /// Returns true if so many payloads are in the ring, or not released yet, that further ones are
    /// copied.
    [[nodiscard]] bool refers_enough() const {
        return references_.size() >= kMostReferences || lent_bytes_ >= kMostLent;
    }
    /// Copies payloads that are elsewhere into their frames, unless those were received; with `all`
    /// held payloads, too. Returns false if the peer was reading one of them for all of `patience`.
    /// A peer that is `gone` is not waited for.
    [[nodiscard]] bool gather(bool all, std::chrono::nanoseconds patience,
                              const std::function<bool()>& gone);
    /// Returns the time spent waiting since the last call.
    [[nodiscard]] std::chrono::nanoseconds take_waited() { return std::exchange(waited_, {}); }
    /// gather() without waiting, for payloads that the peer is not reading. Returns true if it
    /// reads none.
    [[nodiscard]] bool gather_unread();
    /// Returns what holds the payload of the frame at this position, or null. Thread-local rings.
    [[nodiscard]] Held held_at(std::uint64_t at);
    [[nodiscard]] bool has_references() const { return !references_.empty(); }
    [[nodiscard]] bool local() const { return local_; }

    /// Number of bytes that are committed and not published.
    [[nodiscard]] std::size_t unpublished() const { return head_ - published_; }

    /// Publishes the committed frames. Returns true if the consumer sleeps: kick it.
    [[nodiscard]] bool publish() {
        if (head_ == published_)
            return false;
        published_ = head_;
        // Sequentially consistent, as in ShmConsumer::arm(): at least one side sees the other's
        // store.
        header_.head.store(head_, std::memory_order_seq_cst);
        return header_.consumer_sleeps.load(std::memory_order_seq_cst) != 0 &&
               header_.consumer_sleeps.exchange(0, std::memory_order_relaxed) != 0;
    }

    /// Returns true if reserve() has seen the consumer move since the last call.
    [[nodiscard]] bool moved() { return std::exchange(moved_, false); }

    /// The consumer's position.
    [[nodiscard]] std::uint64_t tail() const {
        return header_.tail.load(std::memory_order_acquire);
    }

    /// Requests a kick when the consumer frees room. Returns false if it just did.
    [[nodiscard]] bool arm() {
        header_.producer_waits.store(1, std::memory_order_seq_cst);
        return header_.tail.load(std::memory_order_seq_cst) == tail_;
    }
    /// Requests a kick when the consumer releases lent payloads. Returns false if so little is lent
    /// that nothing waits.
    [[nodiscard]] bool arm_lent() {
        header_.producer_waits.store(1, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return lends_enough();
    }
    void disarm() { header_.producer_waits.store(0, std::memory_order_relaxed); }

  private:
    /// An empty local ring restarts at its beginning, where the memory is in this core's cache.
    [[nodiscard]] bool rewind() const {
        return local_ && (head_ & kMask) >= kLocalBytes &&
               header_.tail.load(std::memory_order_relaxed) == head_;
    }

    std::uint64_t head_ = 0;
    std::uint64_t reserved_ = 0;
    std::uint64_t published_ = 0;
    std::uint64_t tail_ = 0;  // as last read
    bool moved_ = false;
    const bool local_;

    struct Reference {
        std::uint64_t at;     // ring position of its record
        std::size_t len;      // bytes of the frame
        std::uint32_t flags;  // of the frame once it contains its payload
        std::size_t offset;   // in the frame
        std::span<const std::byte> payload;
        Held held;
        bool lent;  // the consumer may keep the payload after it has received the frame
    };
    /// Limits in case the consumer does not release payloads.
    static constexpr std::size_t kMostReferences = 8192;
    static constexpr std::size_t kMostLent = std::size_t{8} << 20;
    /// Number of references from which on scanning for completed ones pays.
    static constexpr std::size_t kManyReferences = 64;
    /// Returns false if the peer is reading the payload, or has read it.
    bool take_into_frame(const Reference& reference);
    [[nodiscard]] bool is_read(const Reference& reference) const;
    /// Returns false if the peer does not finish.
    bool wait_for_reader(const Reference& reference, std::chrono::nanoseconds patience,
                         const std::function<bool()>& gone);
    /// The consumer's position, which must not go back even if the consumer claims so.
    [[nodiscard]] std::uint64_t received() const {
        return std::max(tail_, header_.tail.load(std::memory_order_acquire));
    }
    std::deque<Reference> references_;  // some may be received already
    std::size_t lent_bytes_ = 0;        // total payload bytes of those that are lent
    std::chrono::nanoseconds waited_{0};
};

class ShmConsumer : public ShmRing {
  public:
    /// `local`: the producer is in this thread.
    explicit ShmConsumer(std::byte* memory, bool local = false)
        : ShmRing(memory), payload_flag_(local ? kShmElsewhere : kShmHandedOver) {}

    /// Returns the oldest frame; empty if there is none, if the producer is copying its payload
    /// into it, or if the ring is bad. The producer can change the frame at any time, so a parser
    /// must read each field once.
    std::span<const std::byte> front() {
        if (tail_ == head_ && !look())
            return {};
        Mark mark = load_mark(tail_);
        if (mark.length == kSkip) {
            const std::size_t to_end = kShmRingBytes - (tail_ & kMask);
            if (head_ - tail_ <= to_end)
                return fail();
            tail_ += to_end;
            mark = load_mark(tail_);
        }
        const bool mine = reading_;  // front() was called before
        if (payload_flag_ == kShmHandedOver && (mark.flags & kShmHandedOver) != 0 && !mine) {
            if ((mark.flags & kShmGathering) != 0)
                return {};
            const Mark reading{mark.length, mark.flags | kShmReading};
            if (!change_mark(tail_, mark, reading))
                return {};
            reading_ = true;
        } else if (mine) {
            mark.flags &= ~kShmReading;
        }
        const std::size_t record = record_size(mark.length);
        const unsigned packets = (mark.flags & kShmTrainMask) >> kShmTrainShift;
        const bool train = packets > 1;
        if (mark.length > (train ? kMaxTrain : kMaxFrame) || mark.length == 0 || packets == 1 ||
            (train && (mark.flags & kShmNoIcrc) == 0) ||
            (mark.flags & ~(kShmNoIcrc | kShmTrainMask | payload_flag_)) != 0 ||
            record > head_ - tail_ || record > kShmRingBytes - (tail_ & kMask))
            return fail();
        record_ = record;
        length_ = mark.length;
        flags_ = mark.flags;
        return {data_ + (tail_ & kMask) + kAlign, mark.length};
    }

    /// Flags of the frame that front() returned, without its number of packets.
    [[nodiscard]] std::uint32_t flags() const { return flags_ & ~kShmTrainMask; }
    /// Its number of packets; more than 1 for a train.
    [[nodiscard]] unsigned packets() const {
        return std::max((flags_ & kShmTrainMask) >> kShmTrainShift, 1U);
    }
    /// Location of its payload: an address with kShmElsewhere, a word for ShmReference::of() with
    /// kShmHandedOver; 0: in the frame.
    [[nodiscard]] std::uint64_t payload() const {
        return (flags_ & payload_flag_) != 0 ? __atomic_load_n(payload_word(), __ATOMIC_RELAXED)
                                             : 0;
    }

    /// Position of the frame that front() returned, for ShmProducer::held_at().
    [[nodiscard]] std::uint64_t position() const { return tail_; }
    /// Removes the oldest frame.
    void pop() {
        if (reading_)
            store_mark(tail_, {length_, flags_ | kShmRead});
        reading_ = false;
        tail_ += record_;
    }

    /// Returns the space of popped frames to the producer. Returns true if the producer waits for
    /// it: kick it.
    [[nodiscard]] bool release() {
        if (released_ == tail_)
            return false;
        released_ = tail_;
        header_.tail.store(tail_, std::memory_order_seq_cst);  // pairs with ShmProducer::arm()
        return producer_waits();
    }
    [[nodiscard]] std::size_t unreleased() const { return tail_ - released_; }
    /// Start of the next frame, or of the padding before it.
    [[nodiscard]] std::uint64_t tail() const { return tail_; }
    /// Lent payloads of frames before `position` are no longer read. Returns true as release()
    /// does.
    [[nodiscard]] bool let_go(std::uint64_t position) {
        // pairs with ShmProducer::arm_lent()
        header_.let_go.store(position, std::memory_order_seq_cst);
        return producer_waits();
    }

    [[nodiscard]] bool empty() { return bad_ || (tail_ == head_ && !look()); }
    /// The producer is copying the oldest frame's payload, or has died while doing so.
    [[nodiscard]] bool gathering() {
        return !empty() && (load_mark(tail_).flags & kShmGathering) != 0;
    }

    /// Requests a kick when a frame arrives. Returns false if one is queued.
    [[nodiscard]] bool arm() {
        header_.consumer_sleeps.store(1, std::memory_order_seq_cst);
        return empty();
    }
    void disarm() {
        // The producer polls this cache line: write only changes.
        if (header_.consumer_sleeps.load(std::memory_order_relaxed) != 0)
            header_.consumer_sleeps.store(0, std::memory_order_relaxed);
    }

  private:
    [[nodiscard]] bool producer_waits() {
        return header_.producer_waits.load(std::memory_order_seq_cst) != 0 &&
               header_.producer_waits.exchange(0, std::memory_order_relaxed) != 0;
    }
    bool look() {
        if (bad_)
            return false;
        const std::uint64_t head = header_.head.load(std::memory_order_seq_cst);
        if (head == head_)
            return false;
        if (head - released_ > kShmRingBytes || head < head_ || head % kAlign != 0) {
            bad_ = true;
            return false;
        }
        head_ = head;
        return true;
    }
    std::span<const std::byte> fail() {
        bad_ = true;
        return {};
    }
    [[nodiscard]] const std::uint64_t* payload_word() const {
        return reinterpret_cast<const std::uint64_t*>(data_ + (tail_ & kMask) + kAddressOffset);
    }

    std::uint64_t head_ = 0;  // as last read and validated
    std::uint64_t tail_ = 0;
    std::uint64_t released_ = 0;
    std::size_t record_ = 0;
    std::uint32_t length_ = 0;
    std::uint32_t flags_ = 0;
    bool reading_ = false;  ///< the oldest frame is marked as being read
    const std::uint32_t payload_flag_;
};

}  // namespace dingo
