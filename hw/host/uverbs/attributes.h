// SPDX-License-Identifier: BSD-2-Clause
// The attributes of one ioctl(RDMA_VERBS_IOCTL). A table describes what a method accepts; the
// attributes are checked against it before the method runs, in the order and with the errno of
// ib_uverbs.
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
    kIn,         ///< input data of the client, inline up to 8 bytes
    kOut,        ///< room for an answer
    kObject,     ///< handle of an existing object
    kDestroy,    ///< handle of the object that the method destroys
    kNewObject,  ///< room for the handle of a new object
    kFd,         ///< number of a channel's descriptor
    kNewFd,      ///< room for the number of a new descriptor
};

struct AttributeSpec {
    std::uint16_t id;
    AttributeKind kind;
    bool mandatory;
    std::uint16_t min_length = 0;
    std::uint16_t max_length = 0;  ///< maximum number of bytes understood
    bool longer = false;           ///< longer is allowed: extra input must be zero, extra room is
                                   ///< ignored
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
    /// Throws ErrnoError with the errno of ib_uverbs if attributes are wrong.
    IoctlCall(Call& c, const IoctlMethod& method, std::span<const ib_uverbs_attr> attributes);

    Call& call;
    Udata udata;

    [[nodiscard]] bool has(std::uint16_t id) const { return find(id) != nullptr; }
    [[nodiscard]] std::size_t length(std::uint16_t id) const;

    /// Returns the input data. Missing bytes, or a missing attribute, read as zero.
    template <typename T>
    [[nodiscard]] T in(std::uint16_t id) const {
        T value;
        std::memset(&value, 0, sizeof value);
        if (has(id)) {
            read(id, std::as_writable_bytes(std::span(&value, 1)));
        }
        return value;
    }
    /// Returns an enumeration value. Throws ErrnoError(EINVAL) if it is above `max`.
    [[nodiscard]] std::uint64_t constant(std::uint16_t id, std::uint64_t max) const;
    /// Returns flags of 4 or 8 bytes, 0 if the attribute is missing. Throws ErrnoError(EINVAL) if
    /// others than `allowed` are set.
    [[nodiscard]] std::uint32_t flags(std::uint16_t id, std::uint32_t allowed) const;

    /// Throws ErrnoError(ENOENT) if the attribute is missing.
    template <typename T>
    [[nodiscard]] T& object(std::uint16_t id) const {
        return static_cast<T&>(object(id));
    }
    template <typename T>
    [[nodiscard]] T* object_if(std::uint16_t id) const {
        return has(id) ? &object<T>(id) : nullptr;
    }
    [[nodiscard]] Object& object(std::uint16_t id) const;
    /// Returns a copy of the client's descriptor, -1 if the attribute is missing.
    [[nodiscard]] int fd(std::uint16_t id) const;

    /// Answers; nothing happens when there is no such attribute.
    template <typename T>
    void out(std::uint16_t id, const T& value) {
        write(id, std::as_bytes(std::span(&value, 1)));
    }
    void write(std::uint16_t id, std::span<const std::byte> bytes);
    /// Stores the handle of a new object.
    void put_object(std::uint16_t id, const Object& object);
    void put_fd(std::uint16_t id, UniqueFd fd, dingo_uverbs_fd_kind kind);

    /// Room of an attribute, for INVOKE_WRITE.
    struct Room {
        std::uint64_t va = 0;
        std::size_t length = 0;
    };
    [[nodiscard]] std::vector<std::byte> bytes(std::uint16_t id) const;
    [[nodiscard]] Room room(std::uint16_t id) const;
    /// Sets the attribute's valid flag for the client.
    void mark_valid(std::uint16_t id);

    /// Writes the driver's part of the answer, after the handler.
    void finish();

  private:
    struct Given {
        ib_uverbs_attr attr;
        const AttributeSpec* spec;
        std::uint64_t va;  ///< address of the attribute itself in the client
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
