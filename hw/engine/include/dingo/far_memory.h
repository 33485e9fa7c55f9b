// SPDX-License-Identifier: BSD-2-Clause
//
// Far memory: host memory that takes time to reach, as another process's that cannot be mapped, or
// a GPU's. An engine that knows this port waits for nobody: docs/reference/far-memory.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dingo/held_memory.h"

namespace dingo {

/// Called, as the other ports, by the engine's thread only; no call but wait() waits.
class FarMemory {
  public:
    virtual ~FarMemory() = default;

    /// Accesses that belong together, and whose order matters: one half of a QP. The engine
    /// chooses the numbers.
    using Stream = std::uint32_t;

    enum class Access : std::uint8_t {
        kDone,
        kLater,  ///< not yet: again when moved() was true
        kError,  ///< bus error
    };

    struct Atomic {
        bool swap = false;  ///< compare and swap; else fetch and add
        std::uint64_t compare = 0;
        std::uint64_t operand = 0;  ///< the new value, or the summand

        /// Makes the atomic by a read and a write, where no locked instruction is possible:
        /// `read(bytes)`, then `write(bytes)` if it changes them. `before` = the bytes before.
        /// False: one of the two failed.
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
        std::uint64_t done = 0;  ///< of the stream's accesses by write() and atomic(), in order
        /// The next one has met a bus error. None behind it is done, or is begun any more; what was
        /// on its way with it may have been made.
        bool failed = false;
    };

    /// Whether a part of [addr, addr + len) is far. Does not change while a region has it.
    virtual bool is_far(std::uint64_t addr, std::uint64_t len) = 0;

    /// Bytes of a message from far memory. Those that follow, up to `ahead` with these, may be
    /// fetched before they are asked for. What was fetched for another `message` of the stream is
    /// forgotten, unless that was told by prefetch(): a message never sees what memory held before
    /// it was posted.
    virtual Access read(Stream stream, std::uint64_t message, std::uint64_t addr,
                        std::span<std::byte> dst, std::uint64_t ahead) = 0;
    /// As read(), of `bytes` bytes that need not be copied: they are at `where`. False: read() has
    /// them, or will.
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
    /// Whether what refer() says of `addr` may be lent to another card: only of that a wire may
    /// hold enough.
    virtual bool lends(std::uint64_t addr) {
        static_cast<void>(addr);
        return false;
    }
    /// Bytes, some of them far, that `message` will ask for: one that comes later than the one
    /// that reads now, and those told before. False: enough is fetched ahead, or nothing ever is.
    virtual bool prefetch(Stream stream, std::uint64_t message, std::uint64_t addr,
                          std::uint64_t bytes) {
        static_cast<void>(stream);
        static_cast<void>(message);
        static_cast<void>(addr);
        static_cast<void>(bytes);
        return false;
    }
    /// Takes a copy of `src`, which is written later: after all earlier accesses of the stream,
    /// wherever those go. `addr` may be near memory. kLater: too much is on its way.
    virtual Access write(Stream stream, std::uint64_t addr, std::span<const std::byte> src) = 0;
    /// The same for a `src` that `held` keeps: it need not be copied.
    virtual Access write_held(Stream stream, std::uint64_t addr, std::span<const std::byte> src,
                              const Held& held) {
        static_cast<void>(held);
        return write(stream, addr, src);
    }
    /// Whether it is worth while to have data sent again that write() answered kLater: so much less
    /// is on its way.
    virtual bool has_room(Stream stream) = 0;
    /// The same for an atomic on the aligned 8 bytes at `addr`.
    virtual Access atomic(Stream stream, std::uint64_t addr, const Atomic& request) = 0;
    /// The value before the oldest atomic that is done and not asked for.
    virtual std::uint64_t atomic_result(Stream stream) = 0;

    virtual Progress progress(Stream stream) = 0;
    /// True once after something was fetched or done: streams that wait are looked at.
    virtual bool moved() = 0;
    /// For what must leave before its QP goes: waits until something was made since the last read()
    /// that said kLater. False: it was not in the little time that there is, or too much was spent
    /// so already.
    virtual bool wait() = 0;
    /// Forgets the stream: accesses that are not done may be made or not.
    virtual void end(Stream stream) = 0;
};

}  // namespace dingo
