// SPDX-License-Identifier: BSD-2-Clause
// A group under mpirun or srun, by the PMIx server of the launcher.
#pragma once
#include <memory>

#include "qpx/group.h"
#include "qpx/url.h"

namespace qpx::backend {

/// pmix: rank and size are the launcher's. One PMIx_Init for the process, however many groups.
/// @throws Error Refused: not started by a launcher that has PMIx; Unsupported: not in this build
std::unique_ptr<Group> join_pmix(const Url& url, const GroupOptions& options);

}  // namespace qpx::backend
