// SPDX-License-Identifier: BSD-2-Clause
#include "qpx/error.h"

namespace qpx {

const char* to_string(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::Argument:
            return "argument";
        case ErrorCode::Resolve:
            return "resolve";
        case ErrorCode::Refused:
            return "refused";
        case ErrorCode::Timeout:
            return "timeout";
        case ErrorCode::Protocol:
            return "protocol";
        case ErrorCode::Version:
            return "version";
        case ErrorCode::Auth:
            return "auth";
        case ErrorCode::Limit:
            return "limit";
        case ErrorCode::PeerGone:
            return "peer gone";
        case ErrorCode::Device:
            return "device";
        case ErrorCode::Unsupported:
            return "unsupported";
        case ErrorCode::Cancelled:
            return "cancelled";
    }
    return "unknown";
}

}  // namespace qpx
