// SPDX-License-Identifier: BSD-2-Clause
// Messages of protocol.h, received from and sent to a client's socket. Received messages are
// validated here as far as possible without interpreting the request.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/foreign_fd.h"
#include "base/unique_fd.h"
#include "host/uverbs/arguments.h"
#include "host/uverbs/protocol.h"

namespace dingo::uverbs {

class DirectFence;
class EventPause;
class GpuOpening;

struct Message {
    dingo_uverbs_request header{};
    pid_t pid = 0;                               ///< the sender's PID in our PID namespace
    ForeignSocket reply;                         ///< a UNIX socket
    std::vector<ForeignFd> fds;                  ///< after the reply socket
    std::vector<dingo_uverbs_segment> segments;  ///< sorted by va, without overlap
    std::vector<std::byte> payload;
    std::shared_ptr<Arguments> arguments = std::make_shared<Arguments>();
    std::optional<dingo_uverbs_gpu> gpu;  ///< sizes are checked
    std::vector<std::uint64_t> pieces;    ///< bytes of the allocation of each descriptor of `gpu`
    std::shared_ptr<GpuOpening> opened;   ///< result of opening `gpu`, when the request is executed
                                          ///< again
    /// QP whose last sends have completed or need not be waited for.
    std::optional<std::uint32_t> ended_qpn;
    std::shared_ptr<DirectFence> fence;  ///< the fence that the request has waited for
    std::shared_ptr<EventPause> pause;   ///< paused events of the objects that the request destroys
};

enum class Received {
    kNothing,    ///< no message is queued
    kMessage,    ///< a message was received
    kEnd,        ///< the client has disconnected
    kMalformed,  ///< the message violates protocol.h: the client is no longer trusted
};

/// Returns true if the message has descriptors that no answer requested. The request is then
/// refused with EINVAL.
[[nodiscard]] bool brings_unasked_descriptors(const Message& message);

/// Returns true if the message may be kept while its request waits; hundreds of requests of one
/// client may wait.
[[nodiscard]] bool is_small_enough_to_wait(const Message& message);

/// Receives the next message; never blocks. The socket must have SO_PASSCRED.
Received receive_message(int socket, Message& message);

/// A message as received from a socket.
struct RawMessage {
    ssize_t bytes = -1;  ///< received into the buffer; -1: failed with errno
    bool cut = false;    ///< the message was longer than the buffer
    pid_t pid = 0;       ///< the sender's PID, if the socket has SO_PASSCRED
    std::vector<ForeignFd> fds;
};

/// Receives the next message into `buffer`. Never blocks, not even on descriptors that come with
/// it.
RawMessage receive_raw(int socket, std::span<std::byte> buffer);

/// Sends a request to another card; the answer goes to `fds[0]`. `rest` follows the header. Never
/// blocks. Returns false if the request cannot be delivered.
bool send_request(int socket, const dingo_uverbs_request& header, std::span<const std::byte> rest,
                  std::span<const int> fds);

struct Reply {
    dingo_uverbs_reply header{};
    std::vector<dingo_uverbs_fixup> fixups;
    std::vector<UniqueFd> fds;
    std::shared_ptr<const Arguments> arguments;  ///< with the results to send
};

/// Sends a reply; never blocks. Returns false if it cannot be delivered, or if too many earlier
/// replies are unread.
bool send_reply(int socket, const Reply& reply);

}  // namespace dingo::uverbs
