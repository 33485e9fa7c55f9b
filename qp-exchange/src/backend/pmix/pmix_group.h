// SPDX-License-Identifier: BSD-2-Clause
// Groups under mpirun or srun, through the launcher's PMIx server.
#pragma once
#include <memory>

#include "qpx/group.h"
#include "qpx/url.h"

namespace qpx::backend {

/// Joins pmix:, with rank and size of the launcher. All groups of a process share one PMIx_Init().
/// @throws Error Refused: not started by a launcher with PMIx; Unsupported: not in this build
std::unique_ptr<Group> join_pmix(const Url& url, const GroupOptions& options);

}  // namespace qpx::backend
