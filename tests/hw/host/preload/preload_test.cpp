// SPDX-License-Identifier: BSD-2-Clause
// Each test runs one case of preload_client under the library, against a fake card and a sysfs tree
// as written by a real card.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "dingo_hw.h"
#include "fake_card.h"
#include "host/sysfs/sysfs.h"

namespace {
namespace fs = std::filesystem;
using namespace dingo::uverbs;

class Preload : public testing::TestWithParam<std::string> {
  protected:
    Preload() {
        std::string path = (fs::temp_directory_path() / "dingo-preload-XXXXXX").string();
        dir_ = ::mkdtemp(path.data());
        SysfsIdentity identity;
        identity.name = "fake0";
        identity.vendor_id = DINGO_PCI_VENDOR_ID;
        identity.device_id = DINGO_PCI_DEVICE_ID;
        identity.pci_class = DINGO_PCI_CLASS;
        PortAttr port{};
        port.state = 4;
        port.phys_state = 5;
        port.active_speed = 32;
        port.active_width = 2;
        port.gid_tbl_len = 4;
        GidEntry gid;
        gid.gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        sysfs_.emplace(dir_, identity, DeviceAttr{}, port, std::vector{gid},
                       SysfsCounters{{"rdma_tx_bytes", 400}});
        card_.emplace(dir_);
    }
    ~Preload() override {
        card_.reset();
        sysfs_.reset();
        fs::remove_all(dir_);
    }

    /// The environment overrides the paths if the test was copied to another machine.
    static std::string place(const char* variable, const char* built) {
        const char* const there = ::getenv(variable);
        return there != nullptr ? there : built;
    }

    /// 77 is the exit status of a case that cannot run here.
    static bool skipped(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 77; }

    int run(const std::string& name, const std::string& extra = "X=1") const {
        const std::string view = "DINGO_VIEW=" + dir_.string();
        const std::string preload = "LD_PRELOAD=" + place("PRELOAD_LIBRARY", PRELOAD_LIBRARY);
        const std::string client = place("PRELOAD_CLIENT", PRELOAD_CLIENT);
        std::array<const char*, 3> args{"preload_client", name.c_str(), nullptr};
        std::array<const char*, 5> env{view.c_str(), preload.c_str(), "PATH=/bin:/usr/bin",
                                       extra.c_str(), nullptr};
        pid_t child = -1;
        if (::posix_spawn(&child, client.c_str(), nullptr, nullptr, const_cast<char**>(args.data()),
                          const_cast<char**>(env.data())) != 0) {
            return -1;
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        return status;
    }

    fs::path dir_;
    std::optional<Sysfs> sysfs_;
    std::optional<FakeCard> card_;
};

TEST_P(Preload, Client) {
    EXPECT_EQ(run(GetParam()), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Case, Preload,
    testing::Values("paths", "paths_at", "stat", "counters", "gids", "ioctl", "write", "mmap",
                    "channels", "dead_card", "need_fd", "dup_close", "reused", "hello_in_flight",
                    "fork", "vfork", "exec", "threads", "netlink", "share_keeps", "share_partial",
                    "share_faults", "share_threads", "share_fork", "share_dontfork",
                    "share_dontneed", "share_realloc", "share_mremap", "share_stack",
                    "share_gives_back", "share_close_all", "share_many", "share_many_large",
                    "share_inside", "share_populates", "share_file", "share_file_unprivileged",
                    "share_file_locks", "share_file_limit", "adopt"),
    [](const testing::TestParamInfo<std::string>& test) { return test.param; });

TEST_F(Preload, AnEventComesAfterItsDescriptorIsClosed) {
    card_->offer_rdma_cm();
    EXPECT_EQ(run("event_after_close"), 0);
}

TEST_F(Preload, DescriptorIsNotReadableWithoutAnEvent) {
    card_->offer_rdma_cm();
    EXPECT_EQ(run("idle_token"), 0);
}

/// The same card, owned by another user.
class OfAnotherUser : public Preload {
  protected:
    static constexpr uid_t kOther = 65534;
    OfAnotherUser() {
        if (::geteuid() == 0) {
            card_.reset();
            fs::remove(dir_ / "uverbs.sock");
            fs::remove(dir_ / "rdma_cm.sock");
            card_.emplace(dir_, kOther);
        }
    }
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "only root can make another user's card";
        }
    }
    const std::string named_ = "DINGO_TRUST_OWNER=1," + std::to_string(kOther);
};

TEST_F(OfAnotherUser, IsNotUsed) {
    EXPECT_NE(run("ioctl"), 0);
}

TEST_F(OfAnotherUser, HasNoMemoryButWhatRequestsName) {
    EXPECT_EQ(run("foreign", named_), 0);
}

TEST_F(OfAnotherUser, GetsNothingElse) {
    EXPECT_EQ(run("foreign_refused", named_), 0);
}

TEST_F(OfAnotherUser, CannotMakeRequestsNameMore) {
    EXPECT_EQ(run("foreign_steals", named_), 0);
}

TEST_F(OfAnotherUser, HasNoRdmaCm) {
    card_->offer_rdma_cm();
    EXPECT_EQ(run("foreign_rdma_cm", named_), 0);
}

TEST_F(Preload, PinnedPagesStay) {
    const int status = run("share_pinned");
    if (skipped(status)) {
        GTEST_SKIP() << "no io_uring here";
    }
    EXPECT_EQ(status, 0);
}

TEST_F(Preload, PagesThatAGpuDriverHasPinnedStay) {
    EXPECT_EQ(run("share_gpu", std::string("FAKE_CUDA=") + FAKE_CUDA), 0);
}

TEST_F(Preload, PagesThatAGpuDriverPinsWhileItIsLoadedStay) {
    EXPECT_EQ(run("share_gpu_loads", std::string("FAKE_CUDA=") + FAKE_CUDA), 0);
}

/// Run by tests/gpu/pinned_pages.sh on machines with a GPU.
TEST_F(Preload, PagesThatTheRealDriverHasPinnedStay) {
    const int status = run("share_cuda");
    if (skipped(status)) {
        GTEST_SKIP() << "no CUDA device here";
    }
    EXPECT_EQ(status, 0);
}

/// Before 6.11 the mappings are a text that is read from its beginning.
class OnOldKernel : public Preload {};
TEST_P(OnOldKernel, Client) {
    EXPECT_EQ(run(GetParam(), "OLD_KERNEL=1"), 0);
}
INSTANTIATE_TEST_SUITE_P(Case, OnOldKernel,
                         testing::Values("share_keeps", "share_partial", "share_faults",
                                         "share_fork", "share_dontneed", "share_realloc",
                                         "share_mremap", "share_many", "share_many_large",
                                         "share_inside", "share_file", "share_file_unprivileged"),
                         [](const testing::TestParamInfo<std::string>& test) {
                             return test.param;
                         });

/// Sharing disabled: everything works on the slow path.
TEST_F(Preload, SharingOff) {
    EXPECT_EQ(run("share_stack", "DINGO_SHARE=0"), 0);
    EXPECT_EQ(run("share_threads", "DINGO_SHARE=0"), 0);
    EXPECT_NE(run("share_keeps", "DINGO_SHARE=0"), 0);
}

}  // namespace
