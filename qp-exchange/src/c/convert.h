// SPDX-License-Identifier: BSD-2-Clause
// Between the C structures and the C++ ones.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "qpx/endpoint.h"
#include "qpx/qpx.h"

namespace qpx::c {

/// @throws Error(Argument): text without an end, a count without a pointer;
/// Error(Unsupported): reserved members in use
Endpoint from_c(const qpx_endpoint& endpoint);
/// Memory of the C library; freed by qpx_endpoints_free(). @throws std::bad_alloc
qpx_endpoint* to_c(std::span<const Endpoint> endpoints);
/// Without regions, application bytes and the candidates' indices.
void fill(qpx_endpoint& out, const Endpoint& endpoint);

}  // namespace qpx::c
