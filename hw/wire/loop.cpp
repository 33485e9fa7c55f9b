// SPDX-License-Identifier: BSD-2-Clause
//
// The in-process wire: two single-producer single-consumer rings of frames.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "wire/wire.h"

namespace dingo {
namespace {

/// Records of {length, frame}, each starting at a multiple of kAlign and contiguous: a record that
/// does not fit before the end of the ring starts at the beginning, after a kSkip mark.
class FrameRing {
  public:
    explicit FrameRing(std::size_t bytes)
        : buffer_(std::bit_ceil(std::max(bytes, 4 * (kMaxFrame + kAlign)))),
          mask_(buffer_.size() - 1) {}

    /// Producer: returns room for a frame; empty if the ring is full.
    std::span<std::byte> reserve(std::size_t max_len) {
        const std::size_t need = record_size(max_len);
        const std::size_t to_end = buffer_.size() - (head_ & mask_);
        const std::size_t skip = need > to_end ? to_end : 0;
        if (head_ + skip + need - cached_tail_ > buffer_.size()) {
            cached_tail_ = tail_.load(std::memory_order_acquire);
            if (head_ + skip + need - cached_tail_ > buffer_.size())
                return {};
        }
        reserved_ = head_ + skip;
        return {&buffer_[(reserved_ & mask_) + kAlign], max_len};
    }

    /// Producer: publishes the frame in the reserved room; 0 cancels the reservation.
    void commit(std::size_t len) {
        if (len == 0)
            return;
        if (reserved_ != head_)
            store_length(head_, kSkip);
        store_length(reserved_, static_cast<std::uint32_t>(len));
        head_ = reserved_ + record_size(len);
        published_.store(head_, std::memory_order_release);
    }

    /// Consumer: returns the oldest frame; empty if there is none.
    std::span<const std::byte> front() {
        std::uint64_t at = tail_.load(std::memory_order_relaxed);
        if (at == cached_head_) {
            cached_head_ = published_.load(std::memory_order_acquire);
            if (at == cached_head_)
                return {};
        }
        std::uint32_t len = load_length(at);
        if (len == kSkip) {
            at += buffer_.size() - (at & mask_);
            tail_.store(at, std::memory_order_release);
            len = load_length(at);
        }
        return {&buffer_[(at & mask_) + kAlign], len};
    }

    /// Consumer: frees the space of the oldest frame.
    void pop(std::size_t len) {
        tail_.store(tail_.load(std::memory_order_relaxed) + record_size(len),
                    std::memory_order_release);
    }

  private:
    // bytes of a record's length, so that frames are aligned
    static constexpr std::size_t kAlign = 16;
    static constexpr std::uint32_t kSkip = ~std::uint32_t{0};

    static std::size_t record_size(std::size_t len) {
        return kAlign + (len + kAlign - 1) / kAlign * kAlign;
    }
    void store_length(std::uint64_t at, std::uint32_t len) {
        std::memcpy(&buffer_[at & mask_], &len, sizeof len);
    }
    std::uint32_t load_length(std::uint64_t at) const {
        std::uint32_t len;
        std::memcpy(&len, &buffer_[at & mask_], sizeof len);
        return len;
    }

    std::vector<std::byte> buffer_;
    const std::uint64_t mask_;
    // The producer's, the consumer's and shared positions are on separate cache lines.
    alignas(64) std::uint64_t head_ = 0;
    std::uint64_t reserved_ = 0;
    std::uint64_t cached_tail_ = 0;
    alignas(64) std::uint64_t cached_head_ = 0;
    alignas(64) std::atomic<std::uint64_t> published_{0};
    alignas(64) std::atomic<std::uint64_t> tail_{0};
};

struct LoopRings {
    explicit LoopRings(std::size_t bytes) : ring{FrameRing(bytes), FrameRing(bytes)} {}
    std::array<FrameRing, 2> ring;
};

class LoopWire final : public Wire {
  public:
    LoopWire(std::shared_ptr<LoopRings> rings, unsigned end)
        : rings_(std::move(rings)), tx_(rings_->ring[end]), rx_(rings_->ring[1 - end]), end_(end) {}

    std::span<std::byte> begin_frame(std::size_t max_len) override {
        std::span<std::byte> room;
        if (max_len <= kMaxFrame)
            room = tx_.reserve(max_len);
        if (room.empty())
            stats_.tx_full++;
        return room;
    }

    void end_frame(std::size_t len) override {
        tx_.commit(len);
        if (len != 0) {
            stats_.tx_frames++;
            stats_.tx_bytes += len;
        }
    }

    int fd() const override { return -1; }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        unsigned done = 0;
        while (done < budget) {
            const std::span<const std::byte> frame = rx_.front();
            if (frame.empty())
                break;
            if (frame.size() < kMinFrame) {
                stats_.rx_short++;
            } else {
                stats_.rx_frames++;
                stats_.rx_bytes += frame.size();
                sink.on_frame(frame);
                done++;
            }
            rx_.pop(frame.size());
        }
        return done;
    }

    void flush() override {}
    void advance(Nanoseconds) override {}
    std::string describe() const override { return fmt::format("in-process loop, end {}", end_); }
    WireStats stats() const override { return stats_; }

  private:
    std::shared_ptr<LoopRings> rings_;
    FrameRing& tx_;
    FrameRing& rx_;
    const unsigned end_;
    WireStats stats_;
};

}  // namespace

std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> make_loop_pair(std::size_t ring_bytes) {
    auto rings = std::make_shared<LoopRings>(ring_bytes);
    return {std::make_unique<LoopWire>(rings, 0), std::make_unique<LoopWire>(rings, 1)};
}

}  // namespace dingo
