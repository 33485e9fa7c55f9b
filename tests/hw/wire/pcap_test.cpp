// SPDX-License-Identifier: BSD-2-Clause
#include <pcap/pcap.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support.h"

namespace dingo::test {
namespace {

class Pcap : public ::testing::Test {
  protected:
    Pcap() {
        char name[] = "/tmp/dingo-pcap-XXXXXX";
        dir_ = ::mkdtemp(name);
        options_.pcap = dir_ + "/wire.pcap";
    }
    ~Pcap() override { std::filesystem::remove_all(dir_); }

    std::vector<Frame> read() const {
        std::vector<Frame> out;
        std::array<char, PCAP_ERRBUF_SIZE> error{};
        pcap_t* p = pcap_open_offline_with_tstamp_precision(
            options_.pcap.c_str(), PCAP_TSTAMP_PRECISION_NANO, error.data());
        if (p == nullptr) {
            ADD_FAILURE() << error.data();
            return out;
        }
        EXPECT_EQ(pcap_datalink(p), DLT_EN10MB);
        pcap_pkthdr* header = nullptr;
        const u_char* data = nullptr;
        int rc = 0;
        while ((rc = pcap_next_ex(p, &header, &data)) == 1) {
            EXPECT_EQ(header->caplen, header->len);
            const auto* bytes = reinterpret_cast<const std::byte*>(data);
            out.emplace_back(bytes, bytes + header->caplen);
        }
        EXPECT_EQ(rc, PCAP_ERROR_BREAK) << pcap_geterr(p);  // the regular end of a savefile
        pcap_close(p);
        return out;
    }

    std::string dir_;
    WireOptions options_;
};

TEST_F(Pcap, BothDirectionsAreRecorded) {
    const Frame there = write_frame(1, 1);
    const Frame back = roce_frame("RC_ACKNOWLEDGE qpn=2 psn=1 syndrome=ack msn=1");
    {
        auto [first, second] = make_loop_pair();
        const auto a = wrap_wire(std::move(first), options_);
        EXPECT_EQ(pass(*a, *second, {there}).size(), 1U);
        EXPECT_EQ(pass(*second, *a, {back}).size(), 1U);
    }
    EXPECT_EQ(read(), (std::vector<Frame>{there, back}));
}

TEST_F(Pcap, RecordsWhatIsOnTheWireAfterTheFaults) {
    options_.faults = "drop:psn=1;duplicate:psn=2;drop:dir=rx";
    {
        auto [first, second] = make_loop_pair();
        const auto a = wrap_wire(std::move(first), options_);
        for (unsigned psn = 0; psn < 4; psn++)
            send(*a, write_frame(1, psn));
        EXPECT_TRUE(pass(*second, *a, {write_frame(1, 9)}, 0).empty());
    }
    EXPECT_EQ(psns(read()), (std::vector<unsigned>{0, 2, 2, 3, 9}));
}

TEST_F(Pcap, FileOfAKilledProcessIsReadable) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto [first, second] = make_loop_pair();
        const auto a = wrap_wire(std::move(first), options_);
        KeepingSink sink;
        for (unsigned i = 0; i < 3000; i++) {
            send(*a, write_frame(1, i, 1024));
            second->receive(sink, 8);
        }
        a->advance(1);
        a->advance(a->next_deadline());
        send(*a, write_frame(1, 3000, 1024));
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(read().size(), 3000U);
}

TEST_F(Pcap, DeadlineIsOnlyThereWhileSomethingIsUnwritten) {
    auto [first, second] = make_loop_pair();
    const auto a = wrap_wire(std::move(first), options_);
    a->advance(1'000);
    EXPECT_EQ(a->next_deadline(), kNever);
    send(*a, write_frame(1, 1));
    const Nanoseconds deadline = a->next_deadline();
    EXPECT_GT(deadline, 1'000U);
    EXPECT_LE(deadline, 1'000'000'000U);
    a->advance(deadline);
    EXPECT_EQ(a->next_deadline(), kNever);
    EXPECT_EQ(read().size(), 1U);
}

TEST_F(Pcap, TsharkReadsItAsRoce) {
    if (std::system("command -v tshark >/dev/null") != 0)
        GTEST_SKIP() << "no tshark here";
    {
        auto [first, second] = make_loop_pair();
        const auto a = wrap_wire(std::move(first), options_);
        send(*a,
             roce_frame("RC_RDMA_WRITE_ONLY qpn=17 psn=5 va=0 rkey=1 len=64 payload=pattern:64"));
    }
    const std::string command = fmt::format(
        "tshark -r {} -T fields -e infiniband.bth.destqp -e infiniband.bth.psn -e _ws.malformed "
        "2>/dev/null",
        options_.pcap);
    std::FILE* out = ::popen(command.c_str(), "r");
    ASSERT_NE(out, nullptr);
    std::array<char, 256> line{};
    EXPECT_NE(std::fgets(line.data(), line.size(), out), nullptr);
    ::pclose(out);
    EXPECT_EQ(std::string(line.data()), "0x000011\t5\t\n");
}

TEST_F(Pcap, UnwritableFileIsRefusedWithItsName) {
    options_.pcap = "/no/such/dir/x.pcap";
    expect_contains(error_of([&] { make_wire(options_); }), "'/no/such/dir/x.pcap': No such file");
}

}  // namespace
}  // namespace dingo::test
