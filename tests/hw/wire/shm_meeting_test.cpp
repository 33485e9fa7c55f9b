// SPDX-License-Identifier: BSD-2-Clause
//
// How cards of an shm segment meet though somebody stands in the way: connections that say nothing,
// a lock that is held.
#include <linux/sockios.h>
#include <sys/file.h>
#include <sys/ioctl.h>

#include <array>
#include <chrono>
#include <memory>

#include "shm_support.h"

namespace dingo::test {
namespace {

class ShmMeeting : public Shm {
  protected:
    static constexpr Nanoseconds kSecond = 1'000'000'000;

    /// Connections to card 1 that say nothing; as many as it takes at the moment.
    unsigned connect_silently(unsigned count) {
        sockaddr_un to{};
        to.sun_family = AF_UNIX;
        std::strcpy(to.sun_path, first_.c_str());
        for (unsigned i = 0; i < count; i++) {
            UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
            if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
                return i;
            silent_.push_back(std::move(fd));
        }
        return count;
    }
    void expect_joined(Wire& b) {
        const std::vector<Frame> frames{frame(1, 2)};
        EXPECT_EQ(pass(*a, b, frames), frames);
        const std::vector<Frame> back{frame(2, 1)};
        EXPECT_EQ(pass(b, *a, back), back);
    }

    std::unique_ptr<Wire> a = card(1);
    const std::filesystem::path first_ = [this] {
        for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/net"))
            if (entry.is_socket())
                return entry.path();
        return std::filesystem::path();
    }();
    std::vector<UniqueFd> silent_;
};

TEST_F(ShmMeeting, ManyWhoSayNothingKeepNoCardOut) {
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(connect_silently(20), 20U);
        take(*a);
    }
    const auto b = card(2);
    settle({a.get(), b.get()});
    expect_joined(*b);
}

TEST_F(ShmMeeting, ACardThatFindsTheDoorFullComesAgain) {
    ASSERT_LT(connect_silently(1000), 1000U);
    const auto b = card(2);
    take(*a);
    b->advance(10 * kSecond);
    settle({a.get(), b.get()});
    b->advance(12 * kSecond);
    settle({a.get(), b.get()});
    expect_joined(*b);
}

TEST_F(ShmMeeting, WhoSaysNothingIsTurnedAwayAfterASecond) {
    a->advance(10 * kSecond);
    Hostile late(dir_ + "/net");
    take(*a);
    a->advance(10 * kSecond + kSecond / 2);
    take(*a);
    EXPECT_FALSE(late.cut_off());
    a->advance(11 * kSecond);
    take(*a);
    EXPECT_TRUE(late.cut_off());
}

TEST_F(ShmMeeting, ACardThatWasTurnedAwayComesAgain) {
    const UniqueFd other(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strcpy(at.sun_path, (dir_ + "/net/other").c_str());
    ASSERT_EQ(::bind(other.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(other.get(), 4), 0);
    const auto comes = [&] { return bool(UniqueFd(::accept(other.get(), nullptr, nullptr))); };
    const auto b = card(2);
    EXPECT_TRUE(comes());
    b->advance(10 * kSecond);
    take(*b);
    b->advance(12 * kSecond);
    take(*b);
    EXPECT_TRUE(comes());
}

/// Says `count` hellos in a process of its own, until this ends.
class Crowd {
  public:
    Crowd(const std::string& net, unsigned count) {
        std::array<int, 2> pipe{};
        EXPECT_EQ(::pipe(pipe.data()), 0);
        process_ = ::fork();
        if (process_ == 0) {
            std::vector<std::unique_ptr<Hostile>> all;
            for (unsigned i = 0; i < count; i++) {
                all.push_back(std::make_unique<Hostile>(net));
                all.back()->hello();
            }
            ::close(pipe[0]);
            [[maybe_unused]] const auto said = ::write(pipe[1], "", 1);
            ::pause();
            ::_exit(0);
        }
        ::close(pipe[1]);
        char byte = 0;
        EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
        ::close(pipe[0]);
    }
    ~Crowd() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }

  private:
    pid_t process_ = -1;
};

// The card listens for 128 at once: each crowd finds its door open.
TEST_F(ShmMeeting, AProcessThatHasAllPlacesLosesOneToACardOfAnother) {
    std::vector<std::unique_ptr<Crowd>> crowds;
    for (unsigned i = 0; i < 2; i++) {
        crowds.push_back(std::make_unique<Crowd>(dir_ + "/net", 100));
        for (unsigned looks = 0; looks < 20; looks++)
            take(*a);
    }
    const auto b = card(2);
    settle({a.get(), b.get()});
    expect_joined(*b);
}

TEST_F(ShmMeeting, ProcessesWhoseCardsSendNothingMakeRoomForOneThatComes) {
    std::vector<std::unique_ptr<Crowd>> crowds;
    for (unsigned i = 0; i < 128; i++) {
        crowds.push_back(std::make_unique<Crowd>(dir_ + "/net", 1));
        take(*a);
    }
    a->advance(10 * kSecond);
    const auto b = card(2);
    settle({a.get(), b.get()});
    expect_joined(*b);
}

TEST_F(ShmMeeting, WhoTalksWithoutEndIsListenedToForAPartOfTheTime) {
    Hostile loud(dir_ + "/net");
    loud.hello();
    settle({a.get()});
    unsigned said = 0;
    while (::send(loud.fd(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
        said++;
    ASSERT_GT(said, 64U) << "the test needs a larger socket";
    const auto left = [&] {
        int bytes = 0;
        ::ioctl(loud.fd(), SIOCOUTQ, &bytes);
        return static_cast<unsigned>(bytes);
    };
    const unsigned all = left();
    SortingSink sink;
    a->advance(10 * kSecond);
    a->receive(sink, 64);
    EXPECT_GE(left(), all - 33 * (all / said));
    EXPECT_LT(left(), all);
    EXPECT_FALSE(loud.cut_off());
}

TEST_F(ShmMeeting, WhoComesIsHeardBesideManyThatTalkWithoutEnd) {
    std::vector<std::unique_ptr<Hostile>> loud;
    const auto talk = [&] {
        for (const auto& one : loud)
            while (::send(one->fd(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) {
            }
    };
    for (unsigned i = 0; i < 12; ++i) {
        loud.push_back(std::make_unique<Hostile>(dir_ + "/net"));
        loud.back()->hello();
        settle({a.get()});
    }
    talk();
    const auto newcomer = card(3);
    SortingSink sink;
    for (unsigned i = 0; i < 100 && newcomer->needs_icrc(); ++i) {
        talk();
        a->advance(10 * kSecond + i * (kSecond / 1000));
        a->receive(sink, 64);
        newcomer->receive(sink, 64);
    }
    EXPECT_FALSE(newcomer->needs_icrc()) << "it has not been answered";
}

// Else the card's next fault there waits until they are gone.
TEST_F(ShmMeeting, APeerCannotTakePagesOfTheRingsAway) {
    Hostile peer(dir_ + "/net");
    peer.hello();
    settle({a.get()});
    ASSERT_FALSE(peer.cut_off());
    EXPECT_NE(::fallocate(peer.memory(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                          2 * kShmDirectionBytes),
              0);
}

TEST_F(ShmMeeting, MemoryThatCannotBeSealedIsRefused) {
    Hostile peer(dir_ + "/net", F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    peer.hello();
    settle({a.get()});
    EXPECT_TRUE(peer.cut_off());
}

TEST_F(ShmMeeting, AKickThatBringsADescriptorEndsTheConnection) {
    Hostile generous(dir_ + "/net");
    generous.hello();
    settle({a.get()});
    ASSERT_FALSE(generous.cut_off());
    generous.kick_with(2);
    settle({a.get()});
    EXPECT_TRUE(generous.cut_off());
    EXPECT_EQ(a->stats().rx_errors, 1U);
}

TEST_F(ShmMeeting, AHeldLockIsAnErrorSoon) {
    const UniqueFd held(::open((dir_ + "/net/.lock").c_str(), O_RDWR));
    ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
    const auto before = std::chrono::steady_clock::now();
    const std::string error = error_of([this] { card(2); });
    expect_contains(error, "has held");
    expect_contains(error, "fuser -v");
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
    ::flock(held.get(), LOCK_UN);
    const auto b = card(2);
    settle({a.get(), b.get()});
    expect_joined(*b);
}

TEST_F(ShmMeeting, ALockThatIsNoFileIsAnErrorAtOnce) {
    std::filesystem::remove(dir_ + "/net/.lock");
    ASSERT_EQ(::mkfifo((dir_ + "/net/.lock").c_str(), 0600), 0);
    expect_contains(error_of([this] { card(2); }), "cannot lock");
}

}  // namespace
}  // namespace dingo::test
