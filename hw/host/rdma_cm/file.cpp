// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/file.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "base/errno_error.h"
#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/commands.h"
#include "host/rdma_cm/id.h"
#include "host/rdma_cm/place.h"

namespace dingo::rdma_cm {
namespace {

constexpr unsigned kRequestBudget = 8;  // requests of one client per round

}  // namespace

File::File(CmService& service, ClientSocket socket, Client client)
    : service_(service),
      client_(std::move(client)),
      socket_(std::move(socket)),
      relay_(service, *this) {
    poll_id_ = service_.poller().add(socket_.get(), EPOLLIN, *this);
}

File::~File() {
    const ClosesFor sender(client_.sender);
    service_.poller().remove(poll_id_);
    events_.clear();
    while (!ids_.empty()) {
        Id& id = **ids_.begin();
        ids_.erase(ids_.begin());
        service_.remove_id(id);
    }
    tokens_.reset();
    socket_.reset();
}

void File::fail() {
    closed_ = true;
    service_.poller().remove(poll_id_);
}

void File::ready(std::uint32_t /*events*/) {
    const ClosesFor sender(client_.sender);
    for (unsigned i = 0; i < kRequestBudget && !closed_; ++i) {
        if (has_too_many_closing(client_.sender)) {
            return fail();
        }
        uverbs::Message message;
        switch (uverbs::receive_message(socket_.get(), message)) {
            case uverbs::Received::kNothing:
                return;
            case uverbs::Received::kMalformed:
                service_.count_malformed();
                [[fallthrough]];
            case uverbs::Received::kEnd:
                return fail();
            case uverbs::Received::kMessage:
                break;
        }
        if (message.pid == 0) {
            message.pid = client_.pid;
        }
        serve(message);
    }
}

void File::serve(uverbs::Message& message) {
    uverbs::Reply reply;
    if ((message.header.flags & DINGO_UVERBS_TOKEN) != 0) {
        token_out_ = false;
    }
    try {
        if (takes_reserve(message)) {
            throw ErrnoError(EMFILE);
        }
        switch (message.header.type) {
            case DINGO_UVERBS_HELLO:
                hello(message, reply);
                break;
            case DINGO_UVERBS_RDMA_CM:
                if (!execute(message, reply)) {
                    return;
                }
                break;
            case DINGO_UVERBS_RDMA_CM_JOIN:
                return join(message);
            case DINGO_UVERBS_RDMA_CM_ROUTES:
                tell_routes(message);
                reply.arguments = message.arguments;
                send_reply(tokens_.get(), reply);
                return;
            default:
                service_.count_malformed();
                return fail();
        }
    } catch (const ErrnoError& error) {
        reply.header.result = -error.code();
    } catch (const std::bad_alloc&) {
        reply.header.result = -ENOMEM;
    }
    send_reply(message.reply.get(), reply);
}

bool File::takes_reserve(const uverbs::Message& message) const {
    const bool later = message.header.type == DINGO_UVERBS_RDMA_CM_JOIN ||
                       message.header.type == DINGO_UVERBS_RDMA_CM_ROUTES || relay_.links() != 0;
    return (later && in_reserve(message.reply.get())) ||
           std::ranges::any_of(message.fds, [](const auto& fd) { return in_reserve(fd.get()); });
}

void File::send_reply(int socket, uverbs::Reply& reply) {
    reply.header.type = DINGO_UVERBS_DONE;
    update_token();
    if (has_idle_token()) {
        reply.header.idle_token |= DINGO_UVERBS_IDLE_HERE;
    }
    uverbs::send_reply(socket, reply);  // a client that has stopped waiting gets no reply
}

void File::answer(Later& later, int error) {
    uverbs::Reply reply;
    reply.header.result = error != 0 ? error : later.result;
    reply.header.idle_token = later.left;
    if (error == 0) {
        reply.arguments = later.arguments;
    }
    send_reply(later.reply.get(), reply);
}

bool File::execute(uverbs::Message& message, uverbs::Reply& reply) {
    if (message.payload.empty() && (message.header.flags & DINGO_UVERBS_TOKEN) != 0) {
        return true;  // the client has removed an idle token
    }
    if (uverbs::brings_unasked_descriptors(message)) {
        throw ErrnoError(EINVAL);
    }
    const std::int64_t process = uverbs::ClientProcesses::key_of(message);
    if (!processes_.contains(process)) {
        throw ErrnoError(EACCES);
    }
    message.arguments->forget_results();
    Command command{service_, *this, *message.arguments, process, message.payload, 0};
    const auto written = static_cast<int>(message.payload.size());
    switch (relay_.execute(command, message)) {
        case Relay::Did::kLater:
            return false;
        case Relay::Did::kAll:
            break;
        case Relay::Did::kNothing:
            execute_command(command);
            break;
    }
    if (command.left != nullptr && command.left != this && command.left->has_idle_token()) {
        reply.header.idle_token |= DINGO_UVERBS_IDLE_LEFT;
    }
    reply.header.result = written;
    reply.arguments = message.arguments;
    return true;
}

void File::hello(const uverbs::Message& message, uverbs::Reply& reply) {
    if (!uverbs::ClientProcesses::is_hello(message)) {
        throw ErrnoError(EINVAL);
    }
    processes_.admit(message, client_.account);
    reply.header.card_pid = static_cast<std::uint32_t>(::getpid());
    reply.header.rdev = kMiscMajor << 20 | kMiscMinor;
}

void File::join(uverbs::Message& message) {
    Later later{std::move(message.reply), nullptr};
    try {
        if (relayed_ || message.fds.size() != 1) {  // two cards that ask each other would loop
            throw ErrnoError(EINVAL);
        }
        ForeignSocket socket(message.fds[0].release());
        relay_.join(std::move(socket), later);
    } catch (const ErrnoError& error) {
        answer(later, -error.code());
    } catch (const std::bad_alloc&) {
        answer(later, -ENOMEM);
    }
}

void File::tell_routes(uverbs::Message& message) {
    if (relay_.links() != 0 || relayed_ || uverbs::brings_unasked_descriptors(message)) {
        throw ErrnoError(EINVAL);
    }
    Charge charge(client_.account, process_quotas().descriptors);
    const auto& prefixes = service_.routes().prefixes();
    dingo_uverbs_cm_routes head{};
    head.node_guid = service_.node_guid();
    head.num_prefixes = static_cast<std::uint32_t>(prefixes.size());
    std::vector<std::byte> bytes(sizeof head + prefixes.size() * sizeof(dingo_uverbs_cm_prefix));
    std::memcpy(bytes.data(), &head, sizeof head);
    std::size_t at = sizeof head;
    for (const uverbs::Prefix& prefix : prefixes) {
        dingo_uverbs_cm_prefix one{};
        std::copy(prefix.address.bytes.begin(), prefix.address.bytes.end(), one.address);
        one.length = prefix.length;
        std::memcpy(bytes.data() + at, &one, sizeof one);
        at += sizeof one;
    }
    if (bytes.size() > message.header.arg2) {
        throw ErrnoError(ENOSPC);
    }
    if (!processes_.contains(uverbs::ClientProcesses::key_of(message))) {
        throw ErrnoError(EACCES);
    }
    if (!message.arguments->write(message.header.arg, bytes)) {
        throw ErrnoError(EFAULT);
    }
    relayed_ = true;
    tokens_ = std::move(message.reply);
    tokens_charge_ = std::move(charge);
    token_out_ = false;
}

void File::made(const Id& id) {
    last_made_ = id.number();
}

bool File::may_take(const Id& id, std::int64_t process) const {
    const File& from = id.file();
    // A process of another PID namespace claims a PID, and may claim that of another user's.
    const bool known = process > 0 || client_.sender.user == from.client_.sender.user;
    // A relayed connection is used by one card for many clients, so the identifier must belong to
    // the client that has connected.
    return !id.unread_request && known && from.processes_.contains(process) &&
           relayed_ == from.relayed_ && (!relayed_ || (pid() == from.pid() && pid() != 0));
}

std::vector<std::uint32_t> File::with_unread_requests(const Id& id) const {
    std::vector<std::uint32_t> numbers{id.number()};
    for (const Entry& entry : events_) {
        if (entry.about == &id && entry.request != nullptr) {
            numbers.push_back(entry.request->number());
        }
    }
    return numbers;
}

Id& File::id(std::uint32_t number) const {
    if (relayed_ && number == DINGO_UVERBS_CM_LAST) {
        number = last_made_;
    }
    Id* const id = service_.find_id(number);
    if (id == nullptr || !ids_.contains(id) || id->unread_request) {
        throw ErrnoError(EINVAL);
    }
    return *id;
}

void File::add(Id& id) {
    ids_.insert(&id);
}

void File::destroy(Id& id) {
    std::vector<Id*> requests;
    std::erase_if(events_, [&](const Entry& entry) {
        if (entry.about == &id && entry.request != nullptr) {
            requests.push_back(entry.request);
        }
        return entry.about == &id;
    });
    for (Id* const request : requests) {
        destroy(*request);
    }
    relay_.forget(id);
    ids_.erase(&id);
    service_.remove_id(id);
}

void File::adopt(Id& id) {
    File& from = id.file();
    if (&from == this) {
        return;
    }
    const auto mine = [&id](const Entry& entry) { return entry.about == &id; };
    std::copy_if(from.events_.begin(), from.events_.end(), std::back_inserter(events_), mine);
    for (const Entry& entry : events_) {
        if (mine(entry) && entry.request != nullptr) {
            from.ids_.erase(entry.request);
            relay_.adopt(from.relay_, *entry.request);
            entry.request->move_to(*this);
            ids_.insert(entry.request);
        }
    }
    std::erase_if(from.events_, mine);
    relay_.adopt(from.relay_, id);
    from.ids_.erase(&id);
    from.joins_ -= id.joins();
    id.move_to(*this);
    ids_.insert(&id);
    joins_ += id.joins();
}

void File::taken() {
    const Entry entry = events_.front();
    events_.pop_front();
    ++entry.about->events_reported;
    if (entry.join != nullptr) {
        ++entry.join->events_reported;
    }
    if (entry.request != nullptr) {
        entry.request->unread_request = false;
        entry.about->request_read();
    }
}

void File::push(const Entry& entry) {
    events_.push_back(entry);
    update_token();
}

void File::post(Id& about, rdma_ucm_event_resp event) {
    if (about.uid() == 0) {
        return;  // a request that was not accepted has no uid, so the event would be of no use
    }
    event.uid = about.uid();
    event.id = about.number();
    push({&about, nullptr, event, nullptr});
}

void File::post_request(Id& listener, Id& request, rdma_ucm_event_resp event) {
    event.uid = listener.uid();
    event.id = request.number();
    request.unread_request = true;
    push({&listener, &request, event, nullptr});
}

void File::post_join(GroupJoin& join, rdma_ucm_event_resp event) {
    event.uid = join.uid;
    event.id = join.number;
    push({join.id, nullptr, event, &join});
}

void File::take_back(const GroupJoin& join) {
    std::erase_if(events_, [&join](const Entry& entry) { return entry.join == &join; });
}

void File::update_token() {
    constexpr char kToken = 0;
    if (!events_.empty() && !token_out_ && !closed_) {
        const int to = tokens_ ? tokens_.get() : socket_.get();
        token_out_ = ::send(to, &kToken, sizeof kToken, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    }
}

}  // namespace dingo::rdma_cm
