// SPDX-License-Identifier: BSD-2-Clause
// The bus address space of a kernel-less card, the counterpart of a real card's IOMMU. Each piece
// of memory that the engine may access is a window with address = window << 40 | offset. So a
// lookup is an array index, and invalid addresses hit no window.
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

    /// `max_windows` includes window 0, which is never used: bus address 0 is invalid.
    explicit BusMap(std::size_t max_windows = kMaxWindows)
        : max_windows_(max_windows), windows_(1) {}

    /// From now on windows change only while `gate` is held; readers hold it as well.
    void set_gate(std::shared_ptr<Gate> gate) { gate_ = std::move(gate); }

    /// Adds a window over memory of this process and returns its bus address. Like the other
    /// overloads it throws ErrnoError(ENOMEM) if there are too many windows.
    std::uint64_t add(std::span<std::byte> bytes);

    /// Adds a window over [va, va + length) of a client. `parts` (sorted, without overlap) are
    /// mapped here; `files` (sorted, without overlap with each other or the parts) are accessed
    /// through their descriptors. `client` may be null if these cover the window. Reads, but not
    /// writes, may extend to the end of the last page, as an engine may read whole lines. Throws
    /// ErrnoError(ENOMEM) if `length` does not fit an offset.
    std::uint64_t add(std::shared_ptr<ClientMemory> client, std::uint64_t va, std::uint64_t length,
                      std::vector<MappedPart> parts, bool writable,
                      std::vector<FilePart> files = {});

    /// A client's memory behind a window.
    struct Backing {
        std::shared_ptr<ClientMemory> client;  ///< null: the parts are the whole window
        std::uint64_t va = 0;                  ///< address of the window in the client
        std::vector<MappedPart> parts;
        std::vector<FilePart> files;
        std::shared_ptr<Account> account;  ///< owner of the window; null: none
        std::shared_ptr<const void> keep;  ///< keeps the parts mapped as long as a mover uses them
    };
    /// Adds a window. With `far`, movers make all accesses, also to the mapped parts.
    std::uint64_t add(Backing backing, std::uint64_t length, bool writable, bool far);
    /// Makes windows of `account` far that are not far yet: looks at `most` windows from number
    /// `first` on. Call with the gate held. Returns how many became far.
    std::size_t make_far(const std::shared_ptr<Account>& account, std::size_t first,
                         std::size_t most);
    /// One more than the highest window number.
    [[nodiscard]] std::size_t end() const { return windows_.size(); }

    /// Adds a window that lies in far memory as a whole.
    std::uint64_t add(std::shared_ptr<FarPlace> place, std::uint64_t length, bool writable);

    /// Allows or forbids the card to write to the window.
    void set_writable(std::uint64_t bus_address, bool writable);

    /// Removes a window that the engine no longer uses. Waits until its memory is closed, as long
    /// as FarRoom allows.
    void remove(std::uint64_t bus_address);

    bool read(std::uint64_t addr, std::span<std::byte> dst) {
        if (const std::byte* from = pointer(addr, dst.size())) {
            copy_in(dst.data(), from, dst.size());
            return true;
        }
        return slow_read(addr, dst);
    }
    bool write(std::uint64_t addr, std::span<const std::byte> src);
    /// Atomic operation on 8 bytes; sets `before` to their previous value.
    bool atomic(std::uint64_t addr, const FarMemory::Atomic& request, std::uint64_t& before);

    /// Returns nullptr if the range is not completely within one mapped part. `with`: the other
    /// side of a copy.
    [[nodiscard]] std::byte* pointer(std::uint64_t addr, std::size_t len,
                                     const std::byte* with = nullptr) {
        std::byte* const at = find_near(addr, len);
        if (at != nullptr) {
            touches(at, len, with);
        }
        return at;
    }

    /// Target of an access.
    struct Place {
        bool ok = false;                ///< false: a bus error, which is counted
        std::shared_ptr<FarPlace> far;  ///< null: near memory
        std::uint64_t offset = 0;       ///< in the window
        std::uint64_t window = 0;       ///< which of those that had this address

        /// The mover that executes accesses to this place; nullptr if the caller executes them.
        [[nodiscard]] const Mover* mover() const {
            return far != nullptr ? far->mover().get() : nullptr;
        }
    };
    [[nodiscard]] Place place(std::uint64_t addr, std::uint64_t len, bool write);
    /// Returns true if the place's window still exists; its address may have been reused.
    [[nodiscard]] bool is_there(std::uint64_t addr, const Place& place);
    /// Returns true if a part of the range is neither mapped nor in a file.
    [[nodiscard]] bool is_far(std::uint64_t addr, std::uint64_t len);
    /// Returns true if reads there use buffers that other cards may access.
    [[nodiscard]] bool lends(std::uint64_t addr);

    [[nodiscard]] std::uint64_t errors() const { return errors_; }
    [[nodiscard]] std::size_t size() const { return windows_.size() - 1 - free_.size(); }

  private:
    struct Window {
        // The first mapped part, kept here for fast access: most windows have no other.
        std::byte* first = nullptr;
        std::uint64_t first_offset = 0;
        std::uint64_t first_size = 0;
        std::uint64_t length = 0;    ///< 0: free
        std::uint64_t readable = 0;  ///< bytes; length or more
        std::uint64_t id = 0;        ///< unique, never reused
        bool writable = true;
        WindowMemory memory;
        std::shared_ptr<FarPlace> far;  ///< set if part of the window is far memory
        std::shared_ptr<FarPlace> was;  ///< the place before the whole window became far: accesses
                                        ///< to it may be in flight
        std::shared_ptr<Account> account;
        std::shared_ptr<const void> keep;

        /// Returns true if the data thread accesses a part of the window itself.
        [[nodiscard]] bool has_near_part() const {
            return !memory.parts.empty() || !memory.files.empty();
        }
        /// Returns true if the whole window is in `far` and has no client memory.
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
    /// Memory of a closed place that another thread closes.
    struct OfAnotherThread {
        std::shared_ptr<FarRoom> room;
        std::shared_ptr<Closing> closing;
    };
    std::vector<OfAnotherThread> close(std::uint64_t index);
    std::shared_ptr<Mover> mover_of(const std::shared_ptr<ClientMemory>& client);
    std::shared_ptr<Mover> mover_of(const std::shared_ptr<Account>& account);
    std::shared_ptr<FarRoom> room_of(const std::shared_ptr<Account>& account);
    bool fail();

    std::shared_ptr<Gate> gate_;
    std::size_t max_windows_;
    std::vector<Window> windows_;
    std::vector<std::uint32_t> free_;
    /// Keyed by owner, not by address, which may be reused by another client before the mover has
    /// ended.
    std::map<std::weak_ptr<ClientMemory>, std::weak_ptr<Mover>, std::owner_less<>> movers_;
    std::map<std::weak_ptr<Account>, std::weak_ptr<Mover>, std::owner_less<>> account_movers_;
    std::map<std::weak_ptr<Account>, std::weak_ptr<FarRoom>, std::owner_less<>> rooms_;
    std::uint64_t errors_ = 0;
    std::uint64_t last_id_ = 0;
};

}  // namespace dingo::uverbs
