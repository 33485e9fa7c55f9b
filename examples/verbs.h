// SPDX-License-Identifier: BSD-2-Clause
//
// Helpers for programs on plain verbs: owners of objects, errors as exceptions, choice of device
// and GID.
#pragma once

#include <infiniband/dingodv.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace examples {

/// Deleter for objects created by ibv_* calls.
template <auto Destroy>
struct Deleter {
    template <typename T>
    void operator()(T* object) const {
        Destroy(object);
    }
};
template <typename T, auto Destroy>
using Owned = std::unique_ptr<T, Deleter<Destroy>>;
using Context = Owned<ibv_context, ibv_close_device>;

/// Throws std::runtime_error "step: text of `error`" (an errno).
[[noreturn]] inline void fail(const std::string& step, int error) {
    throw std::runtime_error(step + ": " + std::strerror(error));
}

/// Fails unless `error` is 0.
inline void check(int error, const std::string& step) {
    if (error != 0)
        fail(step, error);
}

/// Fails with errno if `object` is null; else returns it.
template <typename T>
T* check(T* object, const std::string& step) {
    if (object == nullptr)
        fail(step, errno);
    return object;
}

/// Opens the device of this name, or with "" the n-th Dingo card, from 0. Returns null if there are
/// only `cards` cards. Throws std::runtime_error if the device does not exist or cannot be opened.
inline Context find_device(const std::string& name, unsigned n, unsigned& cards) {
    int count = 0;
    const Owned<ibv_device*, ibv_free_device_list> list(ibv_get_device_list(&count));
    cards = 0;
    for (int i = 0; list && i < count; ++i) {
        ibv_device* const device = list.get()[i];
        const bool right = name.empty() ? dingodv_is_supported(device) && cards++ == n
                                        : name == ibv_get_device_name(device);
        if (right)
            return Context(check(ibv_open_device(device), "ibv_open_device"));
    }
    if (!name.empty())
        throw std::runtime_error("no device '" + name + "': ibv_devices lists them");
    return nullptr;
}

/// Returns the index of a RoCE v2 GID of port 1 and sets `gid` to it. Throws std::runtime_error if
/// there is none.
inline std::uint8_t roce_gid(ibv_context* context, ibv_gid& gid) {
    std::array<ibv_gid_entry, 64> table{};
    const ssize_t entries = ibv_query_gid_table(context, table.data(), table.size(), 0);
    for (ssize_t i = 0; i < entries; ++i) {
        const ibv_gid_entry& entry = table[static_cast<std::size_t>(i)];
        if (entry.gid_type == IBV_GID_TYPE_ROCE_V2) {
            gid = entry.gid;
            return static_cast<std::uint8_t>(entry.gid_index);
        }
    }
    throw std::runtime_error("the port has no RoCE v2 GID: is its interface up?");
}

}  // namespace examples
