// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that a client shares: its files, mapped here. Regions over the same part of the same file
// share one mapping, so that to register a buffer again costs no page faults while it is mapped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "base/offenders.h"
#include "base/quota.h"
#include "host/driver/bus_map.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

/// One mapping of a file.
class SharedMapping {
  public:
    SharedMapping(Charge mapping, Charge memory, void* at, std::size_t size, bool writable,
                  const MemoryOwner& owner)
        : mapping_(std::move(mapping)),
          memory_(std::move(memory)),
          bytes_(static_cast<std::byte*>(at), size),
          writable_(writable),
          owned_(bytes_, owner) {}
    ~SharedMapping();
    SharedMapping(const SharedMapping&) = delete;
    SharedMapping& operator=(const SharedMapping&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    /// Returns false if the descriptor was not open for writing.
    [[nodiscard]] bool writable() const { return writable_; }
    /// Adds an owner: another client has registered the same memory.
    void add_owner(const MemoryOwner& owner) const { owned_.add_owner(owner); }
    /// Allows cards in other processes of this user to map it (exported_memory()). It is the part
    /// of `fd` from `offset` on. Does nothing if that is impossible.
    void export_from(int fd, std::uint64_t offset, const std::shared_ptr<Account>& account);

  private:
    Charge mapping_;
    Charge memory_;
    Charge descriptor_;
    std::uint64_t exported_ = 0;  ///< its number in exported_memory(); 0: not exported
    std::span<std::byte> bytes_;
    bool writable_;
    OwnedMemory owned_;
};

/// The mapped parts of a window, the mappings that keep them, and the parts in files that are not
/// mapped.
struct MappedRange {
    std::vector<MappedPart> parts;
    std::vector<FilePart> files;
    std::vector<std::shared_ptr<SharedMapping>> mappings;
    /// All descriptors that were handed over were open for writing. Mappings are shared with other
    /// regions, so they may be writable anyway. Not used for a DMABuf, whose region keeps its
    /// rights.
    bool may_write = true;
};

class SegmentCache {
  public:
    /// Maps the parts of window [va, va + length) covered by `segments`. Throws ErrnoError: EINVAL
    /// if segments are unordered or not whole pages, or a file can shrink, is too short, is not
    /// writable as needed, or, if accessed by descriptor, is not in memory; ENOMEM, EMFILE also if
    /// `account` has used up its share of the process's mappings, bytes or descriptors. `pid`: the
    /// client, for the log.
    MappedRange map(std::uint64_t va, std::uint64_t length, std::span<const SharedSegment> segments,
                    bool writable, const std::shared_ptr<Account>& account = nullptr,
                    pid_t pid = 0);

  private:
    using Key = std::tuple<dev_t, ino_t, std::uint64_t, std::uint64_t>;
    std::shared_ptr<SharedMapping> map_one(const SharedSegment& segment, bool writable,
                                           const std::shared_ptr<Account>& account, pid_t pid);
    std::shared_ptr<ClientFile> file_of(int fd, bool writable,
                                        const std::shared_ptr<Account>& account, pid_t pid);
    void forget_dead();

    std::map<Key, std::weak_ptr<SharedMapping>> live_;
    /// One descriptor for all regions of a file: device, inode, writable.
    std::map<std::tuple<dev_t, ino_t, bool>, std::weak_ptr<ClientFile>> files_;
    std::size_t sweep_at_ = 64;  ///< number of entries at which expired ones are removed
};

/// Maps a DMABuf; the part starts at the page of `offset`. Throws ErrnoError: EINVAL if it is not a
/// DMABuf or [offset, offset + length) is outside, EOPNOTSUPP if its exporter cannot map it.
MappedRange map_dmabuf(int fd, std::uint64_t offset, std::uint64_t length, bool writable,
                       const std::shared_ptr<Account>& account = nullptr);

}  // namespace dingo::uverbs
