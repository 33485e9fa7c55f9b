// SPDX-License-Identifier: BSD-2-Clause
// A group whose members meet in a Redis server.
#pragma once
#include <memory>

#include "qpx/group.h"
#include "qpx/url.h"

namespace qpx::backend {

/// redis://[user:password@]host:port/prefix. @throws Error as Group::join; Unsupported: not in this
/// build
std::unique_ptr<Group> join_redis(const Url& url, const GroupOptions& options);

}  // namespace qpx::backend
