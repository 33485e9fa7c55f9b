// SPDX-License-Identifier: BSD-2-Clause
#include "cpu_pressure.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

namespace dingo {

CpuPressure::CpuPressure()
    : schedstat_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {
    waited(waited_);
}

bool CpuPressure::waited(std::uint64_t& ns) const {
    std::array<char, 128> text{};  // "time on processor, time waiting, number of timeslices"
    const ssize_t n = ::pread(schedstat_.get(), text.data(), text.size(), 0);
    if (n <= 0) {
        return false;
    }
    const char* const end = text.data() + n;
    const auto* second =
        static_cast<const char*>(std::memchr(text.data(), ' ', static_cast<std::size_t>(n)));
    return second != nullptr && std::from_chars(second + 1, end, ns).ec == std::errc();
}

bool CpuPressure::sample(Nanoseconds now) {
    const Nanoseconds time = now - sampled_;
    if (time < kPeriod) {
        return false;
    }
    sampled_ = now;
    std::uint64_t waited_now = waited_;
    if (!waited(waited_now)) {
        return false;
    }
    const std::uint64_t lost = waited_now - waited_;
    waited_ = waited_now;
    if (lost > time / 20) {
        found_ = now;
    }
    const bool crowded = found_ != 0 && now - found_ < kKeep;
    const bool changed = crowded != crowded_;
    crowded_ = crowded;
    return changed;
}

}  // namespace dingo
