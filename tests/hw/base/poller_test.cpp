// SPDX-License-Identifier: BSD-2-Clause
#include "base/poller.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/errno_error.h"

namespace dingo::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// An eventfd that says when it is told, and does what it is asked to then.
class Member final : public Pollable {
  public:
    explicit Member(unsigned value = 1) : fd(::eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    void ready(std::uint32_t events) override {
        ++told;
        last = events;
        if (then) {
            then();
        }
    }
    UniqueFd fd;
    int told = 0;
    std::uint32_t last = 0;
    std::function<void()> then;
};

TEST(Poller, OneThatIsRemovedByAnotherOfTheSameBatchIsNotTold) {
    Poller poller;
    std::array<Member, 3> members;
    std::array<Poller::Id, 3> ids{};
    for (std::size_t i = 0; i < members.size(); ++i) {
        ids[i] = poller.add(members[i].fd.get(), EPOLLIN, members[i]);
        members[i].then = [&, i] {
            for (std::size_t other = 0; other < ids.size(); ++other) {
                if (other != i) {
                    poller.remove(ids[other]);
                }
            }
        };
    }
    poller.wait(0);
    EXPECT_EQ(members[0].told + members[1].told + members[2].told, 1);
}

TEST(Poller, AWaitTellsAsManyAsAskedAndThenTheOthers) {
    Poller poller;
    std::array<Member, 40> members;
    for (Member& member : members) {
        poller.add(member.fd.get(), EPOLLIN, member);
    }
    for (const int told : {16, 32, 40}) {
        poller.wait(0, 16);
        EXPECT_EQ(std::ranges::count_if(members, [](const Member& m) { return m.told != 0; }),
                  told);
    }
}

TEST(Poller, AnOwnerIsCalledOnceInAWaitBeforeItsFirstMember) {
    Poller poller;
    std::array<Member, 3> members;
    Member other;
    Member quiet(0);
    int calls = 0;
    int calls_of_quiet = 0;
    PollGroup group(poller, [&] {
        ++calls;
        EXPECT_EQ(members[0].told + members[1].told + members[2].told, 3 * (calls - 1));
    });
    PollGroup quiet_group(poller, [&] { ++calls_of_quiet; });
    for (Member& member : members) {
        group.add(member.fd.get(), EPOLLIN, member);
    }
    poller.add(other.fd.get(), EPOLLIN, other);
    quiet_group.add(quiet.fd.get(), EPOLLIN, quiet);
    for (int waits = 1; waits <= 2; ++waits) {
        poller.wait(Poller::kForever);
        EXPECT_EQ(calls, waits);
        EXPECT_EQ(members[0].told + members[1].told + members[2].told, 3 * waits);
        EXPECT_EQ(other.told, waits);
    }
    EXPECT_EQ(calls_of_quiet, 0);
}

TEST(Poller, AnOwnerMayRemoveTheMemberThatWokeIt) {
    Poller poller;
    Member member;
    Poller::Id id = 0;
    PollGroup group(poller, [&] { poller.remove(id); });
    id = group.add(member.fd.get(), EPOLLIN, member);
    poller.wait(0);
    EXPECT_EQ(member.told, 0);
}

TEST(Poller, MoreThanOneWaitTellsOfAreToldByTheNextOnes) {
    Poller poller;
    std::vector<Member> members(300);
    for (Member& member : members) {
        poller.add(member.fd.get(), EPOLLIN, member);
    }
    for (int waits = 0; waits < 3; ++waits) {
        poller.wait(0);
    }
    for (const Member& member : members) {
        EXPECT_GE(member.told, 1);
    }
}

TEST(Poller, WhatIsAskedForCanChange) {
    Poller poller;
    Member member;
    const Poller::Id id = poller.add(member.fd.get(), 0, member);
    poller.wait(0);
    EXPECT_EQ(member.told, 0);
    poller.change(id, EPOLLOUT);
    poller.wait(0);
    EXPECT_EQ(member.last, std::uint32_t{EPOLLOUT});
}

TEST(Poller, APollerIsAMemberOfAnother) {
    Poller inner;
    Poller outer;
    Member member;
    Member inner_told;
    inner_told.then = [&] { inner.wait(0); };
    inner.add(member.fd.get(), EPOLLIN, member);
    outer.add(inner.fd(), EPOLLIN, inner_told);
    outer.wait(Poller::kForever);
    EXPECT_EQ(member.told, 1);
}

TEST(Poller, WhatCannotBePolledHasItsErrno) {
    Poller poller;
    Member member;
    const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    for (const auto& [fd, error] : {std::pair(-1, EBADF), std::pair(file.get(), EPERM)}) {
        try {
            poller.add(fd, EPOLLIN, member);
            ADD_FAILURE() << fd;
        } catch (const ErrnoError& e) {
            EXPECT_EQ(e.code(), error);
        }
    }
}

/// True when a wait with nothing ready lasts as long as asked, and one with something ready does
/// not.
bool waits_as_told(Poller& poller) {
    Member member(0);
    poller.add(member.fd.get(), EPOLLIN, member);
    const auto start = Clock::now();
    poller.wait(20'000'123);
    if (Clock::now() - start < 20ms || member.told != 0) {
        return false;
    }
    ::eventfd_write(member.fd.get(), 1);
    poller.wait(3'600'000'000'000);
    return member.told == 1;
}

TEST(Poller, ATimeoutIsNotShorterThanAsked) {
    Poller poller;
    EXPECT_TRUE(waits_as_told(poller));
}

/// True: system call `number` ends in `error` from now on.
bool forbid(std::uint32_t number, std::uint32_t error) {
    std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(PollerDeathTest, TimeoutsWorkWhereASandboxKnowsNoEpollPwait2) {
    for (const int error : {ENOSYS, EPERM}) {
        EXPECT_EXIT(
            {
                if (!forbid(SYS_epoll_pwait2, static_cast<std::uint32_t>(error))) {
                    std::_Exit(0);  // no seccomp here
                }
                Poller poller;
                std::_Exit(waits_as_told(poller) && waits_as_told(poller) ? 0 : 1);
            },
            testing::ExitedWithCode(0), "");
    }
}

}  // namespace
}  // namespace dingo::test
