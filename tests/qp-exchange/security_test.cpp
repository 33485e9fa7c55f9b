// SPDX-License-Identifier: BSD-2-Clause
// Tests of the users' security options, and of key files that must be refused.
#include "qpx/security.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "temporary.h"

namespace qpx {
namespace {

using test::expect_error;

constexpr const char* key32 = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";

TEST(ParseSecurity, TakesItsThreeForms) {
    const test::Directory directory;
    const std::string file =
        directory.write("keys", std::string("# ours\n\nnode:a:") + key32 + "\r\nb:" + key32 + "\n");
    EXPECT_FALSE(parse_security("none").on());
    const Security psk = parse_security("psk:" + file);
    ASSERT_EQ(psk.psk.size(), 2U);
    EXPECT_EQ(psk.psk[0].identity, "node:a");
    EXPECT_EQ(psk.psk[0].key.size(), 32U);
    EXPECT_EQ(psk.psk[0].key[26], std::byte{0x1a});
    const Security tls = parse_security("tls:cert.pem,key.pem,ca.pem,a.example,*.b.example");
    EXPECT_EQ(tls.mode, Security::Mode::Certificates);
    EXPECT_EQ(tls.certificate, "cert.pem");
    EXPECT_EQ(tls.key, "key.pem");
    EXPECT_EQ(tls.ca, "ca.pem");
    EXPECT_EQ(tls.allowed_peers, (std::vector<std::string>{"a.example", "*.b.example"}));
}

TEST(ParseSecurity, OtherFormsAreAnsweredWithTheRightOnes) {
    for (const char* text : {"", "ssl", "tls:", "tls:a,b", "tls:a,,c", "psk"}) {
        SCOPED_TRACE(text);
        expect_error(ErrorCode::Argument, "psk:FILE", [&] { parse_security(text); });
    }
}

TEST(PskFile, ThatWasOpenedIsTheOneWhoseRightsAreLookedAt) {
    const test::Directory directory;
    const std::string path = directory.write("k", std::string("a:") + key32 + "\n");
    const int fd = ::open(path.c_str(), O_RDONLY);
    ASSERT_GE(fd, 0);
    ::unlink(path.c_str());
    const std::string again = "/proc/self/fd/" + std::to_string(fd);
    EXPECT_EQ(read_psk_file(again).at(0).identity, "a");
    ::fchmod(fd, 0644);
    expect_error(ErrorCode::Argument, "chmod 600", [&] { read_psk_file(again); });
    ::close(fd);
}

TEST(PskFile, ThatOthersCanReadIsNotUsed) {
    const test::Directory directory;
    const std::string line = std::string("a:") + key32;
    expect_error(ErrorCode::Argument, "chmod 600",
                 [&] { read_psk_file(directory.write("k", line, 0640)); });
    expect_error(ErrorCode::Argument, "chmod 600",
                 [&] { read_psk_file(directory.write("k", line, 0604)); });
}

TEST(PskFile, OfSystemdMayHaveAnAcl) {
    const test::Directory credentials, elsewhere;
    const std::string line = std::string("a:") + key32;
    const std::string key = credentials.write("keys", line, 0440);
    expect_error(ErrorCode::Argument, "chmod 600", [&] { read_psk_file(key); });
    ::setenv("CREDENTIALS_DIRECTORY", credentials.path("").c_str(), 1);
    EXPECT_EQ(read_psk_file(key).at(0).identity, "a");
    for (const mode_t mode : {0444U, 0460U, 0450U}) {
        ::chmod(key.c_str(), mode);
        expect_error(ErrorCode::Argument, "chmod 600", [&] { read_psk_file(key); });
    }
    const std::string other = elsewhere.write("keys", line, 0440);
    const std::string way = credentials.path(
        "../" + std::filesystem::path(other).parent_path().filename().string() + "/keys");
    for (const std::string& path : {other, way}) {
        expect_error(ErrorCode::Argument, "chmod 600", [&] { read_psk_file(path); });
    }
    ::unsetenv("CREDENTIALS_DIRECTORY");
}

TEST(PskFile, ErrorsNameTheLineAndNotTheKey) {
    const test::Directory directory;
    const std::pair<std::string, const char*> cases[] = {
        {"a:00112233", "4 bytes; 16 to 64"},
        {std::string("a:") + key32 + "0", "even number"},
        {std::string("a:") + key32 + "zz", "even number"},
        {key32, "expected identity:key"},
        {std::string(":") + key32, "expected identity:key"},
        {"# nothing\n", "has no key"},
        {std::string(129, 'i') + ":" + key32, "128 bytes"},
    };
    for (const auto& [content, words] : cases) {
        SCOPED_TRACE(content);
        try {
            read_psk_file(directory.write("k", content));
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
            EXPECT_EQ(std::string(error.what()).find("00010203"), std::string::npos)
                << error.what();
        }
    }
    expect_error(ErrorCode::Argument, "No such file",
                 [&] { read_psk_file(directory.path("absent")); });
}

}  // namespace
}  // namespace qpx
