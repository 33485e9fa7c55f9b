// SPDX-License-Identifier: BSD-2-Clause
//
// The permitted MODIFY_QP transitions: the table of ib_modify_qp_is_ok() of the kernel's ib_core,
// without alternate paths and path migration, which the contract does not have.
#pragma once

#include <cstdint>
#include <optional>

#include "queue_pair.h"

namespace dingo::model {

/// Attributes of one transition, as masks of enum qpm (without STATE).
struct QpTransition {
    std::uint32_t required = 0;
    std::uint32_t optional = 0;
};

/// Returns the transition of a QP of type `type`, or nullopt if it is not permitted.
std::optional<QpTransition> qp_transition(QpType type, QpState from, QpState to);

}  // namespace dingo::model
