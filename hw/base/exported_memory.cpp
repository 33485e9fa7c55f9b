// SPDX-License-Identifier: BSD-2-Clause
#include "base/exported_memory.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace dingo {

std::uint64_t ExportedMemory::add(std::span<const std::byte> bytes, UniqueFd file,
                                  std::uint64_t offset, bool lent) {
    auto shared = std::make_shared<const UniqueFd>(std::move(file));
    const std::scoped_lock lock(mutex_);
    const std::uint64_t id = ++last_id_;
    by_address_.insert_or_assign(bytes.data(),
                                 ExportedPart{id, bytes, std::move(shared), offset, lent});
    by_id_[id] = bytes.data();
    generation_.fetch_add(1, std::memory_order_release);
    return id;
}

void ExportedMemory::remove(std::uint64_t id) {
    const std::scoped_lock lock(mutex_);
    const auto at = by_id_.find(id);
    if (at == by_id_.end())
        return;
    by_address_.erase(at->second);
    by_id_.erase(at);
    generation_.fetch_add(1, std::memory_order_release);
}

std::optional<ExportedPart> ExportedMemory::find(std::span<const std::byte> bytes) const {
    const std::scoped_lock lock(mutex_);
    auto at = by_address_.upper_bound(bytes.data());
    if (at == by_address_.begin())
        return std::nullopt;
    const ExportedPart& part = std::prev(at)->second;
    const auto before = static_cast<std::size_t>(bytes.data() - part.bytes.data());
    if (before > part.bytes.size() || bytes.size() > part.bytes.size() - before)
        return std::nullopt;
    return part;
}

bool ExportedMemory::has(std::uint64_t id) const {
    const std::scoped_lock lock(mutex_);
    return by_id_.contains(id);
}

ExportedMemory& exported_memory() {
    static ExportedMemory& memory = *new ExportedMemory;
    return memory;
}

// Without O_NONBLOCK open() waits up to 45 s for the holder of a lease on the file (F_SETLEASE).
UniqueFd open_for_reading(int fd) {
    return UniqueFd(
        ::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace dingo
