// SPDX-License-Identifier: BSD-2-Clause
#include "control.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/errno_error.h"
#include "base/hung_up.h"
#include "base/json_text.h"
#include "wire/wire_system_error.h"

namespace dingo {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxClients = 8;
constexpr std::size_t kMaxLine = 64 * 1024;

std::optional<json> request_of(const std::vector<std::string>& words) {
    if (words.size() == 1 && words[0] == "stats") {
        return json{{"cmd", "stats"}};
    }
    if ((words.size() == 1 || words.size() == 2) && words[0] == "faults") {
        return json{{"cmd", "faults"}, {"spec", words.size() == 2 ? words[1] : ""}};
    }
    if (words.size() == 2 && words[0] == "link" && (words[1] == "up" || words[1] == "down")) {
        return json{{"cmd", "link"}, {"up", words[1] == "up"}};
    }
    if ((words.size() == 1 || words.size() == 2) && words[0] == "admin") {
        return json{{"cmd", "admin"}, {"spec", words.size() == 2 ? words[1] : ""}};
    }
    if (words.size() == 3 && words[0] == "lose-interrupts") {
        const json vector = json_value(words[1]);
        const json count = json_value(words[2]);
        if (vector.is_number_unsigned() && count.is_number_unsigned()) {
            return json{{"cmd", "lose_interrupts"}, {"vector", vector}, {"count", count}};
        }
    }
    return std::nullopt;
}

}  // namespace

ControlServer::ControlServer(std::string path, Handler handler)
    : listener_(std::move(path)), handler_(std::move(handler)) {}

void ControlServer::watch(PollGroup& polls) {
    listener_id_ = polls.add(listener_.fd(), EPOLLIN, *this);
    polls_ = &polls;
}

void ControlServer::unwatch() {
    if (polls_ != nullptr) {
        for (const Client& client : clients_) {
            polls_->remove(client.id);
        }
        clients_.clear();
        polls_->remove(listener_id_);
        polls_ = nullptr;
    }
}

void ControlServer::ready(std::uint32_t /*events*/) {
    while (UniqueFd fd = listener_.accept()) {
        if (clients_.size() >= kMaxClients) {
            drop_done();
        }
        if (clients_.size() >= kMaxClients) {
            continue;
        }
        Client& client = clients_.emplace_back(*this, std::move(fd));
        try {
            client.id = polls_->add(client.fd.get(), EPOLLIN, client);
        } catch (const ErrnoError& error) {
            log_limit_.warn("control socket: a connection is closed: {}",
                            std::strerror(error.code()));
            clients_.pop_back();
        }
    }
}

/// Drops clients that have disconnected, before the poller reports them.
void ControlServer::drop_done() {
    for (auto client = clients_.begin(); client != clients_.end();) {
        const auto next = std::next(client);
        client->ready(0);
        client = next;
    }
}

void ControlServer::Client::ready(std::uint32_t /*events*/) {
    if (!server.serve(*this)) {
        server.polls_->remove(id);
        server.clients_.remove_if([this](const Client& c) { return &c == this; });
    }
}

// Returns false if the client is done or has violated the protocol.
bool ControlServer::serve(Client& client) {
    std::array<char, 4096> buffer;
    const ssize_t got = ::recv(client.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    client.input.append(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = client.input.find('\n')) != std::string::npos;) {
        json undo;
        const std::string reply = reply_to(client.input.substr(0, end), undo) + "\n";
        client.input.erase(0, end + 1);
        if (!undo.is_null() && has_hung_up(client.fd.get())) {
            json of_undo;
            static_cast<void>(reply_to(json_text(undo), of_undo));
            return false;
        }
        if (::send(client.fd.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
            static_cast<ssize_t>(reply.size())) {
            return false;  // the client does not read its replies
        }
    }
    return client.input.size() <= kMaxLine;
}

std::string ControlServer::reply_to(const std::string& line, json& undo) const {
    json reply;
    try {
        const json request = json_value(line);
        if (!request.is_object()) {
            throw std::invalid_argument(R"(a request is one JSON object, e.g. {"cmd":"stats"})");
        }
        reply = handler_(request);
        if (const auto back = reply.find(kUndo); back != reply.end()) {
            undo = *back;
            reply.erase(back);
        }
        reply["ok"] = true;
    } catch (const WireSystemError& e) {
        reply = {{"ok", false}, {"error", e.what()}};
    } catch (const std::invalid_argument& e) {
        reply = {{"ok", false}, {"error", e.what()}, {"usage", true}};
    } catch (const std::exception& e) {
        reply = {{"ok", false}, {"error", e.what()}};
    }
    // An error text may quote bytes of the request that are not UTF-8.
    return json_text(reply);
}

int run_control_client(const std::string& path, const std::vector<std::string>& words) {
    const auto request = request_of(words);
    if (!request) {
        fmt::print(stderr,
                   "dingo-card ctl: say one of: stats | faults [SPEC] | link up|down | "
                   "admin [SPEC] | lose-interrupts VECTOR COUNT\n");
        return 2;
    }
    const UniqueFd fd = connect_unix(path);
    if (!fd) {
        fmt::print(stderr,
                   "dingo-card ctl: cannot connect to '{}': {}\n"
                   "Is the card running, and was it started with --control {}?\n",
                   path, std::strerror(errno), path);
        return 2;
    }
    const std::string line = json_text(*request) + "\n";
    if (::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
        fmt::print(stderr, "dingo-card ctl: cannot send: {}\n", std::strerror(errno));
        return 2;
    }
    std::string text;
    std::array<char, 4096> buffer;
    while (text.find('\n') == std::string::npos) {
        const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
        if (got <= 0) {
            fmt::print(stderr, "dingo-card ctl: the card closed the connection\n");
            return 2;
        }
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    const json reply = json_value(text);
    if (!reply.is_object()) {
        fmt::print(stderr, "dingo-card ctl: '{}' is not the control socket of a card\n", path);
        return 2;
    }
    fmt::print("{}\n", json_text(reply, 2));
    return reply.value("ok", false) ? 0 : 1;
}

}  // namespace dingo
