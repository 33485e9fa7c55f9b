// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/link.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/errno_error.h"
#include "host/uverbs/message.h"

namespace dingo::rdma_cm {
namespace {

constexpr std::size_t kMostSent = 8;
constexpr std::size_t kAnswerBytes = 4096;
/// Placeholder addresses of a command's arguments.
constexpr std::uint64_t kResponseAt = 1 << 20;
constexpr std::uint64_t kDataAt = 2 << 20;
constexpr unsigned kAnswerBudget = 32;
/// A card with this many unanswered commands is considered dead.
constexpr std::size_t kMostWaiting = 4096;

bool is_connection(int fd) {
    int domain = 0;
    int type = 0;
    socklen_t length = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX &&
           ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

void put_address(Bytes& body, std::size_t at, std::uint64_t address) {
    if (at + sizeof address <= body.size()) {
        std::memcpy(body.data() + at, &address, sizeof address);
    }
}

}  // namespace

Link::Link(Owner& owner, Poller& poller, ForeignSocket socket)
    : owner_(owner), poller_(poller), socket_(std::move(socket)) {
    if (!is_connection(socket_.get())) {
        throw ErrnoError(EINVAL);
    }
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
        throw ErrnoError(errno);
    }
    answers_.reset(pair[0]);
    answer_to_.reset(pair[1]);
    socket_end_.id = poller_.add(socket_.get(), 0, socket_end_);
    try {
        answers_end_.id = poller_.add(answers_.get(), EPOLLIN, answers_end_);
    } catch (const ErrnoError&) {
        poller_.remove(socket_end_.id);
        throw;
    }
}

Link::~Link() {
    abandon();
}

void Link::start(std::function<void(int result)> done) {
    enqueue({.type = DINGO_UVERBS_HELLO, .done = [](int, std::span<const std::byte>) {}});
    Request routes{.type = DINGO_UVERBS_RDMA_CM_ROUTES};
    routes.command.room = kAnswerBytes;
    routes.done = [this, done = std::move(done)](int result, std::span<const std::byte> response) {
        if (result >= 0) {
            learn_routes(response);
        }
        done(result);
    };
    enqueue(std::move(routes));
}

void Link::send(Command command, Done done) {
    enqueue({.type = DINGO_UVERBS_RDMA_CM, .command = std::move(command), .done = std::move(done)});
}

void Link::enqueue(Request request) {
    if (lost_) {
        request.done(-EIO, {});
        return;
    }
    waiting_.push_back(std::move(request));
    pump();
    if (waiting_.size() > kMostWaiting) {
        lose();
    }
}

void Link::pump() {
    while (!lost_ && !waiting_.empty() && sent_.size() < kMostSent) {
        sent_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
        if (!transmit(sent_.back())) {
            return lose();
        }
    }
}

bool Link::transmit(Request& request) {
    dingo_uverbs_request header{};
    header.version = DINGO_UVERBS_VERSION;
    header.type = request.type;
    header.pid = static_cast<std::uint32_t>(::getpid());
    header.flags = request.flags;
    Bytes payload;
    std::vector<dingo_uverbs_argument> arguments;
    Command& c = request.command;
    c.room = std::min(c.room, kAnswerBytes);
    if (request.type == DINGO_UVERBS_RDMA_CM_ROUTES) {
        header.arg = kResponseAt;
        header.arg2 = c.room;
    } else if (request.type == DINGO_UVERBS_RDMA_CM) {
        if (c.response_at) {
            put_address(c.body, *c.response_at, kResponseAt);
        }
        if (c.data_at) {
            put_address(c.body, *c.data_at, kDataAt);
        }
        const rdma_ucm_cmd_hdr head{c.number, static_cast<std::uint16_t>(c.body.size()),
                                    static_cast<std::uint16_t>(c.room)};
        payload = bytes_of(head);
        payload.insert(payload.end(), c.body.begin(), c.body.end());
    }
    if (c.room != 0) {
        arguments.push_back({kResponseAt, static_cast<std::uint32_t>(c.room), DINGO_UVERBS_ROOM});
    }
    if (!c.data.empty()) {
        arguments.push_back({kDataAt, static_cast<std::uint32_t>(c.data.size()), 0});
    }
    header.num_arguments = static_cast<std::uint32_t>(arguments.size());
    header.payload_len = static_cast<std::uint32_t>(payload.size());
    const auto table = std::as_bytes(std::span(arguments));
    Bytes rest(table.begin(), table.end());
    rest.insert(rest.end(), payload.begin(), payload.end());
    rest.insert(rest.end(), c.data.begin(), c.data.end());
    const int reply = answer_to_.get();
    return uverbs::send_request(socket_.get(), header, rest, std::span(&reply, 1));
}

void Link::take_answers() {
    for (unsigned n = 0; n < kAnswerBudget && !lost_ && take_answer(); ++n) {
    }
}

bool Link::take_answer() {
    struct {
        dingo_uverbs_reply reply;
        dingo_uverbs_result result;
        std::array<std::byte, kAnswerBytes> response;
    } answer{};
    const uverbs::RawMessage got =
        uverbs::receive_raw(answers_.get(), std::as_writable_bytes(std::span(&answer, 1)));
    if (got.bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (got.bytes == 1 && !got.cut) {
        take_token();
        return true;
    }
    const dingo_uverbs_reply& reply = answer.reply;
    const std::size_t length = reply.num_results == 0 ? 0 : answer.result.length;
    const std::size_t bytes =
        sizeof reply + (reply.num_results == 0 ? 0 : sizeof answer.result + length);
    if (got.bytes != static_cast<ssize_t>(bytes) || got.cut ||
        reply.version != DINGO_UVERBS_VERSION || reply.type != DINGO_UVERBS_DONE ||
        reply.num_fixups != 0 || reply.num_results > 1 || sent_.empty() ||
        (reply.num_results == 1 &&
         (answer.result.argument != 1 || answer.result.offset != 0 || reply.result < 0))) {
        lose();
        return false;
    }
    Request request = std::move(sent_.front());
    sent_.pop_front();
    const std::size_t room = reply.result < 0 ? 0 : request.command.room;
    if ((request.type == DINGO_UVERBS_HELLO && reply.result < 0) || length > kAnswerBytes ||
        length > request.command.room) {
        lose();
        return false;
    }
    request.done(reply.result < 0 ? reply.result : 0, std::span(answer.response).first(room));
    pump();
    return true;
}

void Link::take_token() {
    if (ask_again_) {  // at most one token is outstanding, and one more after a new request for an
                       // event
        lose();
    } else if (asking_) {
        ask_again_ = true;
    } else {
        ask_event();
    }
}

void Link::ask_event() {
    asking_ = true;
    rdma_ucm_get_event body{};
    Request request{.type = DINGO_UVERBS_RDMA_CM, .flags = DINGO_UVERBS_TOKEN};
    request.command.number = RDMA_USER_CM_CMD_GET_EVENT;
    request.command.body.resize(sizeof body);
    request.command.response_at = offsetof(rdma_ucm_get_event, response);
    request.command.room = sizeof(rdma_ucm_event_resp);
    request.done = [this](int result, std::span<const std::byte> response) {
        asking_ = false;
        rdma_ucm_event_resp event{};
        if (result >= 0) {
            std::memcpy(&event, response.data(), sizeof event);
            owner_.on_event(*this, event);
        }
        if (!lost_ && std::exchange(ask_again_, false)) {
            ask_event();
        }
    };
    enqueue(std::move(request));
}

void Link::learn_routes(std::span<const std::byte> bytes) {
    dingo_uverbs_cm_routes head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes = bytes.subspan(sizeof head);
    node_guid_ = head.node_guid;
    std::vector<uverbs::Prefix> prefixes;
    dingo_uverbs_cm_prefix prefix{};
    for (std::uint32_t n = 0; n < head.num_prefixes && bytes.size() >= sizeof prefix; ++n) {
        std::memcpy(&prefix, bytes.data(), sizeof prefix);
        bytes = bytes.subspan(sizeof prefix);
        uverbs::Prefix known;
        std::memcpy(known.address.bytes.data(), prefix.address, sizeof prefix.address);
        known.length = std::min(prefix.length, 128U);
        prefixes.push_back(known);
    }
    routes_ = Routes(std::move(prefixes));
}

void Link::close() {
    lost_ = true;
    poller_.remove(socket_end_.id);
    poller_.remove(answers_end_.id);
    socket_.reset();
    answers_.reset();
    answer_to_.reset();
}

void Link::abandon() {
    if (!lost_) {
        close();
        sent_.clear();
        waiting_.clear();
    }
}

void Link::lose() {
    if (lost_) {
        return;
    }
    close();
    std::deque<Request> left = std::move(sent_);
    std::move(waiting_.begin(), waiting_.end(), std::back_inserter(left));
    waiting_.clear();
    for (Request& request : left) {
        request.done(-EIO, {});
    }
    owner_.on_lost(*this);
}

}  // namespace dingo::rdma_cm
