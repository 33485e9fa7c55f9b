// SPDX-License-Identifier: BSD-2-Clause
// dingo p2p with a tree of files in place of /sys and /proc, and a simulated kernel that reacts to
// writes.
#include "app/cli/p2p_cards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/error.h"
#include "app/cli/p2p_report.h"

namespace dingo::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kAddress = "0000:03:00.0";
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::size_t kControl = 0x108;  // control register of the Resizable BAR capability

struct TreeOfFiles {
    TreeOfFiles() {
        std::string pattern = fs::temp_directory_path() / "dingo-p2p-XXXXXX";
        root = ::mkdtemp(pattern.data());
    }
    ~TreeOfFiles() { fs::remove_all(root); }
    TreeOfFiles(const TreeOfFiles&) = delete;
    TreeOfFiles& operator=(const TreeOfFiles&) = delete;
    fs::path root;
};

/// A card of 16 GiB at a root port, whose BAR can have 256 MiB (bit 8) to 16 GiB.
class FakeKernel : private TreeOfFiles, public KernelFiles {
  public:
    FakeKernel() : KernelFiles(TreeOfFiles::root) {
        const fs::path device = at("sys/devices/pci0000:00/0000:00:04.0") / kAddress;
        for (const char* directory : {"dingo", "p2pmem", "infiniband/rocep3s0"})
            fs::create_directories(device / directory);
        fs::create_directories(at("sys/bus/pci/devices"));
        fs::create_directories(at("sys/bus/pci/drivers/dingo"));
        fs::create_directories(at("proc"));
        fs::create_symlink(device, at("sys/bus/pci/devices") / kAddress);
        fs::create_symlink(device.parent_path(), at("sys/bus/pci/devices/0000:00:04.0"));
        put("vendor", "0x1234");
        put("device", "0xd160");
        put("resource4_resize", "0000000000007f00");
        put("dingo/card_memory", std::to_string(16 * kGiB));
        put("dingo/memory_counts", "0");
        put("dingo/p2p_users", "");
        put("p2pmem/size", "0");
        put("p2pmem/available", "0");
        std::ofstream(at("proc/iomem")) << "00000000-0009fbff : System RAM\n"
                                           "c0000000-febfffff : PCI Bus 0000:00\n"
                                           "  fe800000-fe80ffff : PCI Bus 0000:03\n"
                                           "4000000000-7fffffffff : PCI Bus 0000:00\n";
        std::string config(4096, '\0');
        const std::uint32_t header = 0x15 | 1 << 16;
        const std::uint32_t control = 4 | 1 << 5 | 8 << 8;
        config[4] = 7;  // command: I/O, memory, bus master
        config.replace(0x100, 4, reinterpret_cast<const char*>(&header), 4);
        config.replace(kControl, 4, reinterpret_cast<const char*>(&control), 4);
        std::ofstream(of("config"), std::ios::binary) << config;
        bind();
        bar(0xd0000000, kGiB / 4);
        put("dingo/p2p", "false");
    }

    [[nodiscard]] fs::path of(const std::string& name) const {
        return at("sys/bus/pci/devices") / kAddress / name;
    }
    void put(const std::string& name, const std::string& text) {
        std::ofstream(of(name)) << text << '\n';
    }
    void bar(std::uint64_t start, std::uint64_t size) {
        std::string lines;
        for (int i = 0; i < 4; ++i)
            lines += "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
        put("resource",
            lines + fmt::format("{:#018x} {:#018x} 0x000000000014220c", start, start + size - 1));
    }
    void bind() {
        fs::remove(of("driver"));
        fs::create_directory_symlink(at("sys/bus/pci/drivers/dingo"), of("driver"));
    }
    void on() {
        bar(0x4000000000, 16 * kGiB);
        put("dingo/p2p", "true");
        put("p2pmem/size", std::to_string(16 * kGiB));
        put("p2pmem/available", std::to_string(16 * kGiB));
    }
    /// Bits 13:8: the size that the card has stored.
    [[nodiscard]] unsigned remembered() const {
        std::ifstream file(of("config"), std::ios::binary);
        file.seekg(kControl + 1);
        return static_cast<unsigned>(file.get()) & 0x3F;
    }

    /// Returns true if the function responds to accesses to its BARs.
    [[nodiscard]] bool decodes() const {
        std::ifstream file(of("config"), std::ios::binary);
        file.seekg(4);
        return (file.get() & 2) != 0;
    }

    int write(const fs::path& path, const std::string& text) override {
        const std::string name = path.filename();
        log.push_back(name + "=" + text);
        if (const auto answer = answers.find(name); answer != answers.end())
            return answer->second(text);
        if (name == "p2p")
            put("dingo/p2p", text == "1" ? "true" : "false");
        return 0;
    }
    P2pCard card() { return p2p_card(*this, ""); }

    std::map<std::string, std::function<int(const std::string&)>> answers;
    std::vector<std::string> log;
};

struct DingoP2p : ::testing::Test {
    std::string refusal(const std::function<void()>& action) {
        try {
            action();
        } catch (const Error& error) {
            return error.what();
        }
        return "no error";
    }
    FakeKernel kernel;
};

TEST_F(DingoP2p, PowerUpThenWarmReboot) {
    EXPECT_EQ(kernel.card().state, "false");
    kernel.answers["resource4_resize"] = [](const std::string&) { return ENOSPC; };
    const std::string text = refusal([&] { p2p_enable(kernel, kernel.card(), false); });
    EXPECT_THAT(text, HasSubstr("no free address space of 16 GiB now. Do a warm reboot"));
    EXPECT_THAT(text, HasSubstr("enable -f"));
    EXPECT_THAT(text, HasSubstr("has no driver until then"));
    EXPECT_THAT(kernel.log, ElementsAre("unbind=0000:03:00.0", "resource4_resize=14"))
        << "a driver would have the kernel write the old size";
    EXPECT_EQ(kernel.remembered(), 14u) << "for the BIOS, at the reboot";
    EXPECT_FALSE(kernel.decodes()) << "its window is larger than what is its own";
    // Until the reboot, the new size has no address.
    kernel.bar(0, 16 * kGiB);
    kernel.put("dingo/p2p", "no iomem");
    EXPECT_THAT(p2p_advice(kernel.card()), HasSubstr("warm reboot"));
    kernel.log.clear();
    const std::string again = refusal([&] { p2p_enable(kernel, kernel.card(), false); });
    EXPECT_THAT(again, HasSubstr("warm reboot"));
    EXPECT_THAT(again, Not(HasSubstr("has no driver until then"))) << "nothing took it away";
    EXPECT_TRUE(kernel.log.empty());
    kernel.on();  // the reboot
    EXPECT_EQ(kernel.card().state, "true");
    EXPECT_EQ(p2p_advice(kernel.card()), "");
}

TEST_F(DingoP2p, RefusedSizeLeavesTheCardToItsDriver) {
    kernel.answers["resource4_resize"] = [](const std::string&) { return EINVAL; };
    EXPECT_THAT(refusal([&] { p2p_enable(kernel, kernel.card(), false); }),
                HasSubstr("resizing BAR 4"));
    EXPECT_THAT(kernel.log,
                ElementsAre("unbind=0000:03:00.0", "resource4_resize=14", "bind=0000:03:00.0"));
    EXPECT_EQ(kernel.remembered(), 8u);
    EXPECT_TRUE(kernel.decodes());
}

TEST_F(DingoP2p, RoomInTheBridgesNeedsNoReboot) {
    kernel.answers["resource4_resize"] = [&](const std::string&) {
        kernel.bar(0x4000000000, 16 * kGiB);
        return 0;
    };
    EXPECT_EQ(p2p_enable(kernel, kernel.card(), false), "peer to peer of 0000:03:00.0 is on");
    EXPECT_EQ(kernel.card().state, "true");
    EXPECT_EQ(kernel.card().bar, 16 * kGiB);
}

TEST_F(DingoP2p, TooLittleIoMemoryIsTheBiossBusiness) {
    std::ofstream(kernel.at("proc/iomem")) << "c0000000-febfffff : PCI Bus 0000:00\n";
    const std::string text = refusal([&] { p2p_enable(kernel, kernel.card(), true); });
    EXPECT_THAT(text, HasSubstr("not enough I/O memory"));
    EXPECT_THAT(text, HasSubstr("Above 4G decoding"));
    EXPECT_TRUE(kernel.log.empty()) << "nothing was tried";
}

TEST_F(DingoP2p, OffAtOnceAndOnAgainWithoutReboot) {
    kernel.on();
    EXPECT_EQ(p2p_disable(kernel, kernel.card(), false), "peer to peer of 0000:03:00.0 is off");
    EXPECT_EQ(kernel.card().state, "false");
    EXPECT_EQ(p2p_disable(kernel, kernel.card(), false),
              "peer to peer of 0000:03:00.0 was off already");
    EXPECT_EQ(p2p_enable(kernel, kernel.card(), false), "peer to peer of 0000:03:00.0 is on");
    EXPECT_EQ(p2p_enable(kernel, kernel.card(), false),
              "peer to peer of 0000:03:00.0 was on already");
    EXPECT_THAT(kernel.log, ElementsAre("p2p=0", "p2p=1"));
}

TEST_F(DingoP2p, WhoHoldsMemoryIsNamed) {
    kernel.on();
    kernel.put("dingo/p2p_users", "812 1048576 my program");
    kernel.put("p2pmem/available", std::to_string(16 * kGiB - 3 * (1 << 20)));
    kernel.answers["p2p"] = [](const std::string&) { return EBUSY; };
    const std::string text = refusal([&] { p2p_disable(kernel, kernel.card(), false); });
    EXPECT_THAT(text, HasSubstr("in use by my program (process 812, 1 MiB)"));
    EXPECT_THAT(text, HasSubstr("the kernel"));
    EXPECT_THAT(text, HasSubstr("(2 MiB)"));
    EXPECT_EQ(kernel.card().state, "true");
}

TEST_F(DingoP2p, ForceFindsTheDevicesAgain) {
    kernel.answers["resource4_resize"] = [](const std::string&) { return ENOSPC; };
    kernel.answers["rescan"] = [&](const std::string&) {
        EXPECT_EQ(kernel.remembered(), 14u);
        kernel.on();
        return 0;
    };
    EXPECT_EQ(p2p_enable(kernel, kernel.card(), true), "peer to peer of 0000:03:00.0 is on");
    EXPECT_THAT(kernel.log,
                ElementsAre("unbind=0000:03:00.0", "resource4_resize=14", "remove=1", "rescan=1"));
    kernel.log.clear();
    kernel.answers["rescan"] = [&](const std::string&) {
        kernel.bar(0xd0000000, kGiB / 4);
        return 0;
    };
    EXPECT_THAT(p2p_disable(kernel, kernel.card(), true), HasSubstr("its addresses are free"));
    EXPECT_EQ(kernel.remembered(), 8u);
    EXPECT_THAT(kernel.log, ElementsAre("p2p=0", "unbind=0000:03:00.0", "remove=1", "rescan=1"));
}

TEST_F(DingoP2p, ForceThatDoesNotHelpSaysSo) {
    kernel.bar(0, 16 * kGiB);
    kernel.put("dingo/p2p", "no iomem");
    EXPECT_THAT(refusal([&] { p2p_enable(kernel, kernel.card(), true); }),
                HasSubstr("warm reboot"));
    EXPECT_THAT(kernel.log, ElementsAre("remove=1", "rescan=1"));
}

TEST_F(DingoP2p, KernelWithoutPeerToPeerIsNamed) {
    kernel.bar(0x4000000000, 16 * kGiB);
    kernel.answers["p2p"] = [](const std::string&) { return EOPNOTSUPP; };
    EXPECT_THAT(refusal([&] { p2p_enable(kernel, kernel.card(), false); }),
                HasSubstr("CONFIG_PCI_P2PDMA"));
}

TEST_F(DingoP2p, CardWithoutMemoryOrDriver) {
    fs::remove_all(kernel.of("dingo"));
    fs::remove(kernel.of("driver"));
    EXPECT_EQ(kernel.card().state, "false");
    EXPECT_THAT(p2p_advice(kernel.card()), HasSubstr("modprobe dingo"));
    kernel.put("resource", "");
    kernel.put("resource4_resize", "0");
    EXPECT_EQ(kernel.card().state, "none");
    EXPECT_THAT(p2p_advice(kernel.card()), HasSubstr("modprobe dingo"));
    kernel.bind();
    EXPECT_THAT(p2p_advice(kernel.card()), HasSubstr("its bitstream"));
    for (const bool force : {false, true}) {
        EXPECT_THAT(refusal([&] { p2p_enable(kernel, kernel.card(), force); }),
                    HasSubstr("has no memory behind a BAR"));
        EXPECT_THAT(refusal([&] { p2p_disable(kernel, kernel.card(), force); }),
                    HasSubstr("has no memory behind a BAR"));
    }
}

TEST_F(DingoP2p, CardsAreFoundByAddressAndDevice) {
    EXPECT_EQ(p2p_cards(kernel).size(), 1u) << "the port is no card";
    EXPECT_EQ(p2p_card(kernel, "03:00.0").address, kAddress);
    EXPECT_EQ(p2p_card(kernel, "rocep3s0").address, kAddress);
    EXPECT_THAT(refusal([&] { p2p_card(kernel, "mlx5_0"); }), HasSubstr("there is 0000:03:00.0"));
    kernel.put("device", "0x1111");
    EXPECT_THAT(refusal([&] { p2p_card(kernel, ""); }), HasSubstr("no Dingo card"));
}

TEST_F(DingoP2p, ReportHasTheCardsCountersOrSaysThatThereAreNone) {
    kernel.on();
    const fs::path counters = kernel.at("sys/class/infiniband/rocep3s0/ports/1/hw_counters");
    fs::create_directories(counters);
    for (const auto& [name, value] : {std::pair{"mem_in_requests", 4096},
                                      {"mem_in_bytes", 262144},
                                      {"mem_out_requests", 0},
                                      {"mem_out_bytes", 0}})
        std::ofstream(counters / name) << value << '\n';
    std::vector<P2pRow> rows;
    add_rows(rows, kernel.card(), {}, p2p_transfers(kernel, kernel.card()), 0);
    EXPECT_THAT(report_text(rows, 0), HasSubstr("do not count"));
    EXPECT_TRUE(report_json(rows)[0]["transfers"].is_null());
    kernel.put("dingo/memory_counts", "1");
    rows.clear();
    add_rows(rows, kernel.card(), {}, p2p_transfers(kernel, kernel.card()), 0);
    const std::string text = report_text(rows, 0);
    EXPECT_THAT(text, HasSubstr("Data Transfer: DMA Bypass\nDevice"));
    EXPECT_THAT(text, HasSubstr("0.262"));
    EXPECT_THAT(text, HasSubstr("0.064"));
    rows.clear();
    add_rows(rows, kernel.card(), {1, 62144, 0, 0}, p2p_transfers(kernel, kernel.card()), 0.5);
    EXPECT_EQ(report_json(rows)[0]["transfers"], 4095);
    EXPECT_THAT(report_text(rows, 0), HasSubstr("0.400")) << "MB/s";
    EXPECT_THAT(report_text(rows, 0), HasSubstr("500.000")) << "ms";
}

}  // namespace
}  // namespace dingo::cli
