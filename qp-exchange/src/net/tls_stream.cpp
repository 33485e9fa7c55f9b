// SPDX-License-Identifier: BSD-2-Clause
// TLS over any Stream, through a custom BIO.
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <utility>

#include "net/tls_context.h"
#include "qpx/error.h"

namespace qpx::net {

namespace {

constexpr std::size_t kept_bytes = 2048;

/// The stream beneath OpenSSL. Stores exceptions, which must not pass through OpenSSL's C code.
struct Link {
    std::unique_ptr<Stream> stream;
    std::exception_ptr error{};
    bool closed = false;
    bool keep = true;                ///< record bytes in `first`, during the handshake
    std::vector<std::byte> first{};  ///< first received bytes
};

int clamp_int(std::size_t value) {
    return static_cast<int>(std::min<std::size_t>(value, std::numeric_limits<int>::max()));
}

template <class Move>
int moved(BIO* bio, Move move) {
    auto& link = *static_cast<Link*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    try {
        const Io io = move(link);
        if (io.bytes > 0) {
            return static_cast<int>(io.bytes);
        }
        if (io.closed) {
            link.closed = true;
            return 0;
        }
        io.want == Want::Read ? BIO_set_retry_read(bio) : BIO_set_retry_write(bio);
    } catch (...) {
        link.error = std::current_exception();
    }
    return -1;
}

int bio_read(BIO* bio, char* into, int size) {
    return moved(bio, [&](Link& link) {
        const Io io =
            link.stream->read({reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(size)});
        if (link.keep && link.first.size() < kept_bytes) {
            const auto* at = reinterpret_cast<const std::byte*>(into);
            link.first.insert(link.first.end(), at,
                              at + std::min(io.bytes, kept_bytes - link.first.size()));
        }
        return io;
    });
}

int bio_write(BIO* bio, const char* from, int size) {
    return moved(bio, [&](Link& link) {
        return link.stream->write(
            {reinterpret_cast<const std::byte*>(from), static_cast<std::size_t>(size)});
    });
}

long bio_control(BIO* bio, int command, long, void*) {
    switch (command) {
        case BIO_CTRL_FLUSH:
            return 1;
        case BIO_CTRL_EOF:
            return static_cast<Link*>(BIO_get_data(bio))->closed ? 1 : 0;
        default:
            return 0;
    }
}

BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
        BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "qpx stream");
        BIO_meth_set_read(m, bio_read);
        BIO_meth_set_write(m, bio_write);
        BIO_meth_set_ctrl(m, bio_control);
        return m;
    }();
    return made;
}

class TlsStream final : public Stream {
  public:
    TlsStream(std::shared_ptr<const Tls> tls, std::unique_ptr<Stream> transport,
              const std::string& server_name)
        : tls_(std::move(tls)),
          link_{.stream = std::move(transport)},
          ssl_(SSL_new(tls_->context())) {
        BIO* bio = BIO_new(method());
        if (ssl_ == nullptr || bio == nullptr) {
            BIO_free(bio);
            throw Error(ErrorCode::Limit, "OpenSSL: " + openssl_errors());
        }
        BIO_set_data(bio, &link_);
        BIO_set_init(bio, 1);
        SSL_set_bio(ssl_.get(), bio, bio);
        peer_.tls = tls_.get();
        SSL_set_app_data(ssl_.get(), &peer_);
        if (tls_->role() == Role::Server) {
            SSL_set_accept_state(ssl_.get());
            return;
        }
        SSL_set_connect_state(ssl_.get());
        if (tls_->security().mode == Security::Mode::Certificates &&
            tls_->security().allowed_peers.empty()) {
            want_name(server_name.substr(0, server_name.find('%')));
        }
    }

    Want handshake() override {
        if (done_) {
            return Want::Nothing;
        }
        ERR_clear_error();
        const int result = SSL_do_handshake(ssl_.get());
        if (result != 1) {
            const Want want = want_of(result);
            if (want == Want::Nothing) {
                throw_handshake(result);
            }
            return want;
        }
        done_ = true;
        link_.keep = false;
        link_.first = {};
        check_peer();
        return Want::Nothing;
    }

    Io read(std::span<std::byte> into) override {
        ERR_clear_error();
        const int count = SSL_read(ssl_.get(), into.data(), clamp_int(into.size()));
        return count > 0 ? Io{.bytes = static_cast<std::size_t>(count)} : outcome(count);
    }

    Io write(std::span<const std::byte> from) override {
        if (from.empty()) {
            return {};
        }
        ERR_clear_error();
        const int count = SSL_write(ssl_.get(), from.data(), clamp_int(from.size()));
        return count > 0 ? Io{.bytes = static_cast<std::size_t>(count)} : outcome(count);
    }

    bool pending() const override { return SSL_pending(ssl_.get()) > 0 || link_.stream->pending(); }

    bool wait(bool readable, bool writable, Deadline deadline) override {
        return (readable && pending()) || link_.stream->wait(readable, writable, deadline);
    }

    void shutdown() noexcept override {
        ERR_clear_error();
        if (done_ && !broken_) {
            SSL_shutdown(ssl_.get());
        }
        ERR_clear_error();
        link_.error = nullptr;
        link_.stream->shutdown();
    }

    Stream& transport() override { return *link_.stream; }
    std::span<const std::byte> plain_bytes() const override { return link_.first; }
    int fd() const override { return link_.stream->fd(); }
    bool pollable() const override { return link_.stream->pollable(); }
    std::string peer_address() const override { return link_.stream->peer_address(); }
    std::uint16_t peer_port() const override { return link_.stream->peer_port(); }
    std::string local_address() const override { return link_.stream->local_address(); }
    bool secure() const override { return done_; }
    std::string identity() const override { return identity_; }

    std::string security_text() const override {
        if (!done_) {
            return "not encrypted";
        }
        const bool psk = tls_->security().mode == Security::Mode::Psk;
        return std::string(SSL_get_version(ssl_.get())) + " " + SSL_get_cipher_name(ssl_.get()) +
               (psk ? ", pre-shared key" : ", certificate") + " \"" + identity_ + "\"";
    }

  private:
    void want_name(const std::string& name) {
        X509_VERIFY_PARAM* rules = SSL_get0_param(ssl_.get());
        if (X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1) {
            return;
        }
        ERR_clear_error();
        if (name.empty() || SSL_set1_host(ssl_.get(), name.c_str()) != 1) {
            throw Error(
                ErrorCode::Argument,
                "the server's host name, to compare with its certificate, is missing or invalid");
        }
        SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
    }

    Want want_of(int result) {
        // After the end OpenSSL still tries to send an alert: ignore its failure.
        if (link_.error && !link_.closed) {
            broken_ = true;
            std::rethrow_exception(std::exchange(link_.error, nullptr));
        }
        switch (SSL_get_error(ssl_.get(), result)) {
            case SSL_ERROR_WANT_READ:
                return Want::Read;
            case SSL_ERROR_WANT_WRITE:
                return Want::Write;
            default:
                return Want::Nothing;
        }
    }

    Io outcome(int result) {
        if (const Want want = want_of(result); want != Want::Nothing) {
            return {.want = want};
        }
        if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) {
            return {.closed = true};
        }
        broken_ = true;
        if (link_.closed) {
            ERR_clear_error();
            throw Error(ErrorCode::PeerGone,
                        "the connection ended without a TLS good-bye: the peer's process died");
        }
        // With TLS 1.3 a client learns only here that the server rejected its certificate.
        const std::string errors = openssl_errors();
        throw Error(
            errors.find("alert") != std::string::npos ? ErrorCode::Auth : ErrorCode::Protocol,
            "TLS: " + errors + (errors.find("alert") != std::string::npos ? hint() : ""));
    }

    std::string hint() const {
        return tls_->security().mode == Security::Mode::Psk
                   ? " (the other side has another key or identity, or uses certificates)"
                   : " (the other side does not take this side's certificate: CA, validity, "
                     "purpose; or uses a pre-shared key)";
    }

    [[noreturn]] void throw_handshake(int result) {
        const bool system = SSL_get_error(ssl_.get(), result) == SSL_ERROR_SYSCALL;
        broken_ = true;
        const auto& first = link_.first;
        if (!first.empty() && first[0] != std::byte{0x16} && first[0] != std::byte{0x15}) {
            ERR_clear_error();
            throw Error(
                ErrorCode::Auth,
                "the other side does not speak TLS, this side has security on: give both the same");
        }
        link_.first = {};
        const std::string errors = openssl_errors();
        if (system || link_.closed) {
            throw Error(first.empty() && tls_->role() == Role::Server ? ErrorCode::PeerGone
                                                                      : ErrorCode::Auth,
                        "the other side ended the connection during the TLS handshake; it may have "
                        "no security");
        }
        const long verdict = SSL_get_verify_result(ssl_.get());
        const bool certificates = tls_->security().mode == Security::Mode::Certificates;
        if (verdict != X509_V_OK && certificates) {
            throw Error(ErrorCode::Auth,
                        std::string("the other side's certificate is not accepted: ") +
                            X509_verify_cert_error_string(verdict));
        }
        throw Error(ErrorCode::Auth, "TLS handshake: " + errors + hint());
    }

    /// Checks the peer's identity against the rules, after the handshake.
    void check_peer() {
        std::vector<std::string> names;
        if (tls_->security().mode == Security::Mode::Psk) {
            if (SSL_session_reused(ssl_.get()) != 1) {
                throw Error(ErrorCode::Auth, "the other side uses TLS without the pre-shared key");
            }
            names.push_back(tls_->role() == Role::Client ? tls_->security().psk.front().identity
                                                         : peer_.identity);
        } else {
            const std::unique_ptr<X509, SslFree> certificate(SSL_get1_peer_certificate(ssl_.get()));
            if (certificate == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) {
                throw Error(ErrorCode::Auth, "the other side showed no valid certificate");
            }
            names = names_of(certificate.get());
        }
        identity_ = names.empty() ? std::string("(a certificate without a name)") : names.front();
        if (!tls_->allows(names)) {
            throw Error(ErrorCode::Auth,
                        "\"" + identity_ + "\" is not in the list of allowed peers");
        }
    }

    std::shared_ptr<const Tls> tls_;
    Link link_;
    TlsPeer peer_;
    std::unique_ptr<SSL, SslFree> ssl_;
    bool done_ = false, broken_ = false;
    std::string identity_;
};

}  // namespace

std::unique_ptr<Stream> make_tls_stream(std::shared_ptr<const Tls> tls,
                                        std::unique_ptr<Stream> transport,
                                        const std::string& server_name) {
    return std::make_unique<TlsStream>(std::move(tls), std::move(transport), server_name);
}

}  // namespace qpx::net
