// SPDX-License-Identifier: BSD-2-Clause
// A byte stream to a peer, with or without TLS. Nothing here blocks but wait().
#pragma once
#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "qpx/security.h"

namespace qpx::net {

using Clock = std::chrono::steady_clock;

/// A moment until which something may last.
class Deadline {
  public:
    static Deadline never() { return Deadline(Clock::time_point::max()); }
    /// Negative: never.
    static Deadline in(std::chrono::milliseconds time) {
        return time.count() < 0 ? never() : Deadline(Clock::now() + time);
    }
    explicit Deadline(Clock::time_point at) : at_(at) {}

    Clock::time_point at() const { return at_; }
    bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
    /// What poll() wants: milliseconds rounded up, -1 for never.
    int poll_ms() const;

  private:
    Clock::time_point at_;
};

/// What a stream waits for.
enum class Want { Nothing, Read, Write };

struct Io {
    std::size_t bytes = 0;      ///< moved
    Want want = Want::Nothing;  ///< with 0 bytes: try again when the descriptor is ready for this
    bool closed = false;        ///< read: the other side has closed in an orderly way
};

enum class Role { Client, Server };

class Stream {
  public:
    virtual ~Stream() = default;

    /// Nothing: done (at once without TLS). @throws Error(Auth) that says what the other side seems
    /// to be
    virtual Want handshake() = 0;
    /// @throws Error(PeerGone) when the connection broke
    virtual Io read(std::span<std::byte> into) = 0;
    virtual Io write(std::span<const std::byte> from) = 0;
    /// Bytes that read() would give though the descriptor is not readable.
    virtual bool pending() const { return false; }
    /// Until readable (or writable). @return false: the deadline passed
    virtual bool wait(bool readable, bool writable, Deadline deadline);
    /// Tells the other side that no more follows, as far as this can be done without waiting.
    virtual void shutdown() noexcept = 0;

    /// What TLS runs on; without TLS this.
    virtual Stream& transport() { return *this; }
    /// After a failed handshake(): the first bytes that came, when they are no TLS.
    virtual std::span<const std::byte> plain_bytes() const { return {}; }

    virtual int fd() const = 0;
    virtual std::string peer_address() const = 0;
    virtual std::uint16_t peer_port() const = 0;
    virtual std::string local_address() const = 0;
    virtual bool secure() const { return false; }
    virtual std::string identity() const { return {}; }  ///< proved by TLS
    virtual std::string security_text() const { return "not encrypted"; }
};

/// Keys and rules of one side, made once and used for all its connections. Null when security is
/// off.
class Tls;
/// @throws Error(Argument) that names the file and OpenSSL's reason
std::shared_ptr<const Tls> make_tls(const Security& security, Role role);

/// Wraps a transport in TLS. @param server_name what the certificate of a server must name; for a
/// client
std::unique_ptr<Stream> make_tls_stream(std::shared_ptr<const Tls> tls,
                                        std::unique_ptr<Stream> transport,
                                        const std::string& server_name = {});

/// A connected TCP socket as a stream; takes the descriptor, makes it non-blocking with
/// TCP_NODELAY.
std::unique_ptr<Stream> make_tcp_stream(int fd);

/// Where streams come from.
class Acceptor {
  public:
    virtual ~Acceptor() = default;
    /// The next connection, null when there is none now. @throws Error(Limit) no descriptors left
    virtual std::unique_ptr<Stream> accept() = 0;
    virtual int fd() const = 0;
    virtual std::uint16_t port() const = 0;
    virtual std::string url() const = 0;
    /// poll() for this kind of descriptor.
    virtual int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
        return ::poll(descriptors, count, milliseconds);
    }
};

/// @throws Error Resolve; Refused when the port is taken
std::unique_ptr<Acceptor> make_tcp_acceptor(const std::string& address, std::uint16_t port,
                                            int family);
/// All addresses of the host in turn.
std::unique_ptr<Stream> connect_tcp_stream(const std::string& host, std::uint16_t port, int family,
                                           Deadline deadline);

}  // namespace qpx::net
