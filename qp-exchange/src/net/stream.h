// SPDX-License-Identifier: BSD-2-Clause
// Byte streams to a peer, with or without TLS. Only wait() blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "net/deadline.h"
#include "qpx/security.h"

namespace qpx::net {

/// Readiness that a stream waits for.
enum class Want { Nothing, Read, Write };

struct Io {
    std::size_t bytes = 0;      ///< moved
    Want want = Want::Nothing;  ///< with 0 bytes: retry when the descriptor is ready for this
    bool closed = false;        ///< read: the other side has closed in an orderly way
};

/// Closes a stream so that its last bytes are delivered: discards unread input, for which the
/// kernel would send a reset at close().
void end(class Stream& stream) noexcept;

enum class Role { Client, Server };

class Stream {
  public:
    virtual ~Stream() = default;

    /// Advances the handshake; Want::Nothing if done (at once without TLS). @throws Error(Auth)
    /// that says what the other side seems to be
    virtual Want handshake() = 0;
    /// @throws Error(PeerGone) if the connection broke
    virtual Io read(std::span<std::byte> into) = 0;
    virtual Io write(std::span<const std::byte> from) = 0;
    /// Returns true if read() would return bytes although the descriptor is not readable.
    virtual bool pending() const { return false; }
    /// Waits until readable (or writable). @return false if the deadline passed
    /// @throws Error(Cancelled)
    virtual bool wait(bool readable, bool writable, Deadline deadline);
    /// Signals the end of this direction, as far as possible without waiting.
    virtual void shutdown() noexcept = 0;

    /// The stream beneath TLS; without TLS *this.
    virtual Stream& transport() { return *this; }
    /// After a failed handshake(): the first received bytes, if they are not TLS.
    virtual std::span<const std::byte> plain_bytes() const { return {}; }

    virtual int fd() const = 0;
    /// Returns false if fd() cannot be passed to poll(): then retry every Readiness::tick.
    virtual bool pollable() const { return true; }
    virtual std::string peer_address() const = 0;
    virtual std::uint16_t peer_port() const = 0;
    virtual std::string local_address() const = 0;
    virtual bool secure() const { return false; }
    virtual std::string identity() const { return {}; }  ///< authenticated by TLS
    virtual std::string security_text() const { return "not encrypted"; }
};

/// Keys and rules of one side, created once for all its connections. Null if security is off.
class Tls;
/// @throws Error(Argument) that names the file and OpenSSL's reason
std::shared_ptr<const Tls> make_tls(const Security& security, Role role);

/// A server's keys and rules, reloaded when their files change.
class TlsFiles {
  public:
    /// @throws as make_tls
    explicit TlsFiles(const Security& security);

    /// Returns the current ones, null if security is off. Reloads changed files; while these are
    /// invalid, the former keys stay in use, and `why` says so once for each change.
    std::shared_ptr<const Tls> current(std::string* why = nullptr);

  private:
    std::string stamp() const;

    Security security_;
    std::shared_ptr<const Tls> tls_;
    std::string stamp_;
    Clock::time_point looked_{};
};

/// Wraps a transport in TLS. @param server_name for a client: the name required in the server's
/// certificate
std::unique_ptr<Stream> make_tls_stream(std::shared_ptr<const Tls> tls,
                                        std::unique_ptr<Stream> transport,
                                        const std::string& server_name = {});

/// Wraps a connected TCP socket. Takes ownership of the descriptor, makes it non-blocking and sets
/// TCP_NODELAY.
std::unique_ptr<Stream> make_tcp_stream(int fd);

/// Source of incoming streams.
class Acceptor {
  public:
    virtual ~Acceptor() = default;
    /// Accepts the next connection; null if none is queued. @throws Error(Limit) no descriptors
    /// left
    virtual std::unique_ptr<Stream> accept() = 0;
    virtual int fd() const = 0;
    virtual bool pollable() const { return true; }
    virtual std::uint16_t port() const = 0;
    virtual std::string url() const = 0;
};

/// @throws Error Resolve; Refused if the port is in use
std::unique_ptr<Acceptor> make_tcp_acceptor(const std::string& address, std::uint16_t port,
                                            int family);
/// Tries the host's addresses in turn and connects to the first that accepts.
std::unique_ptr<Stream> connect_tcp_stream(const std::string& host, std::uint16_t port, int family,
                                           Deadline deadline);

}  // namespace qpx::net
