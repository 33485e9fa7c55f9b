// SPDX-License-Identifier: BSD-2-Clause
#include "ucma/file.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "ucma/commands.h"
#include "ucma/id.h"
#include "ucma/place.h"
#include "ucma/service.h"
#include "uverbs/errno_error.h"

namespace dingo::card::ucma {
namespace {

using uverbs::ErrnoError;

constexpr unsigned kRequestBudget = 8;  // of one client in one round

}  // namespace

File::File(Service& service, ForeignSocket socket, pid_t pid)
    : service_(service), socket_(std::move(socket)), pid_(pid) {
    poll_id_ = service_.poller().add(socket_.get(), EPOLLIN, *this);
}

File::~File() {
    service_.poller().remove(poll_id_);
    events_.clear();
    while (!ids_.empty()) {
        Id& id = **ids_.begin();
        ids_.erase(ids_.begin());
        service_.remove_id(id);
    }
}

void File::fail() {
    closed_ = true;
    service_.poller().remove(poll_id_);
}

void File::ready(std::uint32_t /*events*/) {
    for (unsigned i = 0; i < kRequestBudget && !closed_; ++i) {
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
            message.pid = pid_;
        }
        serve(message);
    }
}

void File::serve(const uverbs::Message& message) {
    uverbs::Reply reply;
    reply.header.type = DINGO_UVERBS_DONE;
    if ((message.header.flags & DINGO_UVERBS_TOKEN) != 0) {
        token_out_ = false;
    }
    try {
        if (message.header.type == DINGO_UVERBS_HELLO) {
            hello(message, reply);
        } else if (message.header.type == DINGO_UVERBS_RDMA_CM) {
            reply.header.result = execute(message, reply);
        } else {
            service_.count_malformed();
            return fail();
        }
    } catch (const ErrnoError& error) {
        reply.header.result = -error.code();
    } catch (const std::bad_alloc&) {
        reply.header.result = -ENOMEM;
    }
    update_token();
    if (has_idle_token()) {
        reply.header.idle_token |= DINGO_UVERBS_IDLE_HERE;
    }
    uverbs::send_reply(message.reply.get(), reply);  // a client that does not wait gets none
}

int File::execute(const uverbs::Message& message, uverbs::Reply& reply) {
    if (message.payload.empty() && (message.header.flags & DINGO_UVERBS_TOKEN) != 0) {
        return 0;  // an idle token was taken out
    }
    if (uverbs::brings_unasked_descriptors(message)) {
        throw ErrnoError(EINVAL);
    }
    const auto memory = processes_.memory_of(message);
    Command command{service_,        *this, *memory, uverbs::ClientProcesses::key_of(message),
                    message.payload, 0};
    execute_command(command);
    if (command.left != nullptr && command.left != this && command.left->has_idle_token()) {
        reply.header.idle_token |= DINGO_UVERBS_IDLE_LEFT;
    }
    return static_cast<int>(message.payload.size());
}

void File::hello(const uverbs::Message& message, uverbs::Reply& reply) {
    if (!uverbs::ClientProcesses::is_hello(message)) {
        throw ErrnoError(EINVAL);
    }
    processes_.admit(message);
    reply.header.card_pid = static_cast<std::uint32_t>(::getpid());
    reply.header.rdev = kMiscMajor << 20 | kMiscMinor;
}

Id& File::id(std::uint32_t number) const {
    Id* const id = service_.find_id(number);
    if (id == nullptr || !ids_.contains(id)) {
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
            entry.request->move_to(*this);
            ids_.insert(entry.request);
        }
    }
    std::erase_if(from.events_, mine);
    from.ids_.erase(&id);
    id.move_to(*this);
    ids_.insert(&id);
}

void File::taken() {
    const Entry entry = events_.front();
    events_.pop_front();
    ++entry.about->events_reported;
    if (entry.request != nullptr) {
        entry.about->request_read();
    }
}

void File::push(const Entry& entry) {
    events_.push_back(entry);
    update_token();
}

void File::post(Id& about, rdma_ucm_event_resp event) {
    if (about.uid() == 0) {
        return;  // nobody could say whose it is: a request that was not accepted
    }
    event.uid = about.uid();
    event.id = about.number();
    push({&about, nullptr, event});
}

void File::post_request(Id& listener, Id& request, rdma_ucm_event_resp event) {
    event.uid = listener.uid();
    event.id = request.number();
    push({&listener, &request, event});
}

void File::update_token() {
    constexpr char kToken = 0;
    if (!events_.empty() && !token_out_ && !closed_) {
        token_out_ = ::send(socket_.get(), &kToken, sizeof kToken, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    }
}

}  // namespace dingo::card::ucma
