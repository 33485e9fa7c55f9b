// SPDX-License-Identifier: BSD-2-Clause
//
// A connection of one of our clients to the rdma_cm of another card, which the client has handed
// over. It carries commands to that card and events back. The client chooses the other end, so
// everything that is received is checked.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/foreign_fd.h"
#include "base/poller.h"
#include "base/unique_fd.h"
#include "host/rdma_cm/routes.h"
#include "host/uverbs/protocol.h"

namespace dingo::rdma_cm {

using Bytes = std::vector<std::byte>;

/// A command's structure as it is sent.
template <typename T>
Bytes bytes_of(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

/// The structure in `body`; missing bytes are 0.
template <typename T>
T request_of(std::span<const std::byte> body) {
    T value;
    std::memset(&value, 0, sizeof value);
    if (!body.empty())
        std::memcpy(&value, body.data(), std::min(body.size(), sizeof value));
    return value;
}

class Link final {
  public:
    class Owner {
      public:
        virtual ~Owner() = default;
        virtual void on_event(Link& link, const rdma_ucm_event_resp& event) = 0;
        /// Nothing comes any more; every command has been answered.
        virtual void on_lost(Link& link) = 0;
    };
    /// The command's result, 0 or -errno (-EIO: the link is lost), and what it has written.
    using Done = std::function<void(int result, std::span<const std::byte> response)>;

    struct Command {
        std::uint32_t number = 0;  ///< RDMA_USER_CM_CMD_*
        Bytes body{};
        std::optional<std::size_t> response_at{};  ///< where in `body` the address of the answer is
        std::size_t room = 0;                      ///< for the answer
        std::optional<std::size_t> data_at{};      ///< where the address of `data` is
        Bytes data{};
    };

    /// Throws ErrnoError: EINVAL `socket` is no such connection, or out of something.
    Link(Owner& owner, Poller& poller, ForeignSocket socket);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Sends HELLO and ROUTES. Call once, first.
    void start(std::function<void(int result)> done);
    /// Commands are executed and answered in the order of these calls. `done` is not called if the
    /// link is destroyed first.
    void send(Command command, Done done);
    /// Marks the link as lost.
    void give_up() { lose(); }
    /// Takes the answers that are here now.
    void take_answers();

    [[nodiscard]] bool lost() const { return lost_; }
    [[nodiscard]] std::uint64_t node_guid() const { return node_guid_; }
    [[nodiscard]] const Routes& routes() const { return routes_; }

    static constexpr std::size_t kMostData = 4096;

  private:
    struct Request {
        std::uint32_t type = 0;
        std::uint32_t flags = 0;
        Command command{};
        Done done{};
    };
    /// One of the link's two sockets.
    struct End final : Pollable {
        End(Link& of, void (Link::*what)()) : link(of), call(what) {}
        void ready(std::uint32_t /*events*/) override { (link.*call)(); }
        Link& link;
        void (Link::*call)();
        Poller::Id id = 0;
    };

    void enqueue(Request request);
    void pump();
    bool transmit(Request& request);
    /// False: nothing is there, or the link is lost.
    bool take_answer();
    void take_token();
    void ask_event();
    void learn_routes(std::span<const std::byte> bytes);
    void lose();

    Owner& owner_;
    Poller& poller_;
    ForeignSocket socket_;  ///< its client has it, too: nothing is read there
    UniqueFd answers_;
    UniqueFd answer_to_;  ///< the other end of answers_
    End socket_end_{*this, &Link::lose};
    End answers_end_{*this, &Link::take_answers};
    std::deque<Request> waiting_;
    std::deque<Request> sent_;
    bool asking_ = false;  ///< for an event
    bool ask_again_ = false;
    bool lost_ = false;
    std::uint64_t node_guid_ = 0;
    Routes routes_;
};

}  // namespace dingo::rdma_cm
