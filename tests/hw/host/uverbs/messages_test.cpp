// SPDX-License-Identifier: BSD-2-Clause
// Messages without a card: they arrive as sent, with their sender.
#include "host/uverbs/message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "base/errno_error.h"
#include "client.h"
#include "host/uverbs/client_processes.h"

namespace dingo::uverbs::test {
namespace {

struct Ends {
    Ends() {
        std::array<int, 2> pair{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
        client.reset(pair[0]);
        card.reset(pair[1]);
        const int on = 1;
        EXPECT_EQ(::setsockopt(card.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    }
    UniqueFd client, card;
};

/// Returns a file of fixed size, as HELLO may bring.
UniqueFd sealed_page() {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(fd.get(), 4096), 0);
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return fd;
}

ino_t inode(int fd) {
    struct stat st {};
    EXPECT_EQ(::fstat(fd, &st), 0);
    return st.st_ino;
}

// Cards send such requests to each other (JOIN, ROUTES).
TEST(UverbsMessages, ARequestOfOursArrivesAsItWasSentAndItsAnswerToo) {
    const Ends ends, answer;
    const UniqueFd file = sealed_page();
    dingo_uverbs_request header{};
    header.version = DINGO_UVERBS_VERSION;
    header.type = DINGO_UVERBS_RDMA_CM;
    header.pid = 77;
    header.flags = DINGO_UVERBS_TOKEN;
    header.arg = 5;
    header.arg2 = 6;
    for (const std::size_t length : {std::size_t{0}, std::size_t{3}, std::size_t{1000}}) {
        const Bytes payload(length, std::byte{0x5a});
        header.payload_len = static_cast<std::uint32_t>(length);
        const std::array<int, 2> fds{answer.card.get(), file.get()};
        ASSERT_TRUE(send_request(ends.client.get(), header, payload, fds)) << length;
        Message got;
        ASSERT_EQ(receive_message(ends.card.get(), got), Received::kMessage);
        EXPECT_EQ(std::memcmp(&got.header, &header, sizeof header), 0);
        EXPECT_EQ(got.payload, payload);
        EXPECT_EQ(got.pid, ::getpid());
        ASSERT_EQ(got.fds.size(), 1U);
        EXPECT_EQ(inode(got.fds[0].get()), inode(file.get()));

        Reply reply;
        reply.header.type = DINGO_UVERBS_DONE;
        reply.header.result = 9;
        reply.fixups.push_back({1, 4, 0, DINGO_UVERBS_FD_COMP, 0});
        reply.fds.push_back(sealed_page());
        ASSERT_TRUE(send_reply(got.reply.get(), reply));
        std::array<std::byte, 512> room{};
        const RawMessage raw = receive_raw(answer.client.get(), room);
        EXPECT_EQ(raw.bytes,
                  static_cast<ssize_t>(sizeof(dingo_uverbs_reply) + sizeof(dingo_uverbs_fixup)));
        EXPECT_FALSE(raw.cut);
        EXPECT_EQ(raw.fds.size(), 1U);
        dingo_uverbs_reply seen{};
        std::memcpy(&seen, room.data(), sizeof seen);
        EXPECT_EQ(seen.version, std::uint32_t{DINGO_UVERBS_VERSION});
        EXPECT_EQ(seen.num_fixups, 1U);
        EXPECT_EQ(seen.result, 9);
        EXPECT_EQ(
            std::memcmp(room.data() + sizeof seen, reply.fixups.data(), sizeof(dingo_uverbs_fixup)),
            0);
    }
    Message none;
    EXPECT_EQ(receive_message(ends.card.get(), none), Received::kNothing);
}

TEST(UverbsMessages, WhatCannotBeDeliveredIsSaidAndNobodyWaits) {
    Ends ends;
    const Ends answer;
    dingo_uverbs_request header{};
    const std::array<int, 1> fds{answer.card.get()};
    const auto sends = [&] { return send_request(ends.client.get(), header, {}, fds); };
    unsigned sent = 0;
    while (sent < 10'000 && sends()) {
        ++sent;
    }
    EXPECT_GT(sent, 0U);
    EXPECT_LT(sent, 10'000U) << "the queue has an end";
    Reply reply;
    unsigned replies = 0;
    while (replies < 10'000 && send_reply(answer.card.get(), reply)) {
        ++replies;
    }
    EXPECT_GT(replies, 0U);
    EXPECT_LT(replies, 10'000U);
    ends.card.reset();
    EXPECT_FALSE(sends());
}

dingo_uverbs_request with_gpu(std::uint32_t type, std::uint32_t payload) {
    dingo_uverbs_request header{};
    header.version = DINGO_UVERBS_VERSION;
    header.type = type;
    header.flags = DINGO_UVERBS_GPU;
    header.payload_len = payload;
    return header;
}

TEST(UverbsMessages, MemoryOfAGpuIsTakenInAllItsForms) {
    struct Row {
        std::uint32_t kind;
        std::uint64_t offset, size;
        std::size_t fds;
        bool good;
    };
    constexpr std::uint64_t kMost = INT64_MAX;
    const Row rows[] = {
        {DINGO_UVERBS_GPU_IPC, 0, 1, 0, true},
        {DINGO_UVERBS_GPU_IPC, 4095, 4096, 0, true},
        {DINGO_UVERBS_GPU_IPC, kMost - 1, kMost, 0, true},
        {DINGO_UVERBS_GPU_DESCRIPTOR, 0, 4096, 1, true},
        {DINGO_UVERBS_GPU_IPC, 0, 0, 0, false},
        {DINGO_UVERBS_GPU_IPC, 4096, 4096, 0, false},
        {DINGO_UVERBS_GPU_IPC, 0, kMost + 1, 0, false},
        {DINGO_UVERBS_GPU_IPC, 0, 4096, 1, false},
        {DINGO_UVERBS_GPU_DESCRIPTOR, 0, 4096, 0, false},
        {DINGO_UVERBS_GPU_DESCRIPTOR, 0, 4096, 2, false},
        {0, 0, 4096, 0, false},
        {3, 0, 4096, 0, false},
    };
    for (const auto type : {DINGO_UVERBS_IOCTL, DINGO_UVERBS_WRITE}) {
        for (const Row& row : rows) {
            const Ends ends, answer;
            const dingo_uverbs_request header = with_gpu(type, 8);
            dingo_uverbs_gpu gpu{};
            gpu.kind = row.kind;
            gpu.offset = row.offset;
            gpu.size = row.size;
            gpu.uuid[15] = 1;
            gpu.ipc_handle[63] = 2;
            Bytes bytes;
            append(bytes, gpu);
            append(bytes, std::uint64_t{0x1122334455667788});
            std::vector<int> fds{answer.card.get()};
            fds.resize(1 + row.fds, answer.client.get());
            ASSERT_TRUE(send_request(ends.client.get(), header, bytes, fds));
            Message got;
            const auto text = testing::PrintToString(
                std::vector<std::uint64_t>{row.kind, row.offset, row.size, row.fds});
            EXPECT_EQ(receive_message(ends.card.get(), got),
                      row.good ? Received::kMessage : Received::kMalformed)
                << text;
            if (row.good && got.gpu) {
                EXPECT_EQ(std::memcmp(&*got.gpu, &gpu, sizeof gpu), 0) << text;
                EXPECT_EQ(got.payload, Bytes(bytes.begin() + sizeof gpu, bytes.end()));
                EXPECT_EQ(got.fds.size(), row.fds);
            }
        }
    }
}

// A region may span several allocations; a message carries 252 descriptors and the reply socket.
TEST(UverbsMessages, AllocationsOfAGpuAreTakenWithTheirSizes) {
    using Sizes = std::vector<std::uint64_t>;
    struct Row {
        std::uint64_t offset, size;
        Sizes sizes;
        std::size_t fds;
        bool good;
    };
    const Row rows[] = {
        {0, 8192, {4096, 4096}, 2, true},     {4095, 12288, {4096, 8192}, 2, true},
        {0, 4096, {4096}, 1, true},           {0, 252, Sizes(252, 1), 252, true},
        {4096, 8192, {4096, 4096}, 2, false},  // the region begins after the first allocation
        {0, 8191, {4096, 4096}, 2, false},    {0, 8193, {4096, 4096}, 2, false},
        {0, 8192, {4096, 4096}, 1, false},    {0, 8192, {4096, 4096}, 3, false},
        {0, 8192, {8192, 0}, 2, false},       {0, 8192, {UINT64_MAX, 8193}, 2, false},
    };
    for (const Row& row : rows) {
        const Ends ends, answer;
        const dingo_uverbs_request header = with_gpu(DINGO_UVERBS_WRITE, 8);
        dingo_uverbs_gpu gpu{};
        gpu.kind = DINGO_UVERBS_GPU_DESCRIPTOR;
        gpu.offset = row.offset;
        gpu.size = row.size;
        gpu.num_pieces = static_cast<std::uint32_t>(row.sizes.size());
        Bytes bytes;
        append(bytes, gpu);
        for (const std::uint64_t size : row.sizes) {
            append(bytes, size);
        }
        append(bytes, std::uint64_t{0x1122334455667788});
        std::vector<int> fds{answer.card.get()};
        fds.resize(1 + row.fds, answer.client.get());
        ASSERT_TRUE(send_request(ends.client.get(), header, bytes, fds));
        Message got;
        EXPECT_EQ(receive_message(ends.card.get(), got),
                  row.good ? Received::kMessage : Received::kMalformed)
            << testing::PrintToString(row.sizes) << row.size;
        if (row.good) {
            EXPECT_EQ(got.pieces, row.sizes);
            EXPECT_EQ(got.payload, Bytes(bytes.end() - 8, bytes.end()));
            EXPECT_EQ(got.fds.size(), row.fds);
        }
    }
}

// The number of sizes must not be trusted beyond the message.
TEST(UverbsMessages, SizesOfAllocationsThatAreMissingAreNotRead) {
    for (const std::uint32_t said : {2U, 3U, 252U, UINT32_MAX}) {
        const Ends ends, answer;
        const dingo_uverbs_request header = with_gpu(DINGO_UVERBS_WRITE, 0);
        dingo_uverbs_gpu gpu{};
        gpu.kind = DINGO_UVERBS_GPU_DESCRIPTOR;
        gpu.size = 4096;
        gpu.num_pieces = said;
        Bytes bytes;
        append(bytes, gpu);
        append(bytes, std::uint64_t{4096});
        std::vector<int> fds(1 + std::min(said, 252U), answer.card.get());
        ASSERT_TRUE(send_request(ends.client.get(), header, bytes, fds));
        Message got;
        EXPECT_EQ(receive_message(ends.card.get(), got), Received::kMalformed) << said;
    }
}

Message hello_of(pid_t pid, std::uint32_t said) {
    Message message;
    message.pid = pid;
    message.header.pid = said;
    return message;
}

pid_t one_that_is_gone() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    return child;
}

// A descriptor may be used by 256 processes at the same time, and by any number one after the
// other.
TEST(UverbsProcesses, ThoseThatAreGoneMakeRoomAndOthersDoNot) {
    ClientProcesses processes;
    const auto admit = [&](pid_t pid, std::uint32_t said) {
        try {
            processes.admit(hello_of(pid, said));
            return 0;
        } catch (const ErrnoError& e) {
            return e.code();
        }
    };
    constexpr std::uint32_t kElsewhere = ClientProcesses::kMost - 2;
    for (std::uint32_t n = 1; n <= kElsewhere; ++n) {  // in namespaces that are not visible here
        ASSERT_EQ(admit(0, n), 0) << n;
    }
    const pid_t gone = one_that_is_gone();
    ASSERT_EQ(admit(::getpid(), 0), 0);
    ASSERT_EQ(admit(gone, 0), 0);
    EXPECT_EQ(admit(0, 1000), 0);
    EXPECT_FALSE(processes.contains(gone));
    EXPECT_NE(::kill(gone, 0), 0);  // leaves an unrelated errno
    EXPECT_EQ(admit(0, 1001), ENOMEM);
    EXPECT_TRUE(processes.contains(::getpid()));
    for (std::uint32_t n = 1; n <= kElsewhere; ++n) {
        EXPECT_TRUE(processes.contains(-std::int64_t{n})) << n;
    }
}

}  // namespace
}  // namespace dingo::uverbs::test
