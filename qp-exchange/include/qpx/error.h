// SPDX-License-Identifier: BSD-2-Clause
// Errors of qpx: one exception with a code for programs and a text for people.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace qpx {

enum class ErrorCode {
    Argument,     ///< the caller's value cannot be used; nothing was sent
    Resolve,      ///< a host name, address or port has no meaning here
    Refused,      ///< closed port, or the other side refused and said why
    Timeout,      ///< the time given was not enough
    Protocol,     ///< the other side does not keep to the protocol
    Version,      ///< the other side speaks another major version
    Auth,         ///< TLS failed, or the other side has the wrong identity
    Limit,        ///< a stated limit would be, or was, exceeded
    PeerGone,     ///< the connection ended
    Device,       ///< a verbs call failed
    Unsupported,  ///< not in this build, not on this device, not with this QP type
    Cancelled,    ///< cancel() was called, or a signal came where that ends calls
};

/// Name of a code in lower case, e.g. "timeout"; never null.
const char* to_string(ErrorCode code) noexcept;

/// Thrown by everything in qpx. what() says what happened and what to do about it.
class Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}

    /// With the other side's reason (wire::Reason, docs/reference/qp-exchange-protocol.md) or errno
    /// of a device.
    Error(ErrorCode code, const std::string& text, int detail)
        : std::runtime_error(text), code_(code), detail_(detail) {}

    ErrorCode code() const noexcept { return code_; }

    /// Refused: the reason code that came over the wire, 0 for a closed port; Device: errno;
    /// Cancelled: EINTR when it was a signal; else 0.
    int detail() const noexcept { return detail_; }

  private:
    ErrorCode code_;
    int detail_ = 0;
};

}  // namespace qpx
#pragma GCC visibility pop
