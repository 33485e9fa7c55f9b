// SPDX-License-Identifier: BSD-2-Clause
// Stubs for group back ends that are not in this build.
#include "backend/pmix/pmix_group.h"

namespace qpx::backend {

#ifndef QPX_HAVE_PMIX
std::unique_ptr<Group> join_pmix(const Url&, const GroupOptions&) {
    throw Error(ErrorCode::Unsupported,
                "pmix: is not in this build of qp-exchange: build it with PMIx (libpmix-dev), or "
                "use qpxd:// or tcp://");
}
#endif

}  // namespace qpx::backend
