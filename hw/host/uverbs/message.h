// SPDX-License-Identifier: BSD-2-Clause
//
// Messages of protocol.h as they come from a client's socket and go back to it. What comes is
// checked here as far as that is possible without knowing what it asks for.
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
    pid_t pid = 0;                               ///< of the sender, as our kernel sees it
    ForeignSocket reply;                         ///< a UNIX socket
    std::vector<ForeignFd> fds;                  ///< after the reply socket
    std::vector<dingo_uverbs_segment> segments;  ///< sorted by va, without overlap
    std::vector<std::byte> payload;
    std::shared_ptr<Arguments> arguments = std::make_shared<Arguments>();
    std::optional<dingo_uverbs_gpu> gpu;  ///< sizes are checked
    std::vector<std::uint64_t> pieces;    ///< of it: bytes of the allocation of each descriptor
    std::shared_ptr<GpuOpening> opened;   ///< what became of it, when it is served again
    /// QP whose last sends the request has waited for, or need not wait for.
    std::optional<std::uint32_t> ended_qpn;
    std::shared_ptr<DirectFence> fence;  ///< the fence that the request has waited for
    std::shared_ptr<EventPause> pause;   ///< events of the objects that it destroys
};

enum class Received {
    kNothing,    ///< no message waits
    kMessage,    ///< here it is
    kEnd,        ///< the client is gone
    kMalformed,  ///< not what protocol.h says: the client cannot be trusted any more
};

/// True: descriptors came that no answer asked for; the request is refused with EINVAL.
[[nodiscard]] bool brings_unasked_descriptors(const Message& message);

/// Hundreds of requests of a client may wait, each with all that it brought.
[[nodiscard]] bool is_small_enough_to_wait(const Message& message);

/// Takes the next message; never blocks. The socket has SO_PASSCRED.
Received receive_message(int socket, Message& message);

/// One message of a socket as it is.
struct RawMessage {
    ssize_t bytes = -1;  ///< in the buffer, or -1 with errno
    bool cut = false;    ///< there was more
    pid_t pid = 0;       ///< of the sender, where the socket has SO_PASSCRED
    std::vector<ForeignFd> fds;
};

/// Takes the next message into `buffer`; never blocks, not even for descriptors that come with it.
RawMessage receive_raw(int socket, std::span<std::byte> buffer);

/// A request of ours to another card; the answer comes to `fds[0]`. `rest`: what follows the
/// header. Never blocks. False: it cannot be delivered.
bool send_request(int socket, const dingo_uverbs_request& header, std::span<const std::byte> rest,
                  std::span<const int> fds);

struct Reply {
    dingo_uverbs_reply header{};
    std::vector<dingo_uverbs_fixup> fixups;
    std::vector<UniqueFd> fds;
    std::shared_ptr<const Arguments> arguments;  ///< whose results go with it
};

/// Never blocks. False: it cannot be delivered, or too many before it have not been read.
bool send_reply(int socket, const Reply& reply);

}  // namespace dingo::uverbs
