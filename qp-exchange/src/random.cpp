// SPDX-License-Identifier: BSD-2-Clause
#include "random.h"

#include <sys/random.h>

#include "qpx/error.h"

namespace qpx {

std::uint32_t random_u32() {
    std::uint32_t value = 0;
    // Up to 256 bytes are returned in full and without EINTR (getrandom(2)).
    if (getrandom(&value, sizeof(value), 0) != static_cast<ssize_t>(sizeof(value))) {
        throw Error(ErrorCode::Unsupported, "the kernel gives no random numbers");
    }
    return value;
}

}  // namespace qpx
