// SPDX-License-Identifier: BSD-2-Clause
#include "net/tls_context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "qpx/error.h"

namespace qpx::net {

std::string openssl_errors() {
    std::string text;
    while (const unsigned long code = ERR_get_error()) {
        const char* reason = ERR_reason_error_string(code);
        if (reason != nullptr && text.find(reason) == std::string::npos) {
            text += (text.empty() ? "" : "; ") + std::string(reason);
        }
    }
    return text.empty() ? "no reason given" : text;
}

namespace {

/// An external PSK uses SHA-256 (RFC 8446 4.2.11), so only cipher suites with that hash are
/// possible.
constexpr std::array<unsigned char, 2> psk_suite = {0x13, 0x01};
constexpr const char* psk_suites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";

[[noreturn]] void wrong_file(const char* what, const std::string& path) {
    throw Error(
        ErrorCode::Argument,
        std::string(what) + " " + (path.empty() ? "is not given" : path + ": " + openssl_errors()));
}

/// Fails instead of prompting: a key with a pass phrase must not block a service.
int no_pass_phrase(char*, int, int, void*) {
    return -1;
}

TlsPeer& peer_of(SSL* ssl) {
    return *static_cast<TlsPeer*>(SSL_get_app_data(ssl));
}

SSL_SESSION* session_of(SSL* ssl, const PskKey& key) {
    const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, psk_suite.data());
    std::unique_ptr<SSL_SESSION, SslFree> session(SSL_SESSION_new());
    if (cipher == nullptr || session == nullptr ||
        SSL_SESSION_set1_master_key(session.get(),
                                    reinterpret_cast<const unsigned char*>(key.key.data()),
                                    key.key.size()) != 1 ||
        SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
        return nullptr;
    }
    return session.release();
}

int use_session(SSL* ssl, const EVP_MD* hash, const unsigned char** identity, std::size_t* length,
                SSL_SESSION** session) {
    const PskKey& key = peer_of(ssl).tls->security().psk.front();
    *session = nullptr;
    if (hash != nullptr && EVP_MD_get_type(hash) != NID_sha256) {
        return 1;
    }
    *session = session_of(ssl, key);
    *identity = reinterpret_cast<const unsigned char*>(key.identity.data());
    *length = key.identity.size();
    return *session != nullptr ? 1 : 0;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t length,
                 SSL_SESSION** session) {
    TlsPeer& peer = peer_of(ssl);
    const PskKey* key = peer.tls->find({reinterpret_cast<const char*>(identity), length});
    *session = nullptr;
    if (key != nullptr) {
        peer.identity = key->identity;
        *session = session_of(ssl, *key);
    }
    // Not an error for an unknown identity: the handshake continues without a key and fails later,
    // as with a wrong key.
    return 1;
}

void add_text(std::vector<std::string>& names, const ASN1_STRING* value) {
    unsigned char* text = nullptr;
    const int length = ASN1_STRING_to_UTF8(&text, value);
    if (length > 0) {
        std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
        // An embedded NUL could make the name look like another.
        if (name.find('\0') == std::string::npos) {
            names.push_back(std::move(name));
        }
    }
    OPENSSL_free(text);
}

void add_ip(std::vector<std::string>& names, const ASN1_OCTET_STRING* value) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6;
    if ((family == AF_INET || ASN1_STRING_length(value) == 16) &&
        inet_ntop(family, ASN1_STRING_get0_data(value), text.data(), text.size()) != nullptr) {
        names.emplace_back(text.data());
    }
}

}  // namespace

std::vector<std::string> names_of(X509* certificate) {
    std::vector<std::string> names;
    X509_NAME* subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at >= 0) {
        add_text(names, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    }
    auto* list = static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(list, i);
        if (name->type == GEN_DNS || name->type == GEN_URI) {
            add_text(names,
                     name->type == GEN_DNS ? name->d.dNSName : name->d.uniformResourceIdentifier);
        } else if (name->type == GEN_IPADD) {
            add_ip(names, name->d.iPAddress);
        }
    }
    GENERAL_NAMES_free(list);
    return names;
}

bool name_matches(std::string_view pattern, std::string_view name) {
    if (pattern.starts_with("*.")) {
        const std::size_t dot = name.find('.');
        if (dot == std::string_view::npos || dot == 0) {
            return false;
        }
        pattern.remove_prefix(1);
        name.remove_prefix(dot);
    }
    return std::equal(pattern.begin(), pattern.end(), name.begin(), name.end(), [](char a, char b) {
        const auto lower = [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
        };
        return lower(a) == lower(b);
    });
}

Tls::Tls(const Security& security, Role role)
    : security_(security), role_(role), context_(SSL_CTX_new(TLS_method())) {
    ERR_clear_error();
    if (context_ == nullptr) {
        throw Error(ErrorCode::Unsupported, "OpenSSL: " + openssl_errors());
    }
    SSL_CTX* c = context();
    SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION);
    SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION);
    SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    // No session tickets: a recorded session cannot be resumed or replayed.
    SSL_CTX_set_num_tickets(c, 0);
    SSL_CTX_set_max_early_data(c, 0);
    SSL_CTX_set_default_passwd_cb(c, no_pass_phrase);
    if (security.mode == Security::Mode::Psk) {
        use_psk();
    } else {
        use_certificates();
    }
}

void Tls::use_certificates() {
    SSL_CTX* c = context();
    if (SSL_CTX_use_certificate_chain_file(c, security_.certificate.c_str()) != 1) {
        wrong_file("certificate", security_.certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(c, security_.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        wrong_file("private key (PEM, without a pass phrase)", security_.key);
    }
    if (SSL_CTX_check_private_key(c) != 1) {
        wrong_file("private key does not belong to the certificate:", security_.key);
    }
    if (SSL_CTX_load_verify_file(c, security_.ca.c_str()) != 1) {
        wrong_file("CA certificate", security_.ca);
    }
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

void Tls::use_psk() {
    if (security_.psk.empty()) {
        throw Error(ErrorCode::Argument,
                    "security by a pre-shared key needs a key, and there is none");
    }
    for (const PskKey& key : security_.psk) {
        if (key.identity.empty() || key.identity.size() > 128 || key.key.size() < 16 ||
            key.key.size() > 64) {
            throw Error(
                ErrorCode::Argument,
                "a pre-shared key needs an identity of 1 to 128 bytes and 16 to 64 bytes of key");
        }
    }
    SSL_CTX_set_ciphersuites(context(), psk_suites);
    if (role_ == Role::Client) {
        SSL_CTX_set_psk_use_session_callback(context(), use_session);
    } else {
        SSL_CTX_set_psk_find_session_callback(context(), find_session);
    }
    // In PSK mode a server that presents a certificate does not know the key: verification fails,
    // as there is no CA.
    SSL_CTX_set_verify(context(), role_ == Role::Client ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       nullptr);
}

const PskKey* Tls::find(std::string_view identity) const {
    const auto found = std::find_if(security_.psk.begin(), security_.psk.end(),
                                    [&](const PskKey& key) { return key.identity == identity; });
    return found == security_.psk.end() ? nullptr : &*found;
}

bool Tls::allows(const std::vector<std::string>& names) const {
    const auto& allowed = security_.allowed_peers;
    return allowed.empty() ||
           std::any_of(allowed.begin(), allowed.end(), [&](const std::string& pattern) {
               return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                   return name_matches(pattern, name);
               });
           });
}

TlsFiles::TlsFiles(const Security& security) : security_(security) {
    // Taken before the files are read, so that concurrent changes are detected. It is unknown when
    // the PSK file was read, so that is read again for the first client.
    stamp_ = security_.psk_file.empty() ? stamp() : std::string();
    tls_ = make_tls(security_, Role::Server);
}

std::string TlsFiles::stamp() const {
    std::string text;
    for (const std::string* path :
         {&security_.certificate, &security_.key, &security_.ca, &security_.psk_file}) {
        struct stat s {};
        if (!path->empty() && stat(path->c_str(), &s) == 0) {
            for (const auto number :
                 {static_cast<long long>(s.st_ino), static_cast<long long>(s.st_size),
                  static_cast<long long>(s.st_mtim.tv_sec),
                  static_cast<long long>(s.st_mtim.tv_nsec)}) {
                text += std::to_string(number) + " ";
            }
        }
        text += ";";
    }
    return text;
}

std::shared_ptr<const Tls> TlsFiles::current(std::string* why) {
    constexpr std::chrono::milliseconds between_looks{200};
    const auto now = Clock::now();
    if (tls_ == nullptr || now - looked_ < between_looks) {
        return tls_;
    }
    looked_ = now;
    std::string seen = stamp();
    if (seen == stamp_) {
        return tls_;
    }
    stamp_ = std::move(seen);
    try {
        if (!security_.psk_file.empty()) {
            security_.psk = read_psk_file(security_.psk_file);
        }
        tls_ = make_tls(security_, Role::Server);
    } catch (const Error& error) {
        // During a renewal key and certificate may not match. They are read again at the next
        // change.
        if (why != nullptr) {
            *why = std::string("the changed security files are not used: ") + error.what();
        }
    }
    return tls_;
}

std::shared_ptr<const Tls> make_tls(const Security& security, Role role) {
    return security.on() ? std::make_shared<const Tls>(security, role) : nullptr;
}

}  // namespace qpx::net
