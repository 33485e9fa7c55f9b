// SPDX-License-Identifier: BSD-2-Clause
// TLS 1.3 or nothing. With either mode nothing of qpx but a refusal's text goes in clear.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace qpx {

/// A secret that both sides know, under a name.
struct PskKey {
    std::string identity{};
    std::vector<std::byte> key{};  ///< 16 to 64 bytes; overwritten at the end
    ~PskKey();
};

struct Security {
    enum class Mode {
        None,          ///< no TLS: rkeys and addresses are readable on the network
        Certificates,  ///< both sides show a certificate that `ca` signed
        Psk,           ///< both sides know a key
    };
    Mode mode = Mode::None;

    // Certificates: PEM files. A listener and qpxd read them again when they have changed.
    std::string certificate{};  ///< with the chain behind it
    std::string key{};
    std::string ca{};
    /// Accepted identities of the other side: common names or subject alternative names (DNS, IP,
    /// URI), "*" for one DNS label. Empty: a client wants the name it connects to, a server accepts
    /// every identity that the CA signed.
    std::vector<std::string> allowed_peers{};

    // Psk: a client shows the first, a server takes all. allowed_peers narrows to these identities.
    std::vector<PskKey> psk{};
    /// Where the keys came from: a listener and qpxd read it again when it has changed. Empty:
    /// nowhere.
    std::string psk_file{};

    bool on() const noexcept { return mode != Mode::None; }
};

/// "none", "psk:FILE" or "tls:CERT,KEY,CA[,ALLOWED...]". @throws Error(Argument): files that are
/// absent or wrong
Security parse_security(std::string_view text);

/// Lines "identity:hexadecimal key", '#' comments. @throws Error(Argument), also when others can
/// read the file
std::vector<PskKey> read_psk_file(const std::string& path);

}  // namespace qpx
#pragma GCC visibility pop
