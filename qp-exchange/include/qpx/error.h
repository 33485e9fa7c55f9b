// SPDX-License-Identifier: BSD-2-Clause
// Errors of qpx: one exception type with an error code and a text for the user.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace qpx {

enum class ErrorCode {
    Argument,     ///< invalid argument; nothing was sent
    Resolve,      ///< a host name, address or port cannot be resolved
    Refused,      ///< closed port, or the other side refused and said why
    Timeout,      ///< the call timed out
    Protocol,     ///< the other side violated the protocol
    Version,      ///< the other side has another major version of the protocol
    Auth,         ///< TLS failed, or the other side has the wrong identity
    Limit,        ///< a documented limit was, or would be, exceeded
    PeerGone,     ///< the connection ended
    Device,       ///< a verbs call failed
    Unsupported,  ///< not supported by this build, this device or this QP type
    Cancelled,    ///< cancel() was called, or a signal arrived with stop_on_signal
};

/// Name of a code in lower case, e.g. "timeout"; never null.
const char* to_string(ErrorCode code) noexcept;

/// The exception that all functions of qpx throw. what() says what happened and how to fix it.
class Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}

    /// @param detail the other side's reason (wire::Reason, docs/reference/qp-exchange-protocol.md)
    /// or the errno of a verbs call
    Error(ErrorCode code, const std::string& text, int detail)
        : std::runtime_error(text), code_(code), detail_(detail) {}

    ErrorCode code() const noexcept { return code_; }

    /// Refused: the reason code received, 0 for a closed port; Device: errno; Cancelled: EINTR if
    /// by a signal; else 0.
    int detail() const noexcept { return detail_; }

  private:
    ErrorCode code_;
    int detail_ = 0;
};

}  // namespace qpx
#pragma GCC visibility pop
