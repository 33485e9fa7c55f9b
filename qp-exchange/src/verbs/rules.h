// SPDX-License-Identifier: BSD-2-Clause
// Choice of GIDs and QP attributes: pure functions without access to a device.
#pragma once
#include <infiniband/verbs.h>

#include <functional>
#include <optional>
#include <span>

#include "qpx/verbs.h"

namespace qpx::verbs {

/// Chooses a GID. @param ethernet link layer of the port. @param device name for the error text
/// @throws Error(Argument)
GidChoice choose_from(std::span<const GidChoice> table, bool ethernet, const GidQuery& query,
                      const std::string& device);

/// Returns the GIDs of a table that the query allows, the chosen one first, for the peer to choose
/// from. @param prefix returns the prefix length of an address's network, 0: unknown
/// @return at most 64; `choices` are in the same order
std::vector<GidCandidate> candidates_of(
    std::span<const GidChoice> table, bool ethernet, const GidQuery& query, const GidChoice& chosen,
    const std::function<std::uint8_t(const std::array<std::uint8_t, 16>&)>& prefix,
    std::vector<GidChoice>& choices);

/// Returns the positions of the pair to use; both sides find the same one. nullopt if no two have
/// the same type and family.
std::optional<std::pair<std::size_t, std::size_t>> choose_pair(
    std::span<const GidCandidate> mine, std::span<const GidCandidate> theirs);

struct Attributes {
    ibv_qp_attr attr{};
    int mask = 0;
};
/// @param atomics whether the device supports them
Attributes init_attributes(const Endpoint& local, const PathOptions& path, bool atomics);
Attributes rtr_attributes(const Local& local, const Endpoint& remote, const PathOptions& path);
Attributes rts_attributes(const Endpoint& local, const Endpoint& remote, const PathOptions& path);
ibv_ah_attr address_of(const Local& local, const Endpoint& remote, const PathOptions& path);

/// Advice on an errno of ibv_modify_qp() to that state.
std::string hint(int error, ibv_qp_state state, const Endpoint* remote);

}  // namespace qpx::verbs
