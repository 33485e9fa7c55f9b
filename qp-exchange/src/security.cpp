// SPDX-License-Identifier: BSD-2-Clause
#include "qpx/security.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "net/fd.h"
#include "qpx/error.h"
#include "wire/text.h"

namespace qpx {

namespace {

constexpr std::size_t min_key = 16, max_key = 64, max_key_file = 1 << 20;

/// Text whose memory is always overwritten before it is freed.
struct Secret {
    std::string value{};

    void append(const char* text, std::size_t count) {
        if (value.capacity() - value.size() < count) {
            std::string larger;
            larger.reserve(2 * (value.size() + count));
            larger = value;
            larger.swap(value);
            OPENSSL_cleanse(larger.data(), larger.size());
        }
        value.append(text, count);
    }
    ~Secret() { OPENSSL_cleanse(value.data(), value.size()); }
};

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t comma = text.find(',');
        parts.emplace_back(text.substr(0, comma));
        if (comma == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(comma + 1);
    }
}

/// Returns the bits of a key file's mode that must be 0. systemd lets a service's user read a
/// credential by an ACL, whose mask stat() shows as the group's bits.
mode_t forbidden_bits(const std::string& path) {
    constexpr mode_t others = S_IRWXG | S_IRWXO;
    const char* credentials = secure_getenv("CREDENTIALS_DIRECTORY");
    std::error_code ignored;
    const bool credential = credentials != nullptr &&
                            std::filesystem::equivalent(std::filesystem::path(path).parent_path(),
                                                        credentials, ignored);
    return credential ? others & ~mode_t{S_IRGRP} : others;
}

PskKey parse_line(std::string_view line, const std::string& where) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        throw Error(ErrorCode::Argument, where + ": expected identity:key");
    }
    PskKey key = {std::string(line.substr(0, colon)), {}};
    key.key.reserve(max_key);  // reallocation would leave copies in memory
    const std::string_view digits = line.substr(colon + 1);
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        const int high = wire::hex_digit(digits[i]),
                  low = i + 1 < digits.size() ? wire::hex_digit(digits[i + 1]) : -1;
        if (high < 0 || low < 0) {
            // The line is secret: it must not appear in the error.
            throw Error(ErrorCode::Argument,
                        where + ": the key is not an even number of hexadecimal digits");
        }
        if (key.key.size() == max_key) {
            throw Error(ErrorCode::Argument,
                        where + ": the key has more than 64 bytes (openssl rand -hex 32)");
        }
        key.key.push_back(static_cast<std::byte>(high * 16 + low));
    }
    if (key.key.size() < min_key || key.key.size() > max_key) {
        throw Error(ErrorCode::Argument, where + ": the key has " + std::to_string(key.key.size()) +
                                             " bytes; 16 to 64 are needed (openssl rand -hex 32)");
    }
    if (key.identity.size() > 128) {
        throw Error(ErrorCode::Argument, where + ": the identity has more than 128 bytes");
    }
    return key;
}

}  // namespace

PskKey::~PskKey() {
    OPENSSL_cleanse(key.data(), key.size());
}

std::vector<PskKey> read_psk_file(const std::string& path) {
    const net::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto failed = [&] {
        return Error(ErrorCode::Argument,
                     "key file " + path + ": " + std::system_category().message(errno));
    };
    // fstat() the open file: the path could have been replaced.
    struct stat status {};
    if (file.get() < 0 || fstat(file.get(), &status) != 0) {
        throw failed();
    }
    if ((status.st_mode & forbidden_bits(path)) != 0) {
        throw Error(ErrorCode::Argument,
                    "key file " + path + " can be used by other users: chmod 600 " + path);
    }
    Secret text;
    std::array<char, 4096> piece{};
    for (;;) {
        const ssize_t count = read(file.get(), piece.data(), piece.size());
        if (count < 0) {
            throw failed();
        }
        if (count == 0) {
            break;
        }
        if (text.value.size() + static_cast<std::size_t>(count) > max_key_file) {
            throw Error(ErrorCode::Argument, "key file " + path + " is above 1 MiB");
        }
        text.append(piece.data(), static_cast<std::size_t>(count));
    }
    OPENSSL_cleanse(piece.data(), piece.size());
    std::vector<PskKey> keys;
    std::string_view rest = text.value;
    for (int number = 1; !rest.empty(); ++number) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
        if (!line.empty() && line.front() != '#') {
            keys.push_back(parse_line(line, path + " line " + std::to_string(number)));
        }
    }
    if (keys.empty()) {
        throw Error(ErrorCode::Argument,
                    "key file " + path + " has no key: a line is identity:hexadecimal digits");
    }
    return keys;
}

Security parse_security(std::string_view text) {
    Security security;
    if (text == "none") {
        return security;
    }
    if (text.starts_with("psk:")) {
        security.mode = Security::Mode::Psk;
        security.psk_file = std::string(text.substr(4));
        security.psk = read_psk_file(security.psk_file);
        return security;
    }
    if (text.starts_with("tls:")) {
        const std::vector<std::string> parts = split(text.substr(4));
        if (parts.size() >= 3 && !parts[0].empty() && !parts[1].empty() && !parts[2].empty()) {
            security.mode = Security::Mode::Certificates;
            security.certificate = parts[0];
            security.key = parts[1];
            security.ca = parts[2];
            security.allowed_peers.assign(parts.begin() + 3, parts.end());
            return security;
        }
    }
    throw Error(ErrorCode::Argument,
                "unknown security \"" + std::string(text) +
                    "\": use none, psk:FILE or tls:CERTIFICATE,KEY,CA[,ALLOWED PEER...]");
}

}  // namespace qpx
