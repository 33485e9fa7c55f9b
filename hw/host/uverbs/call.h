// SPDX-License-Identifier: BSD-2-Clause
//
// A request that is being executed: what it brought, the client's memory, and what must be undone
// should it fail half-way.
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

/// Not an error: the client has to share memory or hand over descriptors, and ask again.
struct NeedSharing {
    std::uint64_t va;
    std::uint64_t length;
    bool writable;
};
struct NeedFds {
    std::vector<int> numbers;
    NeedSharing gpu{};         ///< the first may be a DMABuf of a GPU's memory at that address
    std::uint64_t offset = 0;  ///< in the DMABuf
};
/// Not an error: memory of a GPU is being opened, and the request is served again then.
struct NeedGpu {
    std::uint64_t end;  ///< of what is wanted, in the allocation
};

class Call {
  public:
    Call(UverbsFile& file, const Message& message, std::shared_ptr<ClientMemory> memory)
        : file_(file), message_(message), memory_(std::move(memory)) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    /// Undoes what the request made unless commit() was called.
    ~Call();

    [[nodiscard]] UverbsFile& file() const { return file_; }
    [[nodiscard]] const Message& message() const { return message_; }
    [[nodiscard]] const std::shared_ptr<ClientMemory>& memory() const { return memory_; }
    [[nodiscard]] Driver& driver() const;
    [[nodiscard]] ObjectTable& objects() const;
    /// ErrnoError(EINVAL) before GET_CONTEXT.
    [[nodiscard]] Context& context() const;
    /// Waits until no peer uses the region of this key, or the page, that was taken from peers.
    /// Throws NotQuiet; ErrnoError(EBUSY).
    void await_quiet(const DirectContext& direct, std::uint32_t key) const;
    void await_quiet(const DirectPage& page) const;

    /// The object is about to end: what its client has not read of its events is back. NotBack;
    /// ErrnoError(EAGAIN).
    [[nodiscard]] std::shared_ptr<EventPause> pause_events(const EventSource& object) const;

    /// copy_from_user and copy_to_user, of the request's arguments. ErrnoError(EFAULT).
    void copy_from(std::uint64_t va, std::span<std::byte> bytes) const;
    void copy_to(std::uint64_t va, std::span<const std::byte> bytes) const;
    void clear(std::uint64_t va, std::size_t length) const;
    template <typename T>
    void copy_to(std::uint64_t va, const T& value) const {
        copy_to(va, std::as_bytes(std::span(&value, 1)));
    }

    /// Copies of the descriptors that have these numbers in the client. NeedFds when the request
    /// brought none; ErrnoError(EBADF) when one is not open there.
    [[nodiscard]] std::vector<int> descriptors(std::vector<int> numbers) const;
    /// The same for a DMABuf that may be GPU memory at `va`.
    [[nodiscard]] int dmabuf(int number, std::uint64_t offset, std::uint64_t va,
                             std::uint64_t length) const;

    /// Memory of a GPU, if that is what the client shares; else nullptr. It begins `gpu_offset()`
    /// bytes into the place. NeedGpu while it is being opened; ErrnoError: EACCES, EINVAL, ENODEV,
    /// ENOMEM, EOPNOTSUPP.
    [[nodiscard]] std::shared_ptr<FarPlace> gpu_memory(std::uint64_t length) const;
    [[nodiscard]] std::uint64_t gpu_offset() const { return message_.gpu->offset; }

    /// The memory behind [va, va + length), as far as the client shares it. NeedSharing when it was
    /// not asked yet; ErrnoError(EFAULT) when the range is not mapped as wanted.
    [[nodiscard]] std::vector<SharedSegment> shared(std::uint64_t va, std::uint64_t length,
                                                    bool writable) const;

    /// The client finds its number for `fd` at va.
    void give(UniqueFd fd, std::uint64_t va, std::uint32_t size, dingo_uverbs_fd_kind kind);

    /// A new object; gone again when the call fails.
    template <typename T>
    T& add(std::unique_ptr<T> object) {
        T& result = *object;
        objects().add(std::move(object));
        made_.push_back(&result);
        return result;
    }

    /// Done once nothing can fail any more.
    void at_success(std::function<void()> what) { at_success_.push_back(std::move(what)); }

    /// It succeeded: the answer's descriptors.
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
