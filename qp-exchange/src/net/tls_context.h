// SPDX-License-Identifier: BSD-2-Clause
// OpenSSL context with the keys and rules of one side.
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
    /// Returns the key of an identity, or null.
    const PskKey* find(std::string_view identity) const;
    /// Returns true if allowed_peers has one of the names or is empty.
    bool allows(const std::vector<std::string>& names) const;

  private:
    void use_certificates();
    void use_psk();

    Security security_;
    Role role_;
    std::unique_ptr<SSL_CTX, SslFree> context_;
};

/// Data of a connection for OpenSSL's callbacks (SSL_set_app_data()).
struct TlsPeer {
    const Tls* tls = nullptr;
    std::string identity;  ///< PSK identity sent by the client; authenticated once the handshake is
    ///< complete
};

/// Returns the names in a certificate: common name, then subject alternative names (DNS, IP, URI).
std::vector<std::string> names_of(X509* certificate);
/// Compares case-insensitively; "*" in "*.domain" matches one label.
bool name_matches(std::string_view pattern, std::string_view name);
/// Returns OpenSSL's error queue in one line and empties it.
std::string openssl_errors();

}  // namespace qpx::net
