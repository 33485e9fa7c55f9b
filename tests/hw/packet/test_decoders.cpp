// SPDX-License-Identifier: BSD-2-Clause
//
// Two independent decoders read our frames: tshark all fields, scapy the BTH and the ICRC. Skipped
// if they are not installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "support.h"

namespace dingo::packet {
namespace {

struct Sample {
    NetworkPath path;
    TransportHeaders headers;
    std::vector<std::byte> frame;
};

/// One frame of each opcode on each kind of path.
std::vector<Sample> samples() {
    test::Random random(1);
    std::vector<Sample> all;
    test::for_each_path_kind([&](L3Kind l3, bool vlan) {
        for (Opcode op : test::all_opcodes()) {
            const std::size_t n = traits(op).carries_payload ? 30 + random() % 4 : 0;
            Sample s;
            s.path = test::random_path(random, l3, vlan);
            s.headers = test::random_headers(random, op, n);
            s.frame = test::make_frame(s.path, s.headers, test::random_bytes(random, n));
            all.push_back(std::move(s));
        }
    });
    return all;
}

/// A temporary file, removed by the destructor.
class Capture {
  public:
    explicit Capture(const std::vector<Sample>& frames)
        : path_(testing::TempDir() + "dingo_packet_" + std::to_string(getpid()) + ".pcap") {
        std::ofstream out(path_, std::ios::binary);
        put32(out, 0xa1b2c3d4);   // pcap, microseconds
        put32(out, 2 | 4 << 16);  // version 2.4
        put32(out, 0);
        put32(out, 0);
        put32(out, 65535);
        put32(out, 1);  // Ethernet
        for (const Sample& s : frames) {
            put32(out, 0);
            put32(out, 0);
            put32(out, static_cast<std::uint32_t>(s.frame.size()));
            put32(out, static_cast<std::uint32_t>(s.frame.size()));
            out.write(reinterpret_cast<const char*>(s.frame.data()),
                      static_cast<std::streamsize>(s.frame.size()));
        }
    }
    ~Capture() { std::remove(path_.c_str()); }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    const std::string& path() const { return path_; }

  private:
    static void put32(std::ofstream& out, std::uint32_t v) {
        out.write(reinterpret_cast<const char*>(&v), sizeof v);
    }
    std::string path_;
};

/// Returns the output lines of a shell command, and its exit status.
std::vector<std::string> run(const std::string& command, int& status) {
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        status = -1;
        return {};
    }
    std::string text;
    std::array<char, 4096> chunk;
    for (std::size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
        text.append(chunk.data(), n);
    const int raw = pclose(pipe);
    status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

std::vector<std::string> split(const std::string& line, char separator) {
    std::vector<std::string> parts(1);
    for (char c : line)
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

/// Parses the number in a tshark field: decimal, hexadecimal or True/False.
std::uint64_t number(const std::string& text) {
    if (text == "True" || text == "False")
        return text == "True";
    return std::strtoull(text.c_str(), nullptr, 0);
}

#define REQUIRE_TSHARK()                                                    \
    do {                                                                    \
        if (std::system("command -v tshark >/dev/null 2>&1") != 0)          \
            GTEST_SKIP() << "tshark is not installed (apt install tshark)"; \
    } while (false)

TEST(Decoders, TsharkFindsNothingMalformed) {
    REQUIRE_TSHARK();
    const auto all = samples();
    const Capture capture(all);
    int status = 0;
    const auto roce = run("tshark -r " + capture.path() + " -Y infiniband.bth 2>/dev/null", status);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(roce.size(), all.size());
    // RoCE v2 leaves the UDP checksum zero, over IPv6 too, which tshark reports as an error of UDP.
    const auto bad = run("tshark -r " + capture.path() +
                             " -o ip.check_checksum:TRUE -Y '_ws.malformed || _ws.short || "
                             "(_ws.expert.severity == error && !udp.checksum.zero)' 2>/dev/null",
                         status);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(bad.empty()) << bad.front();
}

TEST(Decoders, TsharkReadsTheFieldsThatWeWrote) {
    REQUIRE_TSHARK();
    const auto all = samples();
    const Capture capture(all);
    struct Field {
        const char* name;
        std::uint8_t extension;  // 0: every packet has it
        std::uint64_t (*value)(const TransportHeaders&);
    };
    const Field fields[] = {
        {"infiniband.bth.opcode", 0,
         [](auto& h) { return static_cast<std::uint64_t>(h.bth.opcode); }},
        {"infiniband.bth.se", 0, [](auto& h) { return std::uint64_t{h.bth.solicited}; }},
        {"infiniband.bth.m", 0, [](auto& h) { return std::uint64_t{h.bth.migreq}; }},
        {"infiniband.bth.padcnt", 0, [](auto& h) { return std::uint64_t{h.bth.pad}; }},
        {"infiniband.bth.p_key", 0, [](auto& h) { return std::uint64_t{h.bth.pkey}; }},
        {"infiniband.bth.destqp", 0, [](auto& h) { return std::uint64_t{h.bth.dest_qp}; }},
        {"infiniband.bth.a", 0, [](auto& h) { return std::uint64_t{h.bth.ack_req}; }},
        {"infiniband.bth.psn", 0, [](auto& h) { return std::uint64_t{h.bth.psn}; }},
        {"infiniband.deth.q_key", ext::kDeth, [](auto& h) { return std::uint64_t{h.deth.qkey}; }},
        {"infiniband.deth.srcqp", ext::kDeth, [](auto& h) { return std::uint64_t{h.deth.src_qp}; }},
        {"infiniband.reth.va", ext::kReth | ext::kAtomicEth,
         [](auto& h) { return h.reth.va + h.atomic_eth.va; }},  // one of them is zero
        {"infiniband.reth.r_key", ext::kReth | ext::kAtomicEth,
         [](auto& h) { return std::uint64_t{h.reth.rkey} + h.atomic_eth.rkey; }},
        {"infiniband.reth.dmalen", ext::kReth,
         [](auto& h) { return std::uint64_t{h.reth.length}; }},
        {"infiniband.aeth.syndrome", ext::kAeth,
         [](auto& h) { return std::uint64_t{h.aeth.syndrome}; }},
        {"infiniband.aeth.msn", ext::kAeth, [](auto& h) { return std::uint64_t{h.aeth.msn}; }},
        {"infiniband.atomiceth.swapdt", ext::kAtomicEth,
         [](auto& h) { return h.atomic_eth.swap_add; }},
        {"infiniband.atomiceth.cmpdt", ext::kAtomicEth,
         [](auto& h) { return h.atomic_eth.compare; }},
        {"infiniband.atomicacketh.origremdt", ext::kAtomicAckEth,
         [](auto& h) { return h.atomic_original; }},
    };
    std::string command = "tshark -r " + capture.path() + " -T fields";
    for (const Field& field : fields)
        command += std::string(" -e ") + field.name;
    int status = 0;
    const auto lines = run(command + " 2>/dev/null", status);
    ASSERT_EQ(status, 0);
    ASSERT_EQ(lines.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const TransportHeaders& h = all[i].headers;
        const auto columns = split(lines[i], '\t');
        ASSERT_EQ(columns.size(), std::size(fields));
        for (std::size_t f = 0; f < std::size(fields); ++f) {
            SCOPED_TRACE(std::string(name(h.bth.opcode)) + " " + fields[f].name);
            const std::uint8_t extension = fields[f].extension;
            if (extension != 0 && !traits(h.bth.opcode).has(extension))
                continue;
            EXPECT_FALSE(columns[f].empty());
            EXPECT_EQ(number(columns[f]), fields[f].value(h)) << columns[f];
        }
    }
}

TEST(Decoders, ScapyReadsTheBthAndComputesOurIcrc) {
    const auto all = samples();
    const Capture capture(all);
    // Debian's packages need Debian's interpreter, which may not be the first in PATH.
    int status = 77;
    std::vector<std::string> lines;
    for (const char* python : {"/usr/bin/python3", "python3"}) {
        lines =
            run(std::string(python) + " " DINGO_SCAPY_CHECK " " + capture.path() + " 2>/dev/null",
                status);
        if (status == 0)
            break;
    }
    if (status == 77 || status == 127)
        GTEST_SKIP() << "scapy is not installed (apt install python3-scapy)";
    ASSERT_EQ(status, 0);
    ASSERT_EQ(lines.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Bth& b = all[i].headers.bth;
        std::ostringstream expected;
        expected << static_cast<unsigned>(b.opcode) << ' ' << b.migreq << ' ' << b.solicited << ' '
                 << unsigned{b.pad} << ' ' << b.pkey << ' ' << b.fecn << ' ' << b.becn << ' '
                 << b.dest_qp << ' ' << b.ack_req << ' ' << b.psn << ' ';
        for (std::size_t k = all[i].frame.size() - kIcrcBytes; k < all[i].frame.size(); ++k) {
            std::array<char, 3> hex;
            std::snprintf(hex.data(), hex.size(), "%02x",
                          std::to_integer<unsigned>(all[i].frame[k]));
            expected << hex.data();
        }
        EXPECT_EQ(lines[i], expected.str()) << name(b.opcode);
    }
}

}  // namespace
}  // namespace dingo::packet
