// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/shared_segments.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/elsewhere.h"
#include "base/errno_error.h"
#include "base/exported_memory.h"
#include "base/shared_memory.h"
#include "host/driver/file_kinds.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

constexpr std::size_t kLeastExported = 16UL * 1024;

std::shared_ptr<SharedMapping> map_file(int fd, std::uint64_t offset, std::uint64_t length,
                                        bool writable, const std::shared_ptr<Account>& account,
                                        pid_t pid) {
    Charge mapping(account, process_quotas().mappings);
    Charge memory(account, process_quotas().bytes, length);
    // Writable where it can be: another region over the same memory may want to write.
    for (const bool rw : {true, false}) {
        if (!rw && writable) {
            break;
        }
        void* const at = ::mmap(nullptr, length, PROT_READ | (rw ? PROT_WRITE : 0),
                                MAP_SHARED | MAP_NORESERVE, fd, static_cast<off_t>(offset));
        if (at != MAP_FAILED) {
            return std::make_shared<SharedMapping>(std::move(mapping), std::move(memory), at,
                                                   length, rw, MemoryOwner{account, pid, nullptr});
        }
    }
    return nullptr;
}

}  // namespace

SharedMapping::~SharedMapping() {
    if (exported_ != 0) {
        exported_memory().remove(exported_);
    }
    unmap_elsewhere(bytes_.data(), bytes_.size());
}

void SharedMapping::export_from(int fd, std::uint64_t offset,
                                const std::shared_ptr<Account>& account) {
    // Smaller ones are not worth a descriptor: payloads of less are copied.
    if (bytes_.size() < kLeastExported) {
        return;
    }
    UniqueFd file = open_for_reading(fd);
    if (!file || in_reserve(file.get())) {
        return;
    }
    try {
        descriptor_ = Charge(account, process_quotas().descriptors);
    } catch (const ErrnoError&) {
        return;
    }
    exported_ = exported_memory().add(bytes_, std::move(file), offset);
}

void SegmentCache::forget_dead() {
    if (live_.size() >= sweep_at_) {
        std::erase_if(live_, [](const auto& entry) { return entry.second.expired(); });
        sweep_at_ = std::max<std::size_t>(64, 2 * live_.size());
    }
}

std::shared_ptr<SharedMapping> SegmentCache::map_one(const SharedSegment& s, bool writable,
                                                     const std::shared_ptr<Account>& account,
                                                     pid_t pid) {
    struct stat st {};
    if (!memory_file_has(s.fd, s.offset, s.length) || ::fstat(s.fd, &st) != 0) {
        throw ErrnoError(EINVAL);
    }
    const Key key{st.st_dev, st.st_ino, s.offset, s.length};
    if (const auto known = live_.find(key); known != live_.end()) {
        if (auto mapping = known->second.lock()) {
            if (!writable || mapping->writable()) {
                mapping->add_owner({account, pid, nullptr});
                return mapping;
            }
        }
    }
    auto mapping = map_file(s.fd, s.offset, s.length, writable, account, pid);
    if (mapping == nullptr) {
        throw ErrnoError(errno == ENOMEM ? ENOMEM : EINVAL);
    }
    mapping->export_from(s.fd, s.offset, account);
    forget_dead();
    live_[key] = mapping;
    return mapping;
}

std::shared_ptr<ClientFile> SegmentCache::file_of(int fd, bool writable,
                                                  const std::shared_ptr<Account>& account,
                                                  pid_t pid) {
    auto file = std::make_shared<ClientFile>(fd, writable, account, pid);
    struct stat st {};
    if (::fstat(fd, &st) != 0) {
        throw ErrnoError(EINVAL);
    }
    std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
    auto& known = files_[{st.st_dev, st.st_ino, writable}];
    if (auto there = known.lock()) {
        there->add_owner({account, pid, nullptr});
        return there;
    }
    known = file;
    return file;
}

MappedRange SegmentCache::map(std::uint64_t va, std::uint64_t length,
                              std::span<const SharedSegment> segments, bool writable,
                              const std::shared_ptr<Account>& account, pid_t pid) {
    MappedRange range;
    const std::uint64_t end = va + length;
    std::uint64_t last = 0;
    for (const SharedSegment& s : segments) {
        if (s.length == 0 || (s.va | s.length | s.offset) % kPageBytes != 0 || s.va < last ||
            s.va + s.length < s.va) {
            throw ErrnoError(EINVAL);
        }
        last = s.va + s.length;
        const std::uint64_t from = std::max(va, s.va);
        const std::uint64_t to = std::min(end, last);
        if (from >= to) {
            continue;
        }
        const bool may_write = is_open_for(s.fd, O_RDWR);
        if (writable && !may_write) {
            throw ErrnoError(EINVAL);
        }
        range.may_write = range.may_write && may_write;
        if (s.by_file) {
            range.files.push_back({from - va, to - from, file_of(s.fd, may_write, account, pid),
                                   s.offset + (from - s.va)});
            continue;
        }
        auto mapping = map_one(s, writable, account, pid);
        range.parts.push_back({from - va, mapping->bytes().subspan(from - s.va, to - from)});
        range.mappings.push_back(std::move(mapping));
    }
    return range;
}

MappedRange map_dmabuf(int fd, std::uint64_t offset, std::uint64_t length, bool writable,
                       const std::shared_ptr<Account>& account) {
    if (!is_dmabuf(fd)) {
        throw ErrnoError(EINVAL);
    }
    const off_t size = ::lseek(fd, 0, SEEK_END);
    if (size < 0 || offset > static_cast<std::uint64_t>(size) ||
        length > static_cast<std::uint64_t>(size) - offset) {
        throw ErrnoError(EINVAL);
    }
    const std::uint64_t in_page = offset % kPageBytes;
    auto mapping =
        map_file(fd, offset - in_page, page_align(in_page + length), writable, account, 0);
    if (mapping == nullptr) {
        throw ErrnoError(EOPNOTSUPP);
    }
    MappedRange range;
    range.parts.push_back({0, mapping->bytes()});
    range.mappings.push_back(std::move(mapping));
    return range;
}

}  // namespace dingo::uverbs
