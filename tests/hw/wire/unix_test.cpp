// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "support.h"

namespace dingo::test {
namespace {

class Unix : public ::testing::Test {
  protected:
    Unix() {
        char name[] = "/tmp/dingo-wire-XXXXXX";
        dir_ = ::mkdtemp(name);
    }
    ~Unix() override { std::filesystem::remove_all(dir_); }
    std::string path(const std::string& name) const { return dir_ + "/" + name; }
    std::unique_ptr<Wire> end(const std::string& local, const std::string& peer) const {
        return make(fmt::format("unix:{},{}", path(local), path(peer)));
    }

    std::string dir_;
};

TEST_F(Unix, FramesOfAllSizesArriveIntactAndInOrder) {
    const auto a = end("a", "b");
    const auto b = end("b", "a");
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 300; i++)
        frames.push_back(plain_frame(i % 3 == 0 ? kMaxFrame : 14 + i * 7, i));
    EXPECT_EQ(pass(*a, *b, frames), frames);
    EXPECT_EQ(pass(*b, *a, frames), frames);
}

TEST_F(Unix, SlowReceiverHoldsTheSenderBackAndNothingIsLost) {
    const auto a = end("a", "b");
    const auto b = end("b", "a");
    std::vector<Frame> frames;
    while (frames.size() < 10'000) {
        frames.push_back(plain_frame(1000, static_cast<unsigned>(frames.size())));
        if (!send(*a, frames.back())) {
            frames.pop_back();
            break;
        }
    }
    ASSERT_LT(frames.size(), 10'000U) << "the wire took everything";
    EXPECT_GT(a->stats().tx_full, 0U);
    pollfd p{a->tx_blocked_fd(), POLLOUT, 0};
    ASSERT_GE(p.fd, 0);
    EXPECT_EQ(::poll(&p, 1, 0), 0) << "must not be writable while the peer's queue is full";
    KeepingSink sink;
    b->receive(sink, 5);
    EXPECT_EQ(::poll(&p, 1, 5000), 1) << "must be writable when the peer made room";
    const std::vector<Frame> rest = pass(*a, *b, {}, frames.size() - sink.frames.size());
    sink.frames.insert(sink.frames.end(), rest.begin(), rest.end());
    EXPECT_EQ(sink.frames, frames);
    EXPECT_EQ(a->tx_blocked_fd(), -1);
}

TEST_F(Unix, RestartedPeerIsFoundAgain) {
    const auto a = end("a", "b");
    const std::vector<Frame> frames = {plain_frame(100, 1)};
    EXPECT_TRUE(pass(*a, *a, frames, 0).empty());
    EXPECT_EQ(a->stats().tx_no_peer, 1U);
    for (int life = 0; life < 3; life++) {
        const auto b = end("b", "a");
        EXPECT_EQ(pass(*a, *b, frames), frames);
        EXPECT_EQ(pass(*b, *a, frames), frames);
    }
}

TEST_F(Unix, SocketFileOfAKilledProcessIsReplacedButNotALiveOne) {
    {
        const UniqueFd dead(::socket(AF_UNIX, SOCK_DGRAM, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strcpy(address.sun_path, path("a").c_str());
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(path("a")));
    const auto a = end("a", "b");
    expect_contains(error_of([&] { end("a", "b"); }), "Address already in use");
    std::ofstream(path("file")) << "precious";
    expect_contains(error_of([&] { end("file", "b"); }), "Address already in use");
    EXPECT_EQ(std::filesystem::file_size(path("file")), 8U);
}

TEST_F(Unix, SocketFileGoesWithTheWire) {
    end("a", "b").reset();
    EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(Unix, BadSpecsSayWhatToDo) {
    expect_contains(error_of([] { make("unix:/tmp/x"); }), "unix:LOCAL_PATH,PEER_PATH");
    expect_contains(error_of([] { make("unix:,/tmp/x"); }), "1 to");
    expect_contains(error_of([&] { end(std::string(200, 'x'), "b"); }), "characters");
    expect_contains(error_of([] { make("unix:/no/such/dir/a,/tmp/b"); }), "No such file");
}

}  // namespace
}  // namespace dingo::test
