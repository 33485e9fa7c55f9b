// SPDX-License-Identifier: BSD-2-Clause
#include "qpx/security.h"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "qpx/error.h"

namespace qpx {

namespace {

constexpr std::size_t min_key = 16, max_key = 64;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

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

PskKey parse_line(const std::string& line, const std::string& where) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        throw Error(ErrorCode::Argument, where + ": expected identity:key");
    }
    PskKey key = {line.substr(0, colon), {}};
    const std::string digits = line.substr(colon + 1);
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        const int high = hex_digit(digits[i]),
                  low = i + 1 < digits.size() ? hex_digit(digits[i + 1]) : -1;
        if (high < 0 || low < 0) {
            // The line is a secret: it is not shown.
            throw Error(ErrorCode::Argument,
                        where + ": the key is no even number of hexadecimal digits");
        }
        key.key.push_back(static_cast<std::byte>(high * 16 + low));
    }
    if (key.key.size() < min_key || key.key.size() > max_key) {
        throw Error(ErrorCode::Argument, where + ": the key has " + std::to_string(key.key.size()) +
                                             " bytes; 16 to 64 are wanted (openssl rand -hex 32)");
    }
    if (key.identity.size() > 128) {
        throw Error(ErrorCode::Argument, where + ": the identity has more than 128 bytes");
    }
    return key;
}

}  // namespace

std::vector<PskKey> read_psk_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw Error(ErrorCode::Argument,
                    "key file " + path + ": " + std::system_category().message(errno));
    }
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw Error(ErrorCode::Argument,
                    "key file " + path + " can be used by other users: chmod 600 " + path);
    }
    std::vector<PskKey> keys;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        line.erase(line.find_last_not_of(" \t\r") + 1);
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
        security.psk = read_psk_file(std::string(text.substr(4)));
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
                "security \"" + std::string(text) +
                    "\" is none of none, psk:FILE, tls:CERTIFICATE,KEY,CA[,ALLOWED PEER...]");
}

}  // namespace qpx
