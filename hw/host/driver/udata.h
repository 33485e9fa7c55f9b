// SPDX-License-Identifier: BSD-2-Clause
//
// Driver data of uverbs commands, by the rules of dingo-abi.h.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/errno_error.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

/// Unknown request bytes must be zero, so that a later provider notices an older card.
inline void require_zero(std::span<const std::byte> bytes) {
    if (std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; })) {
        throw ErrnoError(EOPNOTSUPP);
    }
}

/// Throws EINVAL if the request is shorter than in version 1 of the ABI.
template <typename Request>
Request udata_in(const Udata& udata) {
    Request request;
    if (udata.in.size() < sizeof request) {
        throw ErrnoError(EINVAL);
    }
    require_zero(udata.in.subspan(sizeof request));
    std::memcpy(&request, udata.in.data(), sizeof request);
    return request;
}

inline void udata_none(const Udata& udata) {
    require_zero(udata.in);
}

template <typename Response>
void udata_out(Udata& udata, const Response& response) {
    const auto bytes = std::as_bytes(std::span(&response, 1));
    udata.out.assign(bytes.begin(), bytes.end());
}

}  // namespace dingo::uverbs
