// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "host/driver/far_place.h"
#include "host/driver/mover.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs::test {

constexpr std::size_t kSlowPages = 64;
constexpr std::size_t kSlowBytes = kSlowPages * kPageBytes;

/// Memory whose accesses complete when let_go() is called.
class SlowPlace final : public FarPlace {
  public:
    SlowPlace() : FarPlace(std::make_shared<Mover>()), bytes(kSlowBytes) {}

    void let_go() {
        {
            const std::scoped_lock lock(mutex_);
            goes_ = true;
        }
        changed_.notify_all();
    }

    std::vector<std::byte> bytes;
    std::atomic<unsigned> accesses = 0;

  private:
    void wait() {
        ++accesses;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return goes_; });
    }
    bool do_read(std::uint64_t offset, std::span<std::byte> dst) override {
        wait();
        std::ranges::copy(std::span(bytes).subspan(offset, dst.size()), dst.begin());
        return true;
    }
    bool do_write(std::uint64_t offset, std::span<const std::byte> src) override {
        wait();
        std::ranges::copy(src, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        return true;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool goes_ = false;
};

}  // namespace dingo::uverbs::test
