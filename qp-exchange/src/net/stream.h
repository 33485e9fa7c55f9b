// SPDX-License-Identifier: BSD-2-Clause
// A byte stream to a peer, with or without TLS. Nothing here blocks but wait().
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "net/deadline.h"
#include "qpx/security.h"

namespace qpx::net {

/// What a stream waits for.
enum class Want { Nothing, Read, Write };

struct Io {
    std::size_t bytes = 0;      ///< moved
    Want want = Want::Nothing;  ///< with 0 bytes: try again when the descriptor is ready for this
    bool closed = false;        ///< read: the other side has closed in an orderly way
};

/// Ends a stream whose last bytes matter: what lies unread at close() would make the kernel send a
/// reset in place of an end.
void end(class Stream& stream) noexcept;

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
    /// Until readable (or writable). @return false: the deadline passed. @throws Error(Cancelled)
    virtual bool wait(bool readable, bool writable, Deadline deadline);
    /// Tells the other side that no more follows, as far as this can be done without waiting.
    virtual void shutdown() noexcept = 0;

    /// What TLS runs on; without TLS this.
    virtual Stream& transport() { return *this; }
    /// After a failed handshake(): the first bytes that came, when they are no TLS.
    virtual std::span<const std::byte> plain_bytes() const { return {}; }

    virtual int fd() const = 0;
    /// False: fd() is none that poll() knows; try again every Readiness::tick.
    virtual bool pollable() const { return true; }
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

/// A server's keys and rules as its files have them now.
class TlsFiles {
  public:
    /// @throws as make_tls
    explicit TlsFiles(const Security& security);

    /// Null when security is off. Files that have changed are read again; while they cannot be used
    /// the former stay, and `why` says so once for each change.
    std::shared_ptr<const Tls> current(std::string* why = nullptr);

  private:
    std::string stamp() const;

    Security security_;
    std::shared_ptr<const Tls> tls_;
    std::string stamp_;
    Clock::time_point looked_{};
};

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
    virtual bool pollable() const { return true; }
    virtual std::uint16_t port() const = 0;
    virtual std::string url() const = 0;
};

/// @throws Error Resolve; Refused when the port is taken
std::unique_ptr<Acceptor> make_tcp_acceptor(const std::string& address, std::uint16_t port,
                                            int family);
/// Connects to the first of the host's addresses that answers, in turn.
std::unique_ptr<Stream> connect_tcp_stream(const std::string& host, std::uint16_t port, int family,
                                           Deadline deadline);

}  // namespace qpx::net
