// SPDX-License-Identifier: BSD-2-Clause
// A connection to the rdma_cm of another card, handed over by one of our clients. It carries
// commands to that card and events back. The client chooses the other end, so everything received
// is validated.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
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

/// Returns a command's structure as bytes.
template <typename T>
Bytes bytes_of(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

/// Returns the structure in `body`; missing bytes are 0.
template <typename T>
T request_of(std::span<const std::byte> body) {
    T value;
    std::memset(&value, 0, sizeof value);
    if (!body.empty())
        std::memcpy(&value, body.data(), std::min(body.size(), sizeof value));
    return value;
}

class Link final : public std::enable_shared_from_this<Link> {
  public:
    class Owner {
      public:
        virtual ~Owner() = default;
        virtual void on_event(Link& link, const rdma_ucm_event_resp& event) = 0;
        /// Called when the link is lost; every command has been answered before.
        virtual void on_lost(Link& link) = 0;
    };
    /// Called with the command's result, 0 or -errno (-EIO: the link is lost), and the response.
    using Done = std::function<void(int result, std::span<const std::byte> response)>;

    struct Command {
        std::uint32_t number = 0;  ///< RDMA_USER_CM_CMD_*
        Bytes body{};
        std::optional<std::size_t> response_at{};  ///< offset in `body` of the answer's address
        std::size_t room = 0;                      ///< bytes of the answer
        std::optional<std::size_t> data_at{};      ///< offset in `body` of the address of `data`
        Bytes data{};
    };

    /// Throws ErrnoError: EINVAL if `socket` is not such a connection, or a lack of resources.
    Link(Owner& owner, Poller& poller, ForeignSocket socket);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Sends HELLO and ROUTES. Call it once, before send().
    void start(std::function<void(int result)> done);
    /// Commands are executed and answered in the order of the calls. `done` is not called if the
    /// link is destroyed first.
    void send(Command command, Done done);
    /// Marks the link as lost.
    void give_up() { lose(); }
    /// Called before the owner is destroyed: the link is lost, and the owner is not called again.
    /// Commands that are not answered are forgotten.
    void abandon();
    /// Processes the answers received so far.
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
    /// A poller entry for one of the link's two sockets.
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
    /// Returns false if there is none or the link is lost.
    bool take_answer();
    void take_token();
    void ask_event();
    void learn_routes(std::span<const std::byte> bytes);
    void lose();
    void close();

    Owner& owner_;
    Poller& poller_;
    ForeignSocket socket_;  ///< shared with the client, so never read
    UniqueFd answers_;
    UniqueFd answer_to_;  ///< the other end of answers_
    End socket_end_{*this, &Link::lose};
    End answers_end_{*this, &Link::take_answers};
    std::deque<Request> waiting_;
    std::deque<Request> sent_;
    bool asking_ = false;  ///< a request for an event is outstanding
    bool ask_again_ = false;
    bool lost_ = false;
    std::uint64_t node_guid_ = 0;
    Routes routes_;
};

}  // namespace dingo::rdma_cm
