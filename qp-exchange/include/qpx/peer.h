// SPDX-License-Identifier: BSD-2-Clause
// Two processes that want their queue pairs connected: one listens, the other connects, both
// exchange.
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

/// What one side accepts of the other. It is told so in the first message.
struct Limits {
    std::uint32_t max_frame = 16 << 20;        ///< bytes of one message; at least 4096
    std::uint32_t max_endpoints = 65536;       ///< in one exchange
    std::uint32_t max_regions = 4096;          ///< in one endpoint
    std::uint32_t max_application = 64 << 10;  ///< application bytes in one endpoint
};

struct PeerOptions {
    Security security{};
    /// For each call: connect with its handshake, exchange, send, receive, barrier. Negative: for
    /// ever.
    std::chrono::milliseconds timeout{10'000};
    std::string name{};  ///< told to the peer; empty: this host's name and process id
    int family = 0;      ///< AF_INET or AF_INET6 only; 0: both
    Limits limits{};
    bool retry_refused = false;  ///< connect: a closed port is tried again until the timeout
    /// A signal whose handler runs while a call waits ends that call with Error(Cancelled).
    bool stop_on_signal = false;
};

/// A connection to one peer. Movable, for one thread at a time but for cancel(). Calls wait until
/// done or their time is over, try_receive() does not wait.
class Connection {
  public:
    /// Connects to a Listener; the handshake is done when it returns.
    /// @param host name or numeric address, IPv4 or IPv6
    /// @throws Error Resolve, Refused, Timeout, Auth, Version, Protocol
    static Connection connect(const std::string& host, std::uint16_t port,
                              const PeerOptions& options = {});
    /// The same. @param url tcp://host:port, or cm://host:port through librdmacm
    static Connection connect(const Url& url, const PeerOptions& options = {});

    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    ~Connection();  ///< says good-bye when the connection is healthy

    /// Gives the peer this side's endpoint and gets the peer's. Both sides must call it; it returns
    /// when both have accepted the other's endpoint.
    /// @throws Error Refused with the peer's reason, or with what is wrong with the peer's endpoint
    /// (the peer is told); Timeout, PeerGone, Limit
    Endpoint exchange(const Endpoint& mine);
    /// The same with several endpoints. Both sides give equally many, unless the QPs are UD.
    std::vector<Endpoint> exchange(std::span<const Endpoint> mine);

    /// Sends one message of the application; messages arrive whole and in order. @throws Error
    /// Limit when the peer takes no message of this size; Timeout, PeerGone
    void send(std::span<const std::byte> message);
    /// Waits for the next message. @throws Error Timeout, after which the connection can be used
    /// on; PeerGone, Protocol, Cancelled
    std::vector<std::byte> receive();
    /// The next message when it is here; nothing: wait until fd() is readable. @throws as receive()
    std::optional<std::vector<std::byte>> try_receive();

    /// Returns when the peer has called it as often. @throws Error Timeout, PeerGone
    void barrier();

    /// Says why, then closes: the peer's next call throws Error Refused with this text.
    void refuse(const std::string& reason);
    /// An orderly end: the peer's next call throws Error PeerGone.
    void close();

    /// The call that waits now, or else the next that would, throws Error(Cancelled). After a
    /// cancelled receive() the connection can be used on, other calls end it. From any thread and
    /// from signal handlers, while the object exists and is not moved.
    void cancel() noexcept;

    /// True when the peer has closed the connection; messages before that may be unread. Does not
    /// wait; over cm:// only a call that receives notices.
    bool peer_gone() const;

    /// Time limit of later calls. Negative: none.
    void set_timeout(std::chrono::milliseconds timeout);
    /// For poll(), select(), epoll: readable while try_receive() would give a message or throw, and
    /// perhaps when it gives nothing yet. Not to be read. Over cm:// also every few milliseconds,
    /// for librdmacm has no descriptor to wait on. @throws Error(Limit) no descriptors left
    int fd() const;
    /// Numeric address of the peer: "192.0.2.1", "fe80::1%eth0".
    std::string peer_address() const;
    /// Numeric address of this side of the connection.
    std::string local_address() const;
    /// TCP port of the peer, host byte order.
    std::uint16_t peer_port() const;
    /// The peer's own name for itself (PeerOptions::name). Not proved.
    std::string peer_name() const;
    /// Identity that TLS has proved; empty without security.
    std::string peer_identity() const;
    /// With TLS. False: tell the user that rkeys cross the network in clear.
    bool secure() const;
    /// "TLS_AES_256_GCM_SHA384, certificate \"CN=a\"" or "not encrypted".
    std::string security_text() const;

    class [[gnu::visibility("hidden")]] Impl;
    explicit Connection(std::unique_ptr<Impl> impl);

  private:
    std::unique_ptr<Impl> impl_;
};

/// The rule for two sides that could both connect: each gives its own name and the other's, as both
/// know them (ranks, host:port of their listeners), and exactly one of the two is to connect, the
/// other to accept. @throws Error(Argument) equal names
bool should_connect(std::string_view mine, std::string_view theirs);

/// Accepts connections. Slow or malformed clients do not delay others.
class Listener {
  public:
    /// @param address of this host; empty: all, IPv6 and IPv4
    /// @param port 0: any free one
    /// @throws Error Resolve; Refused when the port is in use
    Listener(const std::string& address, std::uint16_t port, const PeerOptions& options = {});
    /// The same. @param url tcp://address:port or cm://address:port
    explicit Listener(const Url& url, const PeerOptions& options = {});
    Listener(Listener&&) noexcept;
    Listener& operator=(Listener&&) noexcept;
    ~Listener();

    /// Waits for the next client whose handshake is done. While the process has no descriptors left
    /// new clients wait in the kernel; turned_away() says so.
    /// @param timeout negative: wait for ever
    /// @throws Error Timeout, Cancelled
    Connection accept(std::chrono::milliseconds timeout);
    /// The same without waiting; nothing: wait until fd() is readable.
    std::optional<Connection> try_accept();
    /// The accept() that waits now, or else the next, throws Error(Cancelled). From any thread and
    /// from signal handlers.
    void cancel() noexcept;
    /// Why the last clients were turned away ("192.0.2.7: sent 12 bytes and nothing more for 10
    /// s"); empties the list.
    std::vector<std::string> turned_away();

    /// TCP port that it listens on, host byte order.
    std::uint16_t port() const;
    /// URL for a client on this host.
    std::string url() const;
    /// For poll(), select(), epoll: readable when try_accept() has work: then call it. Not to be
    /// read.
    int fd() const;

    class [[gnu::visibility("hidden")]] Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace qpx
#pragma GCC visibility pop
