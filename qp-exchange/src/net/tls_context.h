// SPDX-License-Identifier: BSD-2-Clause
// Keys and rules of one side for OpenSSL.
#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "net/stream.h"

namespace qpx::net {

struct SslFree {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
    void operator()(X509* certificate) const { X509_free(certificate); }
};

class Tls {
  public:
    Tls(const Security& security, Role role);

    SSL_CTX* context() const { return context_.get(); }
    const Security& security() const { return security_; }
    Role role() const { return role_; }
    /// Key of an identity, null when there is none.
    const PskKey* find(std::string_view identity) const;
    /// Whether allowed_peers has one of the names; an empty list allows all.
    bool allows(const std::vector<std::string>& names) const;

  private:
    void use_certificates();
    void use_psk();

    Security security_;
    Role role_;
    std::unique_ptr<SSL_CTX, SslFree> context_;
};

/// What OpenSSL's callbacks know of a connection (SSL_set_app_data).
struct TlsPeer {
    const Tls* tls = nullptr;
    std::string identity;  ///< of the key that the client named; a finished handshake proves that
                           ///< it knows it
};

/// Names in a certificate: common name first, then subject alternative names (DNS, IP, URI).
std::vector<std::string> names_of(X509* certificate);
/// Exact, without regard to case; "*.domain" stands for one more label.
bool name_matches(std::string_view pattern, std::string_view name);
/// What OpenSSL has on its error queue, in one line; empties the queue.
std::string openssl_errors();

}  // namespace qpx::net
