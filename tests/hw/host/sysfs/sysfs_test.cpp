// SPDX-License-Identifier: BSD-2-Clause
//
// A kernel-less card's sysfs files: values, formats, updates, and removal.
#include "host/sysfs/sysfs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "host/sysfs/sysfs_text.h"

namespace dingo::uverbs {
namespace {
namespace fs = std::filesystem;

class SysfsTest : public testing::Test {
  protected:
    SysfsTest() {
        std::string path = (fs::temp_directory_path() / "dingo-sysfs-XXXXXX").string();
        dir_ = ::mkdtemp(path.data());
        identity_.name = "dingo3";
        identity_.number = 3;
        identity_.vendor_id = 0x1234;
        identity_.device_id = 0xd160;
        identity_.pci_class = 0x20000;
        device_.node_guid = 0x0250c2fffe112233;
        device_.sys_image_guid = device_.node_guid;
        device_.fw_ver = 1U << 16 | 2U << 8 | 3;
        device_.hw_ver = 1;
        port_.state = 4;
        port_.phys_state = 5;
        port_.active_speed = 32;
        port_.active_width = 2;
        port_.gid_tbl_len = 8;
        port_.port_cap_flags = 0x10000;
        GidEntry gid;
        gid.index = 2;
        gid.gid[10] = gid.gid[11] = 0xff;
        gid.gid[12] = 10;
        gid.gid[15] = 1;
        gids_ = {gid};
    }
    ~SysfsTest() override { fs::remove_all(dir_); }

    void make() { sysfs_.emplace(dir_, identity_, device_, port_, gids_, counters_); }
    [[nodiscard]] std::string text(const std::string& path) const {
        std::ifstream file(dir_ / "sys" / path);
        EXPECT_TRUE(file.good()) << path;
        return {std::istreambuf_iterator<char>(file), {}};
    }

    fs::path dir_;
    SysfsIdentity identity_;
    DeviceAttr device_{};
    PortAttr port_{};
    std::vector<GidEntry> gids_;
    SysfsCounters counters_{
        {"rdma_tx_bytes", 4000}, {"rdma_rx_packets", 7}, {"rx_drop_malformed", 70000}};
    std::optional<Sysfs> sysfs_;
};

TEST_F(SysfsTest, ValuesAreThoseOfTheKernelDriver) {
    make();
    const std::string ib = "class/infiniband/dingo3/";
    EXPECT_EQ(text(ib + "node_type"), "1: CA\n");
    EXPECT_EQ(text(ib + "node_guid"), "0250:c2ff:fe11:2233\n");
    EXPECT_EQ(text(ib + "fw_ver"), "1.2.3\n");
    EXPECT_EQ(text(ib + "hca_type"), "Dingo\n");
    EXPECT_EQ(text(ib + "ports/1/state"), "4: ACTIVE\n");
    EXPECT_EQ(text(ib + "ports/1/phys_state"), "5: LinkUp\n");
    EXPECT_EQ(text(ib + "ports/1/rate"), "100 Gb/sec (4X EDR)\n");
    EXPECT_EQ(text(ib + "ports/1/link_layer"), "Ethernet\n");
    EXPECT_EQ(text(ib + "ports/1/cap_mask"), "0x00010000\n");
    EXPECT_EQ(text(ib + "ports/1/gids/2"), "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
    EXPECT_EQ(text(ib + "ports/1/gids/7"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
    EXPECT_EQ(text(ib + "ports/1/gid_attrs/types/2"), "RoCE v2\n");
    EXPECT_EQ(text(ib + "ports/1/gid_attrs/types/7"), "");
    EXPECT_EQ(text(ib + "ports/1/pkeys/0"), "0xffff\n");
    EXPECT_EQ(text(ib + "ports/1/counters/port_xmit_data"), "1000\n");
    EXPECT_EQ(text(ib + "device/vendor"), "0x1234\n");
    EXPECT_EQ(text(ib + "device/modalias"),
              "pci:v00001234d0000D160sv00000000sd00000000bc02sc00i00\n");
    EXPECT_EQ(text("class/infiniband_verbs/uverbs3/dev"), "231:195\n");
    EXPECT_EQ(text("class/infiniband_verbs/uverbs3/ibdev"), "dingo3\n");
    EXPECT_EQ(text("class/infiniband_verbs/abi_version"), "6\n");
    EXPECT_EQ(text("class/infiniband_mad/abi_version"), "5\n");
    EXPECT_EQ(fs::canonical(dir_ / "sys" / ib / "device").filename(), "0000:c3:00.0");
    EXPECT_EQ(fs::canonical(dir_ / "sys/class/infiniband_verbs/uverbs3/device"),
              fs::canonical(dir_ / "sys" / ib / "device"));
    EXPECT_EQ(fs::read_symlink(dir_ / "dev/infiniband/uverbs3"), "../../uverbs.sock");
}

TEST_F(SysfsTest, PortEventsChangeFiles) {
    make();
    port_.state = 1;
    port_.phys_state = 3;
    gids_[0].index = 4;
    sysfs_->update(port_, gids_);
    const std::string port = "class/infiniband/dingo3/ports/1/";
    EXPECT_EQ(text(port + "state"), "1: DOWN\n");
    EXPECT_EQ(text(port + "phys_state"), "3: Disabled\n");
    EXPECT_EQ(text(port + "gids/2"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
    EXPECT_EQ(text(port + "gid_attrs/types/2"), "");
    EXPECT_EQ(text(port + "gids/4"), "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
    for (const auto& entry : fs::directory_iterator(dir_ / "sys" / port / "gids")) {
        EXPECT_NE(entry.path().filename().string()[0], '.');
    }
}

TEST_F(SysfsTest, CountersByPath) {
    EXPECT_EQ(Sysfs::counter("x/hw_counters/rdma_rx_packets", counters_), "7\n");
    EXPECT_EQ(Sysfs::counter("x/counters/port_rcv_packets", counters_), "7\n");
    EXPECT_EQ(Sysfs::counter("x/counters/port_rcv_errors", counters_), "65535\n");
    EXPECT_EQ(Sysfs::counter("x/counters/symbol_error", counters_), "0\n");
    EXPECT_EQ(Sysfs::counter("x/hw_counters/none", counters_), std::nullopt);
    EXPECT_EQ(Sysfs::counter("x/counters/none", counters_), std::nullopt);
    EXPECT_EQ(Sysfs::counter("ports/1/state", counters_), std::nullopt);
    EXPECT_EQ(Sysfs::counter("", counters_), std::nullopt);
}

TEST_F(SysfsTest, TreeOfADeadCardIsReplacedAndNothingStays) {
    fs::create_directories(dir_ / "sys/class/infiniband/old");
    fs::create_directories(dir_ / ".fresh/sys/half");
    make();
    EXPECT_FALSE(fs::exists(dir_ / "sys/class/infiniband/old"));
    EXPECT_FALSE(fs::exists(dir_ / ".fresh"));
    sysfs_.reset();
    EXPECT_TRUE(fs::is_empty(dir_));
}

TEST(SysfsText, CpuMasks) {
    EXPECT_EQ(sysfs_cpu_mask(1), "00000001\n");
    EXPECT_EQ(sysfs_cpu_mask(32), "ffffffff\n");
    EXPECT_EQ(sysfs_cpu_mask(40), "000000ff,ffffffff\n");
}

TEST(SysfsText, Rates) {
    EXPECT_EQ(sysfs_rate(1, 1), "2.5 Gb/sec (1X SDR)\n");
    EXPECT_EQ(sysfs_rate(8, 2), "40 Gb/sec (4X FDR10)\n");
    EXPECT_EQ(sysfs_rate(128, 2), "400 Gb/sec (4X NDR)\n");
}

// UCX, ibdev2netdev and others look up the interface of a GID.
TEST_F(SysfsTest, InterfaceOfAGidIsTheOneThatHasItsAddress) {
    GidEntry loopback;
    loopback.index = 3;
    loopback.gid[10] = loopback.gid[11] = 0xff;
    loopback.gid[12] = 127;
    loopback.gid[15] = 9;
    gids_.push_back(loopback);
    make();
    const std::string ndevs = "class/infiniband/dingo3/ports/1/gid_attrs/ndevs/";
    EXPECT_EQ(text(ndevs + "3"), "lo\n");
    EXPECT_EQ(text(ndevs + "2"), "") << "10.0.0.1 is nobody's here";
    EXPECT_EQ(text(ndevs + "0"), "");
    gids_.pop_back();
    sysfs_->update(port_, gids_);
    EXPECT_EQ(text(ndevs + "3"), "");
}

}  // namespace
}  // namespace dingo::uverbs
