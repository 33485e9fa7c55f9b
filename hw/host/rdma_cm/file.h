// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_user_cm.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/foreign_fd.h"
#include "base/poller.h"
#include "base/quota.h"
#include "host/rdma_cm/relay.h"
#include "host/uverbs/accounts.h"
#include "host/uverbs/client_processes.h"
#include "host/uverbs/message.h"

namespace dingo::rdma_cm {

class Id;
class CmService;
struct GroupJoin;

/// One open rdma_cm descriptor: its identifiers and unread events. They are destroyed when the last
/// copy of the descriptor is closed.
class File final : public Pollable {
  public:
    /// The client that connected.
    struct Client {
        pid_t pid = 0;
        std::shared_ptr<Account> account;
        Sender sender;
        uverbs::ConnectionCharge connection;
    };
    File(CmService& service, ClientSocket socket, Client client);
    ~File() override;
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    void ready(std::uint32_t events) override;
    [[nodiscard]] bool closed() const { return closed_; }
    [[nodiscard]] pid_t pid() const { return client_.pid; }
    [[nodiscard]] const std::shared_ptr<Account>& account() const { return client_.account; }
    [[nodiscard]] std::size_t ids() const { return ids_.size(); }
    /// Number of groups that its identifiers have joined.
    [[nodiscard]] std::size_t joins() const { return joins_; }
    void joined() { ++joins_; }
    void left() { --joins_; }
    /// Returns false if the client leaves too many events unread.
    [[nodiscard]] bool has_room_for_events() const { return events_.size() < kMostEvents; }
    static constexpr std::size_t kMostEvents = 16384;

    // Called by commands:
    /// Throws ErrnoError(EINVAL) if this descriptor has no such identifier, or it is a request
    /// whose event is unread.
    [[nodiscard]] Id& id(std::uint32_t number) const;
    void add(Id& id);
    /// Destroys the identifier, and those of its connection requests whose events are unread.
    void destroy(Id& id);
    /// Moves the identifier here from another descriptor of the same process, with its unread
    /// events.
    void adopt(Id& id);
    /// Records that CREATE_ID has created the identifier.
    void made(const Id& id);
    /// Returns true if a process that uses this descriptor may move the identifier here.
    [[nodiscard]] bool may_take(const Id& id, std::int64_t process) const;
    [[nodiscard]] Relay& relay() { return relay_; }
    [[nodiscard]] const Relay& relay() const { return relay_; }
    /// Returns the identifier's number and those of its unread requests.
    [[nodiscard]] std::vector<std::uint32_t> with_unread_requests(const Id& id) const;
    void serve(uverbs::Message& message);
    /// Sends a delayed answer. `error` is 0 or -errno.
    void answer(Later& later, int error);
    /// Returns true if no event is left, so that the client must remove the token that it holds.
    [[nodiscard]] bool has_idle_token() const { return token_out_ && events_.empty(); }

    struct Entry {
        Id* about;    ///< the identifier that the client's event names
        Id* request;  ///< the new identifier of a CONNECT_REQUEST
        rdma_ucm_event_resp event;
        GroupJoin* join = nullptr;  ///< the join of `about` that the event reports
    };
    /// Returns the oldest unread event, or nullptr. Call taken() when the client has received it.
    [[nodiscard]] const Entry* front() const {
        return events_.empty() ? nullptr : &events_.front();
    }
    void taken();

    // Called by identifiers:
    void post(Id& about, rdma_ucm_event_resp event);
    void post_request(Id& listener, Id& request, rdma_ucm_event_resp event);
    void post_join(GroupJoin& join, rdma_ucm_event_resp event);
    /// Removes the join's unread events.
    void take_back(const GroupJoin& join);

  private:
    void fail();
    /// Returns true if descriptors of the message that might have to be kept come from the reserve.
    /// Such a request must be answered at once.
    [[nodiscard]] bool takes_reserve(const uverbs::Message& message) const;
    /// Returns false if the answer is sent later.
    bool execute(uverbs::Message& message, uverbs::Reply& reply);
    void hello(const uverbs::Message& message, uverbs::Reply& reply);
    void join(uverbs::Message& message);
    void tell_routes(uverbs::Message& message);
    void send_reply(int socket, uverbs::Reply& reply);
    void push(const Entry& entry);
    /// Sends the token if the client needs one.
    void update_token();

    CmService& service_;
    Client client_;
    ClientSocket socket_;
    ForeignSocket tokens_;  ///< socket for the token, if not the client's connection
    Charge tokens_charge_;
    Poller::Id poll_id_ = 0;
    bool closed_ = false;
    bool token_out_ = false;
    uverbs::ClientProcesses processes_;
    std::set<Id*> ids_;
    std::size_t joins_ = 0;
    std::deque<Entry> events_;
    bool relayed_ = false;  ///< another card sends requests for the client that has connected
    std::uint32_t last_made_ = DINGO_UVERBS_CM_LAST;
    Relay relay_;
};

}  // namespace dingo::rdma_cm
