// SPDX-License-Identifier: BSD-2-Clause
// What answers for group back ends that are not in this build.
#include "backend/pmix/pmix_group.h"
#include "backend/redis/redis_group.h"

namespace qpx::backend {

#ifndef QPX_HAVE_PMIX
std::unique_ptr<Group> join_pmix(const Url&, const GroupOptions&) {
    throw Error(ErrorCode::Unsupported,
                "pmix: is not in this build of qp-exchange: build it with PMIx (libpmix-dev), or "
                "use qpxd:// or tcp://");
}
#endif

#ifndef QPX_HAVE_REDIS
std::unique_ptr<Group> join_redis(const Url&, const GroupOptions&) {
    throw Error(ErrorCode::Unsupported,
                "redis:// is not in this build of qp-exchange: build it with hiredis "
                "(libhiredis-dev), or use qpxd:// or tcp://");
}
#endif

}  // namespace qpx::backend
