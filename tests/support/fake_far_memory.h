// SPDX-License-Identifier: BSD-2-Clause
//
// Far memory of a TestHost: accesses complete when the test says so.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "dingo/far_memory.h"
#include "fake_host.h"

namespace dingo::test {

class FakeFarMemory final : public FarMemory {
  public:
    explicit FakeFarMemory(TestHost& host) : host_(host) { host.far = this; }
    ~FakeFarMemory() override { host_.far = nullptr; }

    /// Decides what is far; called when a region is created, and for a far one at each access.
    std::function<bool(std::uint64_t addr, std::uint64_t len)> far = [](auto, auto) {
        return false;
    };
    /// Number of accesses that each moved() completes; 0: only make() completes some.
    unsigned pace = 0;
    /// wait() completes an access.
    bool waits = true;
    /// write() and atomic() return kLater.
    bool full = false;
    /// write() and atomic() return kError.
    bool broken = false;
    /// refer() succeeds for fetched data.
    bool refers = false;
    /// Fetched data may be lent.
    bool lent = true;
    /// Number of prefetch() calls to accept; `prefetched` lists their messages and addresses,
    /// `began` the message and address of each first read().
    unsigned prefetches = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> prefetched;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> began;
    unsigned referred = 0;     ///< number of refer() calls that succeeded
    unsigned held_writes = 0;  ///< calls of write_held()
    unsigned messages = 0;     ///< calls of begin_message()

    void make_room() {
        full = false;
        moved_ = true;
    }
    /// Completes the `count` oldest waiting accesses.
    void make(std::size_t count = SIZE_MAX);
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
    [[nodiscard]] std::size_t streams() const { return streams_.size(); }
    std::uint64_t fetched_bytes = 0;
    unsigned looks = 0;  ///< calls of progress()

    bool is_far(std::uint64_t addr, std::uint64_t len) override { return far(addr, len); }
    Access read(Stream stream, std::uint64_t message, std::uint64_t addr, std::span<std::byte> dst,
                std::uint64_t ahead) override;
    bool refer(Stream stream, std::uint64_t message, std::uint64_t addr, std::size_t bytes,
               std::uint64_t ahead, Elsewhere& where) override;
    bool lends(std::uint64_t /*addr*/) override { return lent; }
    bool prefetch(Stream /*stream*/, std::uint64_t message, std::uint64_t addr,
                  std::uint64_t /*bytes*/) override {
        if (prefetched.size() == prefetches)
            return false;
        prefetched.emplace_back(message, addr);
        return true;
    }
    void begin_message(Stream /*stream*/) override { ++messages; }
    Access write(Stream stream, std::uint64_t addr, std::span<const std::byte> src) override;
    Access write_held(Stream stream, std::uint64_t addr, std::span<const std::byte> src,
                      const Held& held) override {
        held_writes += held != nullptr ? 1 : 0;
        return write(stream, addr, src);
    }
    bool has_room(Stream /*stream*/) override { return !full; }
    Access atomic(Stream stream, std::uint64_t addr, const Atomic& request) override;
    std::uint64_t atomic_result(Stream stream) override;
    Progress progress(Stream stream) override {
        ++looks;
        return streams_[stream].progress;
    }
    bool moved() override;
    bool wait() override;
    void end(Stream stream) override;

  private:
    struct Piece {
        std::vector<std::byte> bytes;
        bool here = false;
        bool failed = false;
    };
    struct State {
        Progress progress;
        std::uint64_t message = 0;
        std::map<std::uint64_t, Piece> pieces;  ///< by address
        std::deque<std::uint64_t> results;
    };
    struct Waiting {
        enum class Kind : std::uint8_t { kRead, kWrite, kAtomic } kind;
        Stream stream;
        std::uint64_t addr;
        std::uint64_t message = 0;
        std::vector<std::byte> data;
        Atomic request{};
    };
    void make(const Waiting& access);

    TestHost& host_;
    std::deque<Waiting> waiting_;
    std::map<Stream, State> streams_;
    bool moved_ = false;
};

}  // namespace dingo::test
