// SPDX-License-Identifier: BSD-2-Clause
// Conversion between the structures of the C and C++ interfaces.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "qpx/endpoint.h"
#include "qpx/qpx.h"

namespace qpx::c {

/// @throws Error(Argument): text without NUL, a count without a pointer;
/// Error(Unsupported): reserved members in use
Endpoint from_c(const qpx_endpoint& endpoint);
/// Allocates the result, to be freed by qpx_endpoints_free(). @throws std::bad_alloc
qpx_endpoint* to_c(std::span<const Endpoint> endpoints);
/// Fills `out` except regions, application bytes and the candidates' indices.
void fill(qpx_endpoint& out, const Endpoint& endpoint);

}  // namespace qpx::c
