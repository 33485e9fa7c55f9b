// SPDX-License-Identifier: BSD-2-Clause
//
// A request being executed: its arguments, the client's memory, and what must be undone if it
// fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "host/driver/client_memory.h"
#include "host/uverbs/message.h"
#include "host/uverbs/objects.h"

namespace dingo::uverbs {

class UverbsFile;

/// Thrown, but not an error: the client must share memory or pass descriptors and repeat the
/// request.
struct NeedSharing {
    std::uint64_t va;
    std::uint64_t length;
    bool writable;
};
struct NeedFds {
    std::vector<int> numbers;
    NeedSharing gpu{};         ///< set if the first descriptor may be a DMABuf of GPU memory at
                               ///< that address
    std::uint64_t offset = 0;  ///< in the DMABuf
};
/// Thrown, but not an error: GPU memory is being opened; the request is executed again afterwards.
struct NeedGpu {
    std::uint64_t end;  ///< end of the needed range in the allocation
};

class Call {
  public:
    Call(UverbsFile& file, const Message& message, std::shared_ptr<ClientMemory> memory)
        : file_(file), message_(message), memory_(std::move(memory)) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    /// Undoes what the request created unless commit() was called.
    ~Call();

    [[nodiscard]] UverbsFile& file() const { return file_; }
    [[nodiscard]] const Message& message() const { return message_; }
    [[nodiscard]] const std::shared_ptr<ClientMemory>& memory() const { return memory_; }
    [[nodiscard]] Driver& driver() const;
    [[nodiscard]] ObjectTable& objects() const;
    /// Throws ErrnoError(EINVAL) before GET_CONTEXT.
    [[nodiscard]] Context& context() const;
    /// Checks that no peer still uses the region of this key, or the page, that was withdrawn from
    /// peers. Throws NotQuiet to wait for that, ErrnoError(EBUSY) if the wait has timed out.
    void await_quiet(const DirectContext& direct, std::uint32_t key) const;
    void await_quiet(const DirectPage& page) const;

    /// Pauses the channels of an object that is about to be destroyed and takes back its unread
    /// events. Throws NotBack to wait for them; ErrnoError(EAGAIN).
    [[nodiscard]] std::shared_ptr<EventPause> pause_events(const EventSource& object) const;

    /// As copy_from_user and copy_to_user, for the request's arguments. Throw ErrnoError(EFAULT).
    void copy_from(std::uint64_t va, std::span<std::byte> bytes) const;
    void copy_to(std::uint64_t va, std::span<const std::byte> bytes) const;
    void clear(std::uint64_t va, std::size_t length) const;
    template <typename T>
    void copy_to(std::uint64_t va, const T& value) const {
        copy_to(va, std::as_bytes(std::span(&value, 1)));
    }

    /// Returns copies of the client's descriptors with these numbers. Throws NeedFds if the request
    /// brought none; ErrnoError(EBADF) if one is not open in the client.
    [[nodiscard]] std::vector<int> descriptors(std::vector<int> numbers) const;
    /// The same for a DMABuf that may be of GPU memory at `va`.
    [[nodiscard]] int dmabuf(int number, std::uint64_t offset, std::uint64_t va,
                             std::uint64_t length) const;

    /// Returns GPU memory if the client shares such, else nullptr. The range begins at
    /// `gpu_offset()` in it. Throws NeedGpu while it is being opened; ErrnoError: EACCES, EINVAL,
    /// ENODEV, ENOMEM, EOPNOTSUPP.
    [[nodiscard]] std::shared_ptr<FarPlace> gpu_memory(std::uint64_t length) const;
    [[nodiscard]] std::uint64_t gpu_offset() const { return message_.gpu->offset; }

    /// Returns the segments of [va, va + length) that the client shares. Throws NeedSharing if the
    /// client was not asked yet; ErrnoError(EFAULT) if the range is not mapped as needed.
    [[nodiscard]] std::vector<SharedSegment> shared(std::uint64_t va, std::uint64_t length,
                                                    bool writable) const;

    /// Passes `fd` to the client, which stores its number at `va`.
    void give(UniqueFd fd, std::uint64_t va, std::uint32_t size, dingo_uverbs_fd_kind kind);

    /// Adds a new object, which is destroyed if the call fails.
    template <typename T>
    T& add(std::unique_ptr<T> object) {
        T& result = *object;
        objects().add(std::move(object));
        made_.push_back(&result);
        return result;
    }

    /// Registers an action for when nothing can fail any more.
    void at_success(std::function<void()> what) { at_success_.push_back(std::move(what)); }

    /// Completes a successful request: adds the descriptors to the answer.
    void commit(Reply& reply);

  private:
    UverbsFile& file_;
    const Message& message_;
    std::shared_ptr<ClientMemory> memory_;
    std::vector<Object*> made_;
    std::vector<dingo_uverbs_fixup> fixups_;
    std::vector<UniqueFd> fds_;
    std::vector<std::function<void()>> at_success_;
};

}  // namespace dingo::uverbs
