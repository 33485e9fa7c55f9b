// SPDX-License-Identifier: BSD-2-Clause
// Conversion between the structures of the C and C++ interfaces.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "qpx/endpoint.h"
#include "qpx/qpx.h"
#include "wire/text.h"

namespace qpx::c {

/// Copies text that it truncates at the end of a character; fills the rest with NUL.
template <std::size_t Size>
void copy_text(char (&out)[Size], std::string_view text) {
    const std::string_view fits = wire::cut(text, Size - 1);
    std::fill(std::copy(fits.begin(), fits.end(), out), out + Size, '\0');
}

/// @throws Error(Argument): text without NUL, a count without a pointer;
/// Error(Unsupported): reserved members in use
Endpoint from_c(const qpx_endpoint& endpoint);
/// Allocates the result, to be freed by qpx_endpoints_free(). @throws std::bad_alloc
qpx_endpoint* to_c(std::span<const Endpoint> endpoints);
/// Fills `out` except regions, application bytes and the candidates' indices.
void fill(qpx_endpoint& out, const Endpoint& endpoint);

}  // namespace qpx::c
