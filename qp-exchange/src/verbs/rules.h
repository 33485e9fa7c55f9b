// SPDX-License-Identifier: BSD-2-Clause
// What is decided before the device is asked: pure functions of what is known.
#pragma once
#include <infiniband/verbs.h>

#include <optional>
#include <span>

#include "qpx/verbs.h"

namespace qpx::verbs {

/// @param ethernet link layer of the port. @param device for the error. @throws Error(Argument)
GidChoice choose_from(std::span<const GidChoice> table, bool ethernet, const GidQuery& query,
                      const std::string& device);

struct Attributes {
    ibv_qp_attr attr{};
    int mask = 0;
};
/// @param atomics the device has them
Attributes init_attributes(const Endpoint& local, const PathOptions& path, bool atomics);
Attributes rtr_attributes(const Local& local, const Endpoint& remote, const PathOptions& path);
Attributes rts_attributes(const Endpoint& local, const Endpoint& remote, const PathOptions& path);
ibv_ah_attr address_of(const Local& local, const Endpoint& remote, const PathOptions& path);

/// What the application does about an errno of a change to that state.
std::string hint(int error, ibv_qp_state state, const Endpoint* remote);

}  // namespace qpx::verbs
