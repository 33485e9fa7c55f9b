// SPDX-License-Identifier: BSD-2-Clause
// Stubs for back ends that are not in this build.
#include "backend/cm/cm.h"
#include "qpx/error.h"

#ifndef QPX_HAVE_CM
namespace qpx::backend::cm {

namespace {
[[noreturn]] void absent() {
    throw Error(
        ErrorCode::Unsupported,
        "cm:// is not in this build of qp-exchange: build it with librdmacm (librdmacm-dev)");
}
}  // namespace

std::unique_ptr<net::Stream> connect(const std::string&, std::uint16_t, int, net::Deadline) {
    absent();
}
std::unique_ptr<net::Acceptor> listen(const std::string&, std::uint16_t, int) {
    absent();
}

}  // namespace qpx::backend::cm
#endif
