// SPDX-License-Identifier: BSD-2-Clause
// Options of TLS 1.3. With TLS only the text of a refusal may be sent in clear.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace qpx {

/// A pre-shared key with its identity.
struct PskKey {
    std::string identity{};
    std::vector<std::byte> key{};  ///< 16 to 64 bytes; overwritten by the destructor
    ~PskKey();
};

struct Security {
    enum class Mode {
        None,          ///< no TLS: rkeys and addresses are readable on the network
        Certificates,  ///< both sides present a certificate signed by `ca`
        Psk,           ///< both sides know a key
    };
    Mode mode = Mode::None;

    // Certificates: PEM files. A listener and qpxd reload them when they change.
    std::string certificate{};  ///< followed by its chain
    std::string key{};
    std::string ca{};
    /// Accepted identities of the other side: common names or subject alternative names (DNS, IP,
    /// URI), "*" for one DNS label. Empty: a client requires the name that it connects to, a server
    /// accepts every identity signed by the CA.
    std::vector<std::string> allowed_peers{};

    // Psk: a client uses the first key, a server accepts all. allowed_peers restricts identities.
    std::vector<PskKey> psk{};
    /// File of the keys, which a listener and qpxd reload when it changes. Empty: none.
    std::string psk_file{};

    bool on() const noexcept { return mode != Mode::None; }
};

/// Parses "none", "psk:FILE" or "tls:CERT,KEY,CA[,ALLOWED...]".
/// @throws Error(Argument): missing or invalid files
Security parse_security(std::string_view text);

/// Reads lines "identity:hexadecimal key"; '#' begins a comment. @throws Error(Argument), also if
/// others have permissions, except that a file in $CREDENTIALS_DIRECTORY may be group-readable
std::vector<PskKey> read_psk_file(const std::string& path);

}  // namespace qpx
#pragma GCC visibility pop
