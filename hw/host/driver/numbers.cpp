// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/numbers.h"

#include <sys/random.h>

#include <cerrno>

namespace dingo::uverbs {

std::uint32_t random_bits() {
    std::uint32_t bits = 0;
    while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
        if (errno != EINTR) {
            throw ErrnoError(EIO);  // do not fall back to a guessable key
        }
    }
    return bits;
}

}  // namespace dingo::uverbs
