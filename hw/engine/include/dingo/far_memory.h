// SPDX-License-Identifier: BSD-2-Clause
//
// Far memory: host memory that takes time to reach, such as a GPU's or another process's that
// cannot be mapped. An engine that uses this port never blocks on it: docs/reference/far-memory.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dingo/held_memory.h"

namespace dingo {

/// Called by the engine's thread only, as the other ports. No call but wait() blocks.
class FarMemory {
  public:
    virtual ~FarMemory() = default;

    /// A sequence of accesses whose order matters: one half of a QP. The engine chooses the
    /// numbers.
    using Stream = std::uint32_t;

    enum class Access : std::uint8_t {
        kDone,
        kLater,  ///< not yet; retry after moved() has returned true
        kError,  ///< bus error
    };

    struct Atomic {
        bool swap = false;  ///< compare and swap; else fetch and add
        std::uint64_t compare = 0;
        std::uint64_t operand = 0;  ///< the new value, or the addend

        /// Executes the atomic by a read and a write, where no locked instruction is possible:
        /// `read(bytes)`, then `write(bytes)` if the value changes. `before` receives the old
        /// value. Returns false if one of the two failed.
        template <typename Read, typename Write>
        bool make_by(const Read& read, const Write& write, std::uint64_t& before) const {
            std::array<std::byte, sizeof before> bytes{};
            if (!read(std::span(bytes))) {
                return false;
            }
            std::memcpy(&before, bytes.data(), sizeof before);
            if (swap && before != compare) {
                return true;
            }
            const std::uint64_t after = swap ? operand : before + operand;
            std::memcpy(bytes.data(), &after, sizeof after);
            return write(std::span<const std::byte>(bytes));
        }
    };

    struct Progress {
        /// number of the stream's write() and atomic() accesses completed, in order
        std::uint64_t done = 0;
        /// The next access met a bus error. Later ones are neither completed nor started; those
        /// already started may have taken effect.
        bool failed = false;
    };

    /// Returns true if part of [addr, addr + len) is far. Constant while a region contains it.
    virtual bool is_far(std::uint64_t addr, std::uint64_t len) = 0;

    /// Reads bytes of a message from far memory. The bytes that follow, up to `ahead` including
    /// these, may be prefetched. Bytes prefetched for another `message` of the stream are dropped,
    /// unless prefetch() announced that message: a message never sees what memory held before it
    /// was posted.
    virtual Access read(Stream stream, std::uint64_t message, std::uint64_t addr,
                        std::span<std::byte> dst, std::uint64_t ahead) = 0;
    /// As read() for `bytes` bytes that need not be copied: `where` tells their place. Returns
    /// false if read() has to be used.
    virtual bool refer(Stream stream, std::uint64_t message, std::uint64_t addr, std::size_t bytes,
                       std::uint64_t ahead, Elsewhere& where) {
        static_cast<void>(stream);
        static_cast<void>(message);
        static_cast<void>(addr);
        static_cast<void>(bytes);
        static_cast<void>(ahead);
        static_cast<void>(where);
        return false;
    }
    /// Returns true if memory that refer() returns for `addr` may be lent to another card; only
    /// such memory counts for WirePort::holds_enough().
    virtual bool lends(std::uint64_t addr) {
        static_cast<void>(addr);
        return false;
    }
    /// Announces bytes, some of them far, that `message` will read later: after the message that is
    /// read now and those announced before. Returns false if enough is prefetched, or prefetching
    /// is not supported.
    virtual bool prefetch(Stream stream, std::uint64_t message, std::uint64_t addr,
                          std::uint64_t bytes) {
        static_cast<void>(stream);
        static_cast<void>(message);
        static_cast<void>(addr);
        static_cast<void>(bytes);
        return false;
    }
    /// The stream's next write begins a message: it is not joined with earlier writes, as a joined
    /// one may become visible in any order.
    virtual void begin_message(Stream stream) { static_cast<void>(stream); }
    /// Copies `src` and writes it after all earlier accesses of the stream, whatever their
    /// addresses. `addr` may be near memory. kLater: too much is in flight.
    virtual Access write(Stream stream, std::uint64_t addr, std::span<const std::byte> src) = 0;
    /// The same for a `src` that `held` keeps unchanged: it need not be copied.
    virtual Access write_held(Stream stream, std::uint64_t addr, std::span<const std::byte> src,
                              const Held& held) {
        static_cast<void>(held);
        return write(stream, addr, src);
    }
    /// Returns true if so much less is in flight that data refused with kLater is worth requesting
    /// again.
    virtual bool has_room(Stream stream) = 0;
    /// Queues an atomic on the aligned 8 bytes at `addr`, as write().
    virtual Access atomic(Stream stream, std::uint64_t addr, const Atomic& request) = 0;
    /// Returns, once, the old value of the oldest completed atomic.
    virtual std::uint64_t atomic_result(Stream stream) = 0;

    virtual Progress progress(Stream stream) = 0;
    /// Returns true once after something was fetched or completed: retry the streams that wait.
    virtual bool moved() = 0;
    /// For data that must leave before its QP is destroyed: blocks until something was completed
    /// since the last read() that returned kLater. Returns false if the short time limit ran out,
    /// or too much time was already spent here.
    virtual bool wait() = 0;
    /// Drops the stream: accesses that are not completed may or may not take effect.
    virtual void end(Stream stream) = 0;
};

}  // namespace dingo
