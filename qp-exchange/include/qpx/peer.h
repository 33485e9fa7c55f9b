// SPDX-License-Identifier: BSD-2-Clause
// Connection between two processes that connect their queue pairs: one listens, the other connects,
// and both exchange endpoints.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qpx/endpoint.h"
#include "qpx/error.h"
#include "qpx/security.h"
#include "qpx/url.h"

#pragma GCC visibility push(default)
namespace qpx {

/// Limits that one side imposes on the other, announced in the first message.
struct Limits {
    std::uint32_t max_frame = 16 << 20;        ///< bytes of one message; at least 4096
    std::uint32_t max_endpoints = 65536;       ///< in one exchange
    std::uint32_t max_regions = 4096;          ///< in one endpoint
    std::uint32_t max_application = 64 << 10;  ///< application bytes in one endpoint
};

struct PeerOptions {
    Security security{};
    /// For each call: connect with its handshake, exchange, send, receive, barrier. Negative: none.
    std::chrono::milliseconds timeout{10'000};
    std::string name{};  ///< sent to the peer; empty: host name and process id
    int family = 0;      ///< AF_INET or AF_INET6 only; 0: both
    Limits limits{};
    bool retry_refused = false;  ///< connect: retries a closed port until the timeout
    /// A signal handler that runs while a call waits ends the call with Error(Cancelled).
    bool stop_on_signal = false;
};

/// A connection to one peer. Movable; not thread-safe, except cancel(). Calls block until done or
/// timed out; try_receive() does not block.
class Connection {
  public:
    /// Connects to a Listener and completes the handshake.
    /// @param host name or numeric address, IPv4 or IPv6
    /// @throws Error Resolve, Refused, Timeout, Auth, Version, Protocol
    static Connection connect(const std::string& host, std::uint16_t port,
                              const PeerOptions& options = {});
    /// @param url tcp://host:port, or cm://host:port through librdmacm
    static Connection connect(const Url& url, const PeerOptions& options = {});

    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    ~Connection();  ///< closes in an orderly way if the connection is intact

    /// Sends this side's endpoint and receives the peer's. Both sides must call it; it returns when
    /// both have accepted the other's endpoint.
    /// @throws Error Refused with the peer's reason, or with what is wrong with the peer's endpoint
    /// (the peer is informed); Timeout, PeerGone, Limit
    Endpoint exchange(const Endpoint& mine);
    /// Exchanges several endpoints. Both sides send the same number, unless the QPs are UD.
    std::vector<Endpoint> exchange(std::span<const Endpoint> mine);

    /// Sends one message of the application; messages arrive whole and in order.
    /// @throws Error Limit if the peer accepts no message of this size; Timeout, PeerGone
    void send(std::span<const std::byte> message);
    /// Waits for the next message. @throws Error Timeout, after which the connection stays usable;
    /// PeerGone, Protocol, Cancelled
    std::vector<std::byte> receive();
    /// Returns the next message, or nullopt if none is there: wait until fd() is readable.
    /// @throws as receive()
    std::optional<std::vector<std::byte>> try_receive();

    /// Waits until the peer has called it as often. @throws Error Timeout, PeerGone
    void barrier();

    /// Sends the reason and closes: the peer's next call throws Error Refused with this text.
    void refuse(const std::string& reason);
    /// Closes in an orderly way: the peer's next call throws Error PeerGone.
    void close();

    /// Makes the waiting call, or else the next one that would wait, throw Error(Cancelled). The
    /// connection stays usable after a cancelled receive(), but not after other calls. Thread-safe
    /// and async-signal-safe while the object exists and is not moved.
    void cancel() noexcept;

    /// Returns true if the peer has closed the connection; earlier messages may still be unread.
    /// Does not wait; over cm:// only a call that receives detects it.
    bool peer_gone() const;

    /// Sets the timeout of later calls. Negative: none.
    void set_timeout(std::chrono::milliseconds timeout);
    /// Descriptor for poll(), select(), epoll: readable while try_receive() would return a message
    /// or throw; spurious wakeups are possible. Do not read from it. Over cm:// it wakes every few
    /// milliseconds, as librdmacm has no descriptor to wait on. @throws Error(Limit) no descriptors
    /// left
    int fd() const;
    /// Numeric address of the peer: "192.0.2.1", "fe80::1%eth0".
    std::string peer_address() const;
    /// Numeric address of this side of the connection.
    std::string local_address() const;
    /// TCP port of the peer, host byte order.
    std::uint16_t peer_port() const;
    /// The name that the peer claims (PeerOptions::name). Not authenticated.
    std::string peer_name() const;
    /// The peer's identity as authenticated by TLS; empty without TLS.
    std::string peer_identity() const;
    /// Returns true with TLS. If false, warn the user that rkeys are sent in clear.
    bool secure() const;
    /// "TLS_AES_256_GCM_SHA384, certificate \"CN=a\"" or "not encrypted".
    std::string security_text() const;

    class [[gnu::visibility("hidden")]] Impl;
    explicit Connection(std::unique_ptr<Impl> impl);

  private:
    std::unique_ptr<Impl> impl_;
};

/// Decides which of two sides connects if both could. Each side passes its own name and the
/// other's, which both must know alike (ranks, host:port of their listeners). Returns true on
/// exactly one of them, which connects; the other accepts. @throws Error(Argument) equal names
bool should_connect(std::string_view mine, std::string_view theirs);

/// Accepts connections. Slow or malformed clients do not delay others.
class Listener {
  public:
    /// @param address of this host; empty: all, IPv6 and IPv4
    /// @param port 0: any free port
    /// @throws Error Resolve; Refused if the port is in use
    Listener(const std::string& address, std::uint16_t port, const PeerOptions& options = {});
    /// @param url tcp://address:port or cm://address:port
    explicit Listener(const Url& url, const PeerOptions& options = {});
    Listener(Listener&&) noexcept;
    Listener& operator=(Listener&&) noexcept;
    ~Listener();

    /// Waits for the next client that completes the handshake. While the process has no descriptors
    /// left new clients stay in the kernel's backlog; turned_away() says so.
    /// @param timeout negative: none
    /// @throws Error Timeout, Cancelled
    Connection accept(std::chrono::milliseconds timeout);
    /// Like accept() without waiting. Returns nullopt if none is ready: wait until fd() is
    /// readable.
    std::optional<Connection> try_accept();
    /// Makes the waiting accept(), or else the next, throw Error(Cancelled). Thread-safe and
    /// async-signal-safe.
    void cancel() noexcept;
    /// Returns why clients were turned away since the last call ("192.0.2.7: sent 12 bytes and
    /// nothing more for 10 s").
    std::vector<std::string> turned_away();

    /// TCP port that the listener is bound to, host byte order.
    std::uint16_t port() const;
    /// URL for a client on this host.
    std::string url() const;
    /// Descriptor for poll(), select(), epoll: readable if try_accept() must be called. Do not read
    /// from it.
    int fd() const;

    class [[gnu::visibility("hidden")]] Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace qpx
#pragma GCC visibility pop
