// SPDX-License-Identifier: BSD-2-Clause
//
// The bus address space of a kernel-less card: what an IOMMU is to a real one. Every piece of
// memory that the engine may reach is a window; address = window << 40 | offset, so a lookup is an
// index into an array, and whatever the engine computes wrongly misses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/gate.h"
#include "dingo/engine.h"
#include "dingo/touch.h"
#include "host/driver/far_place.h"
#include "host/driver/window_memory.h"

namespace dingo::uverbs {

class FarRoom;

class BusMap {
  public:
    static constexpr unsigned kOffsetBits = 40;
    static constexpr std::uint64_t kMaxWindow = std::uint64_t{1} << kOffsetBits;
    /// Bus addresses have 64 bits.
    static constexpr std::size_t kMaxWindows = std::size_t{1} << (64 - kOffsetBits);

    /// `max_windows` with window 0, which is never given out: bus address 0 is no memory.
    explicit BusMap(std::size_t max_windows = kMaxWindows)
        : max_windows_(max_windows), windows_(1) {}

    /// From now on windows change only while `gate` is held; readers hold it, too.
    void set_gate(std::shared_ptr<Gate> gate) { gate_ = std::move(gate); }

    /// A window over memory of this process. Returns its bus address. Throws ErrnoError(ENOMEM)
    /// when there are too many windows, as the other one does.
    std::uint64_t add(std::span<std::byte> bytes);

    /// A window over [va, va + length) of a client; `parts` (sorted, without overlap) are mapped
    /// here, `files` (likewise, and apart from the parts) are reached by their descriptors.
    /// `client` may be null when they are all there is. Reads, not writes, may go on to
    /// the end of the last page: an engine that reads whole lines does. Throws ErrnoError(ENOMEM)
    /// when length does not fit an offset.
    std::uint64_t add(std::shared_ptr<ClientMemory> client, std::uint64_t va, std::uint64_t length,
                      std::vector<MappedPart> parts, bool writable,
                      std::vector<FilePart> files = {});

    /// Memory of a client.
    struct Backing {
        std::shared_ptr<ClientMemory> client;  ///< null: the parts are all there is
        std::uint64_t va = 0;                  ///< in the client's memory
        std::vector<MappedPart> parts;
        std::vector<FilePart> files;
        std::shared_ptr<Account> account;  ///< whose window it is; null: nobody's
        std::shared_ptr<const void> keep;  ///< what keeps the parts mapped, for a mover
    };
    /// As above. `far`: movers make all accesses, also to the parts.
    std::uint64_t add(Backing backing, std::uint64_t length, bool writable, bool far);
    /// Windows of `account` that are not far become so: of `most` windows from number `first` on.
    /// With the gate held. Returns how many.
    std::size_t make_far(const std::shared_ptr<Account>& account, std::size_t first,
                         std::size_t most);
    /// All numbers of windows are less.
    [[nodiscard]] std::size_t end() const { return windows_.size(); }

    /// A window that is far as a whole.
    std::uint64_t add(std::shared_ptr<FarPlace> place, std::uint64_t length, bool writable);

    /// The card may write from now on, or may not.
    void set_writable(std::uint64_t bus_address, bool writable);

    /// The engine uses the window no more.
    void remove(std::uint64_t bus_address);

    bool read(std::uint64_t addr, std::span<std::byte> dst) {
        if (const std::byte* from = pointer(addr, dst.size())) {
            copy_in(dst.data(), from, dst.size());
            return true;
        }
        return slow_read(addr, dst);
    }
    bool write(std::uint64_t addr, std::span<const std::byte> src);
    /// An atomic on 8 bytes; `before` = their value before.
    bool atomic(std::uint64_t addr, const FarMemory::Atomic& request, std::uint64_t& before);

    /// nullptr where the range is not wholly in one mapped part. `with`: the other side of a copy.
    [[nodiscard]] std::byte* pointer(std::uint64_t addr, std::size_t len,
                                     const std::byte* with = nullptr) {
        std::byte* const at = find_near(addr, len);
        if (at != nullptr) {
            touches(at, len, with);
        }
        return at;
    }

    /// Where an access goes.
    struct Place {
        bool ok = false;                ///< false: a bus error, which is counted
        std::shared_ptr<FarPlace> far;  ///< null: near memory
        std::uint64_t offset = 0;       ///< in the window
        std::uint64_t window = 0;       ///< which of those that had this address

        /// The mover that makes accesses to this place; nullptr: the caller makes them.
        [[nodiscard]] const Mover* mover() const {
            return far != nullptr ? far->mover().get() : nullptr;
        }
    };
    [[nodiscard]] Place place(std::uint64_t addr, std::uint64_t len, bool write);
    /// Whether the place's window is still there: its address may be another's by now.
    [[nodiscard]] bool is_there(std::uint64_t addr, const Place& place);
    /// Whether a part of the range is neither mapped nor in a file.
    [[nodiscard]] bool is_far(std::uint64_t addr, std::uint64_t len);
    /// Whether reads from there are fetched into buffers that other cards may use.
    [[nodiscard]] bool lends(std::uint64_t addr);

    [[nodiscard]] std::uint64_t errors() const { return errors_; }
    [[nodiscard]] std::size_t size() const { return windows_.size() - 1 - free_.size(); }

  private:
    struct Window {
        // The first mapped part: for most windows it is all there is, so it is at hand.
        std::byte* first = nullptr;
        std::uint64_t first_offset = 0;
        std::uint64_t first_size = 0;
        std::uint64_t length = 0;    ///< 0: free
        std::uint64_t readable = 0;  ///< bytes; length or more
        std::uint64_t id = 0;        ///< never given to another
        bool writable = true;
        WindowMemory memory;
        std::shared_ptr<FarPlace> far;  ///< a part of it is far memory
        std::shared_ptr<FarPlace> was;  ///< far before all of it was: accesses may be on their way
        std::shared_ptr<Account> account;
        std::shared_ptr<const void> keep;

        /// The data thread makes accesses to a part of it.
        [[nodiscard]] bool has_near_part() const {
            return !memory.parts.empty() || !memory.files.empty();
        }
        /// True when all of it lies in the far place: no client's memory is behind it.
        [[nodiscard]] bool is_a_place() const { return far != nullptr && !memory.client; }
    };

    [[nodiscard]] std::byte* find_near(std::uint64_t addr, std::size_t len) {
        const std::uint64_t index = addr >> kOffsetBits;
        if (index >= windows_.size()) {
            return nullptr;
        }
        const Window& w = windows_[index];
        const std::uint64_t offset = (addr & (kMaxWindow - 1)) - w.first_offset;
        if (offset < w.first_size && len <= w.first_size - offset) {
            return w.first + offset;
        }
        return w.memory.parts.size() < 2 ? nullptr : w.memory.pointer(addr & (kMaxWindow - 1), len);
    }

    static void copy_in(std::byte* to, const std::byte* from, std::size_t len);
    std::uint64_t add(Window window);
    void make_far(Window& window);
    bool slow_read(std::uint64_t addr, std::span<std::byte> dst);
    Window* find(std::uint64_t addr);
    void close(std::uint64_t index);
    std::shared_ptr<Mover> mover_of(const std::shared_ptr<ClientMemory>& client);
    std::shared_ptr<FarRoom> room_of(const std::shared_ptr<Account>& account);
    bool fail();

    std::shared_ptr<Gate> gate_;
    std::size_t max_windows_;
    std::vector<Window> windows_;
    std::vector<std::uint32_t> free_;
    /// By owner, not by address: that may be another client's before the mover is gone.
    std::map<std::weak_ptr<ClientMemory>, std::weak_ptr<Mover>, std::owner_less<>> movers_;
    std::map<std::weak_ptr<Account>, std::weak_ptr<FarRoom>, std::owner_less<>> rooms_;
    std::uint64_t errors_ = 0;
    std::uint64_t last_id_ = 0;
};

}  // namespace dingo::uverbs
