// SPDX-License-Identifier: BSD-2-Clause
//
// The commands of rdma_ucm's write() interface, <rdma/rdma_user_cm.h>.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/errno_error.h"
#include "host/rdma_cm/address.h"
#include "host/uverbs/arguments.h"

namespace dingo::rdma_cm {

class File;
class Id;
class CmService;

/// A command that is being executed.
struct Command {
    CmService& service;
    File& file;
    uverbs::Arguments& arguments;
    std::int64_t process;  ///< key of the process that sent the command
    std::span<const std::byte> in;
    std::size_t out_length;
    File* left = nullptr;  ///< descriptor that a migrated identifier was taken from

    /// Returns the command's structure; fields that an older library did not send are 0.
    template <typename T>
    [[nodiscard]] T request() const {
        T value;
        std::memset(&value, 0, sizeof value);
        std::memcpy(&value, in.data(), std::min(in.size(), sizeof value));
        return value;
    }
    /// As copy_to_user, as far as the client has room. Throws ErrnoError: ENOSPC if there is room
    /// for less than `least` bytes, EFAULT.
    template <typename T>
    void respond(std::uint64_t va, const T& value, std::size_t least = sizeof(T)) const {
        respond_bytes(va, std::as_bytes(std::span(&value, 1)), least);
    }
    void respond_bytes(std::uint64_t va, std::span<const std::byte> bytes, std::size_t least) const;
};

/// `command.in` is all data written. Throws ErrnoError.
void execute_command(Command& command);

/// Reads the sockaddr of a structure. Throws ErrnoError(EINVAL).
Address address_of(const void* storage, std::size_t size);
/// Checks as the kernel's rdma_addr_size() does: the family must be known and `size` must be its
/// length.
Address sized_address(const __kernel_sockaddr_storage& storage, std::size_t size);

// commands_query.cpp
void query_route(Command& c);
void query(Command& c);

}  // namespace dingo::rdma_cm
