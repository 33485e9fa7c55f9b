// SPDX-License-Identifier: BSD-2-Clause
// Limits per client leave resources for others: descriptors, objects, connections, waiting
// requests.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/quota.h"
#include "host/driver/shared_segments.h"
#include "host/uverbs/accounts.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

constexpr uid_t kNobody = 65534;
constexpr int kMost = 512;  ///< descriptors in tests with few of them

/// Limits the descriptors of this process, which is the card and its clients.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t most) {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        rlimit few = before_;
        few.rlim_cur = most;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    }
    ~FewDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

  private:
    rlimit before_{};
};

/// Creates a sparse file.
UniqueFd shared_file(std::size_t bytes) {
    UniqueFd fd(::memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return fd;
}

struct UverbsQuota : ::testing::Test {
    UverbsQuota() : client(card.directory), verbs(client) { EXPECT_EQ(verbs.get_context(), 0); }
    RunningCard card;
    Client client;
    Verbs verbs;
};

int refused(const RunningCard& card) {
    return card.stats()["host"]["refused"].get<int>();
}

/// Requests a sysfs file and leaves the answer unread. Returns the socket to read it from.
UniqueFd ask_and_leave(Client& client, int used = -1) {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    UniqueFd mine(pair[0]);
    const UniqueFd theirs(pair[1]);
    Request request(DINGO_UVERBS_SYSFS);
    const auto path = std::as_bytes(std::span(std::string_view("class/known")));
    request.payload.assign(path.begin(), path.end());
    client.send_bytes_without_answer(request.bytes(), used < 0 ? theirs.get() : used);
    return mine;
}

/// Returns the number of descriptors in the answer, or -errno; 0 if none arrived within two
/// seconds.
int take_answer(int socket) {
    pollfd poll{socket, POLLIN, 0};
    std::array<std::byte, 512> room{};
    if (::poll(&poll, 1, 2'000) != 1) {
        return 0;
    }
    const RawMessage raw = receive_raw(socket, room);
    dingo_uverbs_reply reply{};
    std::memcpy(&reply, room.data(), sizeof reply);
    return reply.result < 0 ? static_cast<int>(reply.result) : static_cast<int>(raw.fds.size());
}

TEST_F(UverbsQuota, AnswersThatNobodyReadsHaveAnEnd) {
    const auto unread = [&] { return card.stats()["host"]["unread"].get<int>(); };
    Client slow(card.directory);
    std::vector<UniqueFd> answers;
    for (std::size_t n = 0; n < UnreadAnswers::kMost; ++n) {
        answers.push_back(ask_and_leave(slow));
    }
    UniqueFd more = ask_and_leave(slow);
    EXPECT_EQ(take_answer(more.get()), -ETOOMANYREFS);
    EXPECT_EQ(unread(), 1);
    EXPECT_EQ(verbs.create_cq(), 0) << "others are answered";
    EXPECT_EQ(take_answer(ask_and_leave(client).get()), 1);
    EXPECT_EQ(take_answer(answers.back().get()), 1);
    EXPECT_EQ(take_answer(ask_and_leave(slow).get()), 1) << "there is room for one";
    EXPECT_EQ(unread(), 1);
}

TEST_F(UverbsQuota, DescriptorsOfAnswersCountUntilTheyAreRead) {
    const auto used = [] { return process_quotas().descriptors.used(); };
    const auto comes_to = [&](std::size_t value) {
        for (int n = 0; n < 200 && used() != value; ++n) {
            ::usleep(10'000);
        }
        return used() == value;
    };
    const std::size_t before = used();
    std::vector<UniqueFd> answers;
    for (int n = 0; n < 10; ++n) {
        answers.push_back(ask_and_leave(client));
    }
    EXPECT_TRUE(comes_to(before + 18)) << "all but the first; " << used() << " after " << before;
    for (const UniqueFd& answer : answers) {
        EXPECT_EQ(take_answer(answer.get()), 1);
    }
    EXPECT_TRUE(comes_to(before)) << "without another request";
}

TEST_F(UverbsQuota, AReplySocketHoldsSomeAnswersAndNoMore) {
    constexpr int kAsked = 100;
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    const UniqueFd mine(pair[0]);
    const UniqueFd theirs(pair[1]);
    for (int n = 0; n < kAsked; ++n) {
        ask_and_leave(client, theirs.get());
    }
    EXPECT_EQ(take_answer(ask_and_leave(client).get()), 1) << "another one is empty";
    const auto undelivered = card.stats()["host"]["undelivered"].get<int>();
    EXPECT_GE(undelivered, kAsked - 40);
    for (int n = 0; n < kAsked - undelivered; ++n) {
        EXPECT_EQ(take_answer(mine.get()), 1);
    }
    ask_and_leave(client, theirs.get());
    EXPECT_EQ(take_answer(mine.get()), 1);
}

TEST_F(UverbsQuota, IdleConnectionsLeaveDescriptorsForThoseWhoAreThere) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const FewDescriptors few(kMost);
    std::vector<std::unique_ptr<Client>> idle;
    while (idle.size() < kMost / 2 && refused(card) == 0) {
        idle.push_back(std::make_unique<Client>(card.directory, false));
    }
    EXPECT_GT(refused(card), 0);
    EXPECT_GT(idle.size(), 20U);
    ASSERT_EQ(verbs.create_cq(), 0) << "who is there goes on";
    std::vector<UniqueFd> more;
    while (more.size() < kMost) {
        const int fd = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
        if (fd < 0 || fd > kMost - 16) {
            ::close(fd);
            break;
        }
        more.emplace_back(fd);
    }
    EXPECT_EQ(client.hello().result(), -EMFILE) << "an answer, not the end of the connection";
    EXPECT_EQ(verbs.destroy_cq(verbs.handle), 0);
    more.clear();
    idle.clear();
    EXPECT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(verbs.create_cq(), 0);
    EXPECT_EQ(Client(card.directory).greeting, 0) << "there is room again";
}

struct AnObject final : Object {
    explicit AnObject(ObjectType type) : Object(type) {}
};

std::size_t fill(ObjectTable& table, ObjectType type) {
    try {
        for (std::size_t n = 0;; ++n) {
            table.add(std::make_unique<AnObject>(type));
        }
    } catch (const ErrnoError& error) {
        EXPECT_EQ(error.code(), ENOMEM);
        return table.size();
    }
}

TEST(UverbsShares, AnotherUserHasAThirdOfTheObjectsWhateverClientsItHas) {
    DeviceAttr attr{};
    attr.max_qp = 300;
    attr.max_cq = 30;
    attr.max_ah = 30;
    Accounts accounts(attr, 9);
    ObjectTable own(&accounts, accounts.of(::geteuid()));
    ObjectTable first(&accounts, accounts.of(kNobody));
    ObjectTable second(&accounts, accounts.of(kNobody));
    EXPECT_EQ(fill(first, UVERBS_OBJECT_QP), 100U);
    EXPECT_EQ(fill(second, UVERBS_OBJECT_QP), 0U);
    EXPECT_EQ(fill(own, UVERBS_OBJECT_QP), 200U);
    EXPECT_EQ(fill(second, UVERBS_OBJECT_AH), 10U);
    EXPECT_EQ(accounts.describe()["qp"]["used"], 300);
    EXPECT_EQ(accounts.describe()["qp"]["refused"], 3);
    EXPECT_EQ(accounts.describe()["cq"]["used"], 0);
    EXPECT_EQ(accounts.describe()["ah"]["used"], 10);
    first.clear();
    EXPECT_EQ(fill(own, UVERBS_OBJECT_QP), 300U);
}

TEST(UverbsShares, ATableThatWasClearedBeginsAgain) {
    ObjectTable table;
    for (int i = 0; i < 3; ++i) {
        table.add(std::make_unique<AnObject>(UVERBS_OBJECT_PD));
    }
    table.remove(table.lookup(UVERBS_OBJECT_PD, 2));
    table.clear();
    EXPECT_EQ(table.size(), 0U);
    table.add(std::make_unique<AnObject>(UVERBS_OBJECT_PD));
    EXPECT_EQ(table.handles(UVERBS_OBJECT_PD), std::vector<std::uint32_t>{0});
}

/// A QP with a number assigned by the card.
struct Numbered final : Object {
    explicit Numbered(std::uint32_t n) : Object(UVERBS_OBJECT_QP), number_of_card(n) {}
    std::optional<std::uint32_t> card_number() const override { return number_of_card; }
    std::uint32_t number_of_card;
};

TEST(UverbsObjects, AreFoundByTheirNumbers) {
    ObjectTable table;
    table.add(std::make_unique<AnObject>(UVERBS_OBJECT_MR));
    table.add(std::make_unique<Numbered>(0x1234));
    Object* const mr = table.by_number(UVERBS_OBJECT_MR, 0);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(mr->handle(), 0U);
    Object* const qp = table.by_number(UVERBS_OBJECT_QP, 0x1234);
    ASSERT_NE(qp, nullptr);
    EXPECT_EQ(qp->handle(), 1U);
    EXPECT_EQ(table.by_number(UVERBS_OBJECT_QP, 1), nullptr) << "its handle is no QPN";
    EXPECT_EQ(table.by_number(UVERBS_OBJECT_MR, 0x1234), nullptr);
    EXPECT_EQ(table.by_number(UVERBS_OBJECT_PD, 0), nullptr);
    table.remove(*qp);
    EXPECT_EQ(table.by_number(UVERBS_OBJECT_QP, 0x1234), nullptr);
    EXPECT_EQ(table.next(UVERBS_OBJECT_QP, 0), nullptr);
}

TEST(UverbsObjects, NobodyGoesThroughAllOfThem) {
    constexpr unsigned kMany = 100'000;
    ObjectTable table;
    for (unsigned i = 0; i < kMany; ++i) {
        table.add(std::make_unique<AnObject>(UVERBS_OBJECT_MR));
    }
    const auto before = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < kMany; ++i) {
        ASSERT_EQ(table.next(UVERBS_OBJECT_QP, 0), nullptr);
        ASSERT_EQ(table.by_number(UVERBS_OBJECT_QP, kMany + i), nullptr);
        ASSERT_EQ(table.counts().size(), 1U);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
}

TEST(UverbsShares, AnotherUserHasAThirdOfTheConnections) {
    Accounts accounts(DeviceAttr{}, 9);
    std::vector<ConnectionCharge> connections;
    const auto nobody = accounts.of(kNobody);
    for (int i = 0; i < 3; ++i) {
        connections.push_back(accounts.client(nobody));
    }
    EXPECT_THROW(accounts.client(accounts.of(kNobody)), ErrnoError);
    for (int i = 0; i < 6; ++i) {
        connections.push_back(accounts.client(accounts.of(0)));
    }
    EXPECT_THROW(accounts.client(accounts.of(0)), ErrnoError);
}

TEST_F(UverbsQuota, StatisticsSayWhatIsUsed) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    ASSERT_EQ(verbs.create_cq(), 0);
    const auto quotas = card.stats()["quotas"];
    EXPECT_EQ(quotas["client"]["used"], 1);
    EXPECT_EQ(quotas["cq"]["used"], 1);
    EXPECT_EQ(quotas["pd"]["used"], 1);
    EXPECT_EQ(quotas["qp"]["used"], 0);
    EXPECT_GE(quotas["qp"]["limit"], 16);
    EXPECT_GE(quotas["ah"]["limit"], 1'000'000);
    client.close();
    EXPECT_TRUE(card.wait_for_clients(0));
    EXPECT_EQ(card.stats()["quotas"]["cq"]["used"], 0);
}

/// Returns a request to resolve a neighbour that never answers.
Request unanswered(std::uint32_t pd) {
    auto command = Verbs::zeroed<ib_uverbs_create_ah>();
    static std::uint64_t response = 0;
    command.response = reinterpret_cast<std::uintptr_t>(&response);
    command.pd_handle = pd;
    command.attr.is_global = 1;
    command.attr.port_num = 1;
    command.attr.grh.sgid_index = 1;
    const std::uint8_t absent[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 99};
    std::ranges::copy(absent, command.attr.grh.dgid);
    Request request(DINGO_UVERBS_WRITE);
    request.payload = Client::classic(IB_USER_VERBS_CMD_CREATE_AH, command, sizeof response);
    return request;
}

int waiting(const RunningCard& card) {
    int n = 0;
    const auto all = card.stats();
    for (const auto& client : all["clients"]) {
        n += client["waiting"].get<int>();
    }
    return n;
}

TEST_F(UverbsQuota, RequestsThatWaitLeaveDescriptorsForOthers) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    ASSERT_EQ(verbs.create_cq(), 0);
    Client hostile(card.directory);
    Verbs theirs(hostile);
    ASSERT_EQ(theirs.get_context(), 0);
    ASSERT_EQ(theirs.alloc_pd(), 0);
    const FewDescriptors few(256);
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const UniqueFd read(ends[0]);
    const UniqueFd reply(ends[1]);
    const Bytes request = unanswered(theirs.handle).bytes();
    for (int i = 0; i < 250; ++i) {
        hostile.send_bytes_without_answer(request, reply.get());
    }
    EXPECT_EQ(theirs.alloc_pd(), 0) << "those before it were looked at";
    EXPECT_GT(waiting(card), 20);
    EXPECT_LT(waiting(card), 256 - 64) << "a quarter is the reserve";
    EXPECT_EQ(verbs.destroy_cq(verbs.handle), 0) << "who is there goes on";
    EXPECT_EQ(verbs.create_cq(), 0);
}

TEST_F(UverbsQuota, AClientMayGoWhileItsRequestsWait) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const UniqueFd read(ends[0]);
    UniqueFd reply(ends[1]);
    const auto used = [&] { return card.stats()["quotas"]["descriptor"]["used"].get<int>(); };
    const int before = used();
    {
        Client goes(card.directory);
        Verbs theirs(goes);
        ASSERT_EQ(theirs.get_context(), 0);
        ASSERT_EQ(theirs.alloc_pd(), 0);
        const Bytes request = unanswered(theirs.handle).bytes();
        for (int i = 0; i < 3; ++i) {
            goes.send_bytes_without_answer(request, reply.get());
        }
        ASSERT_EQ(theirs.alloc_pd(), 0);
        EXPECT_EQ(waiting(card), 3);
        EXPECT_GE(used(), before + 5);
    }
    EXPECT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(used(), before) << "nothing of it is left";
    const Bytes request = unanswered(verbs.handle).bytes();
    client.send_bytes_without_answer(request, reply.get());
    reply.reset();
    dingo_uverbs_reply answer{};
    ASSERT_EQ(::recv(read.get(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
    EXPECT_EQ(answer.result, -ETIMEDOUT) << "who stays is told when nobody answered";
    EXPECT_EQ(used(), before);
}

TEST_F(UverbsQuota, QueuesAndDoorbellPagesCount) {
    const auto used = [&](const char* what) {
        return card.stats()["quotas"][what]["used"].get<int>();
    };
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const int descriptors = used("descriptor");
    const int mappings = used("mapping");
    ASSERT_EQ(verbs.create_cq(), 0);
    EXPECT_EQ(used("descriptor"), descriptors + 2) << "the file of its ring, a doorbell page";
    EXPECT_EQ(used("mapping"), mappings + 1);
    ASSERT_EQ(verbs.create_cq(), 0);
    EXPECT_EQ(used("descriptor"), descriptors + 2) << "there is room in both";
    client.close();
    EXPECT_TRUE(card.wait_for_clients(0));
    EXPECT_EQ(used("mapping"), mappings) << "nothing of it is left";
}

// Half of the limit, which is twice the machine's memory, is all of the memory.
TEST(UverbsShares, AClientMapsNoMoreThanTheMachineHas) {
    Quota& bytes = process_quotas().bytes;
    const std::size_t half = bytes.limit() / 2;
    const auto alone = std::make_shared<Account>(false);
    const std::size_t before = bytes.refused();
    {
        const Charge most(alone, bytes, half);
        EXPECT_THROW(Charge(alone, bytes, 4096), ErrnoError);
        const Charge next(std::make_shared<Account>(false), bytes, half / 2);
    }
    EXPECT_EQ(bytes.refused(), before + 1);
    const auto memory = shared_file(std::size_t{1} << 40);
    SegmentCache cache;
    const SharedSegment segment{
        .va = 0, .length = std::uint64_t{1} << 40, .offset = 0, .fd = memory.get()};
    const auto map = [&] { return cache.map(0, segment.length, {&segment, 1}, true, alone); };
    try {
        map();
        EXPECT_LE(segment.length, half);
    } catch (const ErrnoError& error) {
        EXPECT_EQ(error.code(), ENOMEM);
    }
    EXPECT_EQ(alone->used(bytes), 0U) << "what was mapped is gone";
}

TEST_F(UverbsQuota, ChannelsCount) {
    const auto used = [&] { return card.stats()["quotas"]["descriptor"]["used"].get<int>(); };
    const int before = used();
    const UniqueFd channel(verbs.channel());
    ASSERT_TRUE(channel);
    EXPECT_EQ(used(), before + 2);
}

TEST(UverbsShares, AnotherUserIsTheSameOnAllCardsOfAProcess) {
    const auto account = Accounts::of(kNobody);
    Accounts first(DeviceAttr{}, 9);
    Accounts second(DeviceAttr{}, 9);
    const std::size_t before = process_quotas().descriptors.used();
    const ConnectionCharge one = first.client(Accounts::of(kNobody));
    const ConnectionCharge other = second.client(Accounts::of(kNobody));
    EXPECT_EQ(account->used(process_quotas().descriptors), 2U);
    EXPECT_EQ(process_quotas().descriptors.used(), before + 2);
}

}  // namespace
}  // namespace dingo::uverbs::test
