// SPDX-License-Identifier: BSD-2-Clause
//
// The kind of a client's descriptor when its file system does not respond.
#include "host/driver/file_kinds.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "host/driver/client_memory.h"
#include "host/driver/shared_segments.h"

namespace dingo::uverbs {
namespace {

UniqueFd open_fd(const char* path, int flags) {
    return UniqueFd(::open(path, flags | O_CLOEXEC));
}

TEST(FileKinds, KnowsProcfs) {
    EXPECT_TRUE(is_on_procfs(open_fd("/proc/self/mem", O_RDWR).get()));
    EXPECT_FALSE(is_on_procfs(open_fd("/proc/self/mem", O_PATH).get()));
    EXPECT_FALSE(is_on_procfs(open_fd("/tmp", O_RDONLY).get()));
    EXPECT_FALSE(is_on_procfs(UniqueFd(::memfd_create("mem", MFD_CLOEXEC)).get()));
    EXPECT_FALSE(is_on_procfs(-1));
}

TEST(FileKinds, KnowsHowItIsOpen) {
    EXPECT_TRUE(is_open_for(open_fd("/proc/self/mem", O_RDWR).get(), O_RDWR));
    EXPECT_FALSE(is_open_for(open_fd("/proc/self/mem", O_RDONLY).get(), O_RDWR));
    EXPECT_FALSE(is_open_for(open_fd("/proc/self/mem", O_PATH).get(), O_RDONLY));
}

TEST(FileKinds, TakesNothingElseForADmabuf) {
    EXPECT_FALSE(is_dmabuf(UniqueFd(::memfd_create("mem", MFD_CLOEXEC)).get()));
    EXPECT_FALSE(is_dmabuf(open_fd("/proc/self/mem", O_RDWR).get()));
    EXPECT_FALSE(is_dmabuf(-1));
}

/// A file system that lets its root be opened and answers nothing else.
class Silent {
  public:
    Silent() : fuse_(open_fd("/dev/fuse", O_RDWR)) {
        std::filesystem::create_directories(root_);
        const std::string options = "fd=" + std::to_string(fuse_.get()) +
                                    ",rootmode=40000,user_id=" + std::to_string(::getuid()) +
                                    ",group_id=" + std::to_string(::getgid());
        mounted_ = fuse_ && ::mount("silent", root_.c_str(), "fuse", 0, options.c_str()) == 0;
        if (mounted_)
            server_ = std::thread([this] { serve(); });
    }
    ~Silent() {
        if (mounted_) {
            ::umount2(root_.c_str(), MNT_FORCE | MNT_DETACH);  // aborts waiting requests
            server_.join();
        }
        std::error_code error;
        std::filesystem::remove(root_, error);
    }
    [[nodiscard]] bool mounted() const { return mounted_; }
    [[nodiscard]] const char* root() const { return root_.c_str(); }
    /// Number of requests that were not answered.
    [[nodiscard]] unsigned unanswered() const { return unanswered_; }

  private:
    void serve() {
        std::array<std::byte, 1 << 17> request;
        for (;;) {
            const ssize_t n = ::read(fuse_.get(), request.data(), request.size());
            if (n < 0 && (errno == EINTR || errno == ENOENT))
                continue;
            if (n < static_cast<ssize_t>(sizeof(fuse_in_header)))
                return;  // unmounted
            fuse_in_header header{};
            std::memcpy(&header, request.data(), sizeof header);
            if (header.opcode == FUSE_INIT) {
                fuse_init_out out{};
                out.major = 7;
                out.minor = 31;
                out.max_write = 65'536;
                answer(header, out);
            } else if (header.opcode == FUSE_OPENDIR) {
                answer(header, fuse_open_out{});
            } else if (header.opcode != FUSE_RELEASEDIR && header.opcode != FUSE_DESTROY) {
                ++unanswered_;
            }
        }
    }
    template <typename Out>
    void answer(const fuse_in_header& to, const Out& out) {
        std::array<std::byte, sizeof(fuse_out_header) + sizeof out> bytes;
        const fuse_out_header header{bytes.size(), 0, to.unique};
        std::memcpy(bytes.data(), &header, sizeof header);
        std::memcpy(bytes.data() + sizeof header, &out, sizeof out);
        EXPECT_EQ(::write(fuse_.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
    }

    const std::string root_ = ::testing::TempDir() + "/silent." + std::to_string(::getpid());
    UniqueFd fuse_;
    bool mounted_ = false;
    std::atomic<unsigned> unanswered_ = 0;
    std::thread server_;
};

TEST(FileKinds, AFileSystemThatDoesNotAnswerIsNotAsked) {
    auto silent = std::make_unique<Silent>();
    if (!silent->mounted()) {
        GTEST_SKIP() << "no FUSE, or nobody may mount here";
    }
    for (const int flags : {O_PATH, O_RDONLY | O_DIRECTORY}) {
        const UniqueFd fd = open_fd(silent->root(), flags);
        ASSERT_TRUE(fd) << std::strerror(errno);
        auto looked = std::async(std::launch::async, [&] {
            const auto account = std::make_shared<Account>(false);
            EXPECT_FALSE(is_on_procfs(fd.get()));
            EXPECT_FALSE(is_dmabuf(fd.get()));
            EXPECT_ANY_THROW(ClientMemory(1, ForeignFd(::dup(fd.get())), account));
            EXPECT_ANY_THROW(map_dmabuf(fd.get(), 0, 4096, false, account));
        });
        EXPECT_EQ(looked.wait_for(std::chrono::seconds(5)), std::future_status::ready);
        EXPECT_EQ(silent->unanswered(), 0U);
        silent.reset();
        looked.wait();
        silent = std::make_unique<Silent>();
        ASSERT_TRUE(silent->mounted());
    }
}

}  // namespace
}  // namespace dingo::uverbs
