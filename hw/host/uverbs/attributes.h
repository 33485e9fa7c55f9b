// SPDX-License-Identifier: BSD-2-Clause
//
// The attributes of one ioctl(RDMA_VERBS_IOCTL): what a method takes is a table, and what comes is
// checked against it before the method runs, in the order and with the errno of ib_uverbs.
#pragma once

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "host/uverbs/call.h"

namespace dingo::uverbs {

enum class AttributeKind : std::uint8_t {
    kIn,         ///< data of the client; inline up to 8 bytes
    kOut,        ///< room for an answer
    kObject,     ///< handle of an object that is used
    kDestroy,    ///< handle of the object that the method destroys
    kNewObject,  ///< room for a handle
    kFd,         ///< descriptor of a channel, by number
    kNewFd,      ///< room for a descriptor's number
};

struct AttributeSpec {
    std::uint16_t id;
    AttributeKind kind;
    bool mandatory;
    std::uint16_t min_length = 0;
    std::uint16_t max_length = 0;  ///< most bytes that are known
    bool longer = false;           ///< more may come: zeros in, ignored room out
    std::uint16_t object = 0;      ///< enum uverbs_default_objects
};

class IoctlCall;

struct IoctlMethod {
    std::uint16_t object;
    std::uint16_t method;
    bool driver_data;
    std::vector<AttributeSpec> attributes;
    void (*handler)(IoctlCall&);
};

class IoctlCall {
  public:
    /// Throws the error that ib_uverbs gives for wrong attributes.
    IoctlCall(Call& c, const IoctlMethod& method, std::span<const ib_uverbs_attr> attributes);

    Call& call;
    Udata udata;

    [[nodiscard]] bool has(std::uint16_t id) const { return find(id) != nullptr; }
    [[nodiscard]] std::size_t length(std::uint16_t id) const;

    /// Data; missing bytes are zero, also when there is no such attribute.
    template <typename T>
    [[nodiscard]] T in(std::uint16_t id) const {
        T value;
        std::memset(&value, 0, sizeof value);
        if (has(id)) {
            read(id, std::as_writable_bytes(std::span(&value, 1)));
        }
        return value;
    }
    /// A constant of a type that has no values above `max`. ErrnoError(EINVAL).
    [[nodiscard]] std::uint64_t constant(std::uint16_t id, std::uint64_t max) const;
    /// Flags, 4 or 8 bytes; 0 when there is no such attribute. ErrnoError(EINVAL): others are set.
    [[nodiscard]] std::uint32_t flags(std::uint16_t id, std::uint32_t allowed) const;

    /// ErrnoError(ENOENT) when there is no such attribute.
    template <typename T>
    [[nodiscard]] T& object(std::uint16_t id) const {
        return static_cast<T&>(object(id));
    }
    template <typename T>
    [[nodiscard]] T* object_if(std::uint16_t id) const {
        return has(id) ? &object<T>(id) : nullptr;
    }
    [[nodiscard]] Object& object(std::uint16_t id) const;
    /// The client's descriptor, a copy; -1: no such attribute.
    [[nodiscard]] int fd(std::uint16_t id) const;

    /// Answers; nothing happens when there is no such attribute.
    template <typename T>
    void out(std::uint16_t id, const T& value) {
        write(id, std::as_bytes(std::span(&value, 1)));
    }
    void write(std::uint16_t id, std::span<const std::byte> bytes);
    /// The handle of a new object.
    void put_object(std::uint16_t id, const Object& object);
    void put_fd(std::uint16_t id, UniqueFd fd, dingo_uverbs_fd_kind kind);

    /// Buffers of the attributes, for INVOKE_WRITE.
    struct Room {
        std::uint64_t va = 0;
        std::size_t length = 0;
    };
    [[nodiscard]] std::vector<std::byte> bytes(std::uint16_t id) const;
    [[nodiscard]] Room room(std::uint16_t id) const;
    /// Tells the client that the answer is valid.
    void mark_valid(std::uint16_t id);

    /// After the handler: the driver's answer.
    void finish();

  private:
    struct Given {
        ib_uverbs_attr attr;
        const AttributeSpec* spec;
        std::uint64_t va;  ///< of the attribute itself, in the client
        Object* object = nullptr;
        int fd = -1;
    };
    [[nodiscard]] const Given* find(std::uint16_t id) const;
    void check(Given& given) const;
    void fetch_fds();
    void read(std::uint16_t id, std::span<std::byte> bytes) const;

    const IoctlMethod& method_;
    std::map<std::uint16_t, Given> given_;
    std::vector<std::byte> driver_in_;
};

}  // namespace dingo::uverbs
