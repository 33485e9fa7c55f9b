// SPDX-License-Identifier: BSD-2-Clause
// A certificate authority for one test: keys and certificates as PEM files in its directory.
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <memory>
#include <string>

#include "qpx/security.h"
#include "temporary.h"

namespace qpx::test {

class Authority {
  public:
    explicit Authority(const std::string& name = "test CA")
        : key_(new_key()), certificate_(X509_new(), X509_free) {
        fill(certificate_.get(), key_.get(), name, 3600);
        extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
        extend(certificate_.get(), NID_key_usage, "critical,keyCertSign");
        X509_sign(certificate_.get(), key_.get(), EVP_sha256());
        write(directory_.path("ca.pem"), certificate_.get(), nullptr);
    }

    std::string ca() const { return directory_.path("ca.pem"); }

    struct Files {
        std::string certificate, key;
    };
    /// @param names in OpenSSL's format, "DNS:a.example,IP:127.0.0.1"; @param seconds of
    /// validity; negative: already expired
    Files issue(const std::string& common_name, const std::string& names,
                long seconds = 3600) const {
        const Key key = new_key();
        const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
        fill(certificate.get(), key.get(), common_name, seconds);
        X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
        if (!names.empty()) {
            extend(certificate.get(), NID_subject_alt_name, names);
        }
        X509_sign(certificate.get(), key_.get(), EVP_sha256());
        const std::string base = directory_.path(std::to_string(++count_));
        write(base + ".pem", certificate.get(), nullptr);
        write(base + ".key", nullptr, key.get());
        return {base + ".pem", base + ".key"};
    }

    const Directory& directory() const { return directory_; }

  private:
    using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;

    static Key new_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

    static void fill(X509* certificate, EVP_PKEY* key, const std::string& name, long seconds) {
        static long serial = 0;
        X509_set_version(certificate, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
        X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
        X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
        X509_set_pubkey(certificate, key);
        X509_NAME* subject = X509_get_subject_name(certificate);
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(name.data()),
                                   static_cast<int>(name.size()), -1, 0);
        X509_set_issuer_name(certificate, subject);
    }

    static void extend(X509* certificate, int nid, const std::string& value) {
        X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }

    static void write(const std::string& path, X509* certificate, EVP_PKEY* key) {
        FILE* file = fopen(path.c_str(), "w");
        if (certificate != nullptr) {
            PEM_write_X509(file, certificate);
        } else {
            PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
        }
        fclose(file);
    }

    Directory directory_;
    Key key_;
    std::unique_ptr<X509, void (*)(X509*)> certificate_;
    mutable int count_ = 0;
};

/// Certificate, key and CA of a server at fixed paths, where they are replaced as by programs that
/// renew certificates.
class RenewedFiles {
  public:
    RenewedFiles(const Authority& authority, const Authority::Files& own) { renew(authority, own); }

    void renew(const Authority& authority, const Authority::Files& own) const {
        replace(own.certificate, security_.certificate);
        replace(own.key, security_.key);
        replace(authority.ca(), security_.ca);
    }
    /// Replaces the file by one that OpenSSL cannot read.
    void spoil(const std::string& path) const {
        replace(directory_.write("spoiled", "no PEM\n"), path);
    }
    void replace(const std::string& from, const std::string& to) const {
        const std::string fresh = directory_.path("fresh");
        std::filesystem::copy_file(from, fresh);
        std::filesystem::rename(fresh, to);
    }

    const Security& security() const { return security_; }

  private:
    static Security at(const Directory& directory) {
        Security security;
        security.mode = Security::Mode::Certificates;
        security.certificate = directory.path("server.pem");
        security.key = directory.path("server.key");
        security.ca = directory.path("ca.pem");
        return security;
    }

    Directory directory_;
    Security security_ = at(directory_);
};

}  // namespace qpx::test
