// SPDX-License-Identifier: BSD-2-Clause
// Decisions before the device is asked: pure functions of known facts.
#pragma once
#include <infiniband/verbs.h>

#include <functional>
#include <optional>
#include <span>

#include "qpx/verbs.h"

namespace qpx::verbs {

/// @param ethernet link layer of the port. @param device for the error. @throws Error(Argument)
GidChoice choose_from(std::span<const GidChoice> table, bool ethernet, const GidQuery& query,
                      const std::string& device);

/// The GIDs of a table that the query allows, for the peer to choose from; the chosen one first.
/// @param prefix bits of the network of an address, 0: not known
/// @return at most 64, and `choices` in the same order
std::vector<GidCandidate> candidates_of(
    std::span<const GidChoice> table, bool ethernet, const GidQuery& query, const GidChoice& chosen,
    const std::function<std::uint8_t(const std::array<std::uint8_t, 16>&)>& prefix,
    std::vector<GidChoice>& choices);

/// Positions of the pair; both sides find the same one. Empty: no two have the same type and
/// family.
std::optional<std::pair<std::size_t, std::size_t>> choose_pair(
    std::span<const GidCandidate> mine, std::span<const GidCandidate> theirs);

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
