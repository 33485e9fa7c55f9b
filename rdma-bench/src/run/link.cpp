// SPDX-License-Identifier: BSD-2-Clause
#include "run/link.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>

#include "exit.h"

namespace rdma_bench {
namespace {

std::atomic<int> signals{0};
int signal_fd = -1;

void on_signal(int /*number*/) {
    signals.fetch_add(1);
    [[maybe_unused]] const int result = eventfd_write(signal_fd, 1);
    if (signals.load() > 2) {
        _exit(static_cast<int>(Exit::kInterrupted));
    }
}

void check_interrupt() {
    if (Interrupt::instance().seen()) {
        throw RunError(Exit::kInterrupted, "interrupted");
    }
}

/// Waits until `fd` is readable, Ctrl-C, or the timeout.
void wait_readable(int fd, int timeout_ms) {
    pollfd fds[2] = {{fd, POLLIN, 0}, {Interrupt::instance().fd(), POLLIN, 0}};
    poll(fds, 2, timeout_ms);
}

std::string place(const Options& options) {
    const bool v6 = options.host.find(':') != std::string::npos;
    return (v6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.tcp_port);
}

/// Returns advice to print if the connection cannot be established.
std::string advice(const Options& options, const qpx::Error& error) {
    const std::string test(to_string(options.test));
    switch (error.code()) {
        case qpx::ErrorCode::Refused:
            // A reason sent by the peer needs no further advice.
            if (error.detail() == 0 && options.client()) {
                return "; start `rdma-bench " + test +
                       "` there first (a server takes one client, then its port is closed)";
            }
            return options.client()
                       ? ""
                       : "; another server runs: choose another port with -p on both sides";
        case qpx::ErrorCode::Protocol:
            return "; is there an rdma-bench at " + place(options) +
                   "? perftest's programs do not talk to it";
        default:
            return "";
    }
}

qpx::PeerOptions peer_options(const Options& options) {
    qpx::PeerOptions peer;
    peer.security = qpx::parse_security(options.security);
    peer.timeout = std::chrono::seconds(options.connect_timeout);
    peer.family = options.ipv6 ? AF_INET6 : 0;
    return peer;
}

qpx::Url url_of(const Options& options, const std::string& host) {
    qpx::Url url;
    url.scheme = options.rdma_cm_exchange ? "cm" : "tcp";
    url.host = host;
    url.port = options.tcp_port;
    return url;
}

/// Accepts clients of a server. @param came called for each client; returns false to stop
/// @param more called a few times per second; returns false to give up
void accept(const Options& options, const std::function<bool(qpx::Connection)>& came,
            const std::function<bool()>& more) {
    qpx::Listener listener(url_of(options, options.source_ip), peer_options(options));
    std::fprintf(
        stderr,
        "\n************************************\n* Waiting for %s to "
        "connect... *\n************************************\n",
        options.clients == 1 ? "client" : (std::to_string(options.clients) + " clients").c_str());
    while (more()) {
        wait_readable(listener.fd(), options.clients == 1 ? -1 : 200);
        check_interrupt();
        if (auto connection = listener.try_accept()) {
            if (!came(std::move(*connection))) {
                return;
            }
        }
        for (const auto& client : listener.turned_away()) {
            std::fprintf(stderr, "rdma-bench: turned away %s\n", client.c_str());
        }
    }
}

qpx::Connection accept_one(const Options& options) {
    std::optional<qpx::Connection> client;
    accept(
        options,
        [&](qpx::Connection connection) {
            client = std::move(connection);
            return false;
        },
        [] { return true; });
    return std::move(*client);
}

/// Converts an error of establishing the connection, adding advice.
RunError beginning(const Options& options, const qpx::Error& error) {
    check_interrupt();
    const bool argument = error.code() == qpx::ErrorCode::Argument;
    return {argument ? Exit::kUsage : Exit::kPeer, error.what() + advice(options, error)};
}

}  // namespace

Interrupt::Interrupt() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    signal_fd = fd_;
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int number : {SIGINT, SIGTERM}) {
        sigaction(number, &action, nullptr);
    }
    signal(SIGPIPE, SIG_IGN);
}

Interrupt& Interrupt::instance() {
    static Interrupt interrupt;
    return interrupt;
}
bool Interrupt::seen() const {
    return signals.load() > 0;
}
int Interrupt::count() const {
    return signals.load();
}

Link Link::open(const Options& options) {
    const std::chrono::seconds timeout(options.connect_timeout);
    try {
        if (!options.client()) {
            return Link(accept_one(options), timeout);
        }
        return Link(qpx::Connection::connect(url_of(options, options.host), peer_options(options)),
                    timeout);
    } catch (const qpx::Error& error) {
        throw beginning(options, error);
    }
}

void Link::accept_all(const Options& options, const std::function<void(Link)>& came,
                      const std::function<bool()>& more) {
    const std::chrono::seconds timeout(options.connect_timeout);
    unsigned count = 0;
    try {
        accept(
            options,
            [&](qpx::Connection connection) {
                came(Link(std::move(connection), timeout));
                return ++count < options.clients;
            },
            more);
    } catch (const qpx::Error& error) {
        throw beginning(options, error);
    }
}

Link::Link(qpx::Connection connection, std::chrono::milliseconds timeout)
    : connection_(std::move(connection)), timeout_(timeout) {}
Link::~Link() = default;
Link::Link(Link&&) noexcept = default;

void Link::send(const std::string& type, nlohmann::json message) {
    message["type"] = type;
    const std::string text = message.dump();
    try {
        connection_.set_timeout(timeout_);
        connection_.send(std::as_bytes(std::span(text)));
    } catch (const qpx::Error& error) {
        throw RunError(Exit::kPeer, std::string("the peer is gone: ") + error.what());
    }
}

std::optional<nlohmann::json> Link::take() {
    nlohmann::json message;
    try {
        const auto bytes = connection_.try_receive();
        if (!bytes) {
            return std::nullopt;
        }
        const auto* text = reinterpret_cast<const char*>(bytes->data());
        message = nlohmann::json::parse(text, text + bytes->size());
        if (message.at("type") != "give-up") {
            message.at("type").get_ref<const std::string&>();
            return message;
        }
    } catch (const qpx::Error& error) {
        throw RunError(Exit::kPeer, std::string("the peer is gone: ") + error.what());
    } catch (const nlohmann::json::exception&) {
        throw RunError(Exit::kPeer, kNotOurProtocol);
    }
    const auto reason = message.value("reason", std::string("no reason given"));
    if (message.value("interrupted", false)) {
        throw RunError(Exit::kInterrupted, "the peer was interrupted");
    }
    throw RunError(Exit::kPeer, "the peer gave up: " + reason);
}

std::optional<nlohmann::json> Link::look_any(const std::vector<std::string>& types) {
    auto message = take();
    if (message && std::find(types.begin(), types.end(), (*message)["type"].get<std::string>()) ==
                       types.end()) {
        throw RunError(Exit::kPeer, "the peer is at another step of the run: it sent '" +
                                        (*message)["type"].get<std::string>() + "' instead of '" +
                                        types.front() + "'; is it another version?");
    }
    return message;
}

std::optional<nlohmann::json> Link::look(const std::string& type) {
    return look_any({type});
}

nlohmann::json Link::expect(const std::string& type, bool timed) {
    const auto end = std::chrono::steady_clock::now() + timeout_;
    for (;;) {
        if (auto message = look_any({type})) {
            return std::move(*message);
        }
        check_interrupt();
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (timed && left.count() <= 0) {
            throw RunError(Exit::kPeer, "the peer does not answer (waited " +
                                            std::to_string(timeout_.count() / 1000) + " s for '" +
                                            type + "')");
        }
        wait_readable(fd(), timed ? static_cast<int>(left.count()) : -1);
    }
}

nlohmann::json Link::expect_any(const std::vector<std::string>& types) {
    for (;;) {
        if (auto message = look_any(types)) {
            return std::move(*message);
        }
        check_interrupt();
        wait_readable(fd(), -1);
    }
}

void Link::give_up(const std::string& reason, bool interrupted) noexcept {
    try {
        nlohmann::json message{
            {"type", "give-up"}, {"reason", reason}, {"interrupted", interrupted}};
        const std::string text = message.dump();
        connection_.set_timeout(std::chrono::milliseconds(500));
        connection_.send(std::as_bytes(std::span(text)));
        connection_.close();
    } catch (const std::exception&) {
        // The peer sees the end of the connection.
    }
}

}  // namespace rdma_bench
