// SPDX-License-Identifier: BSD-2-Clause
//
// A card that implements the protocol and does what the tests request by method numbers.
#pragma once

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "host/uverbs/protocol.h"

/// Methods of the fake card's ioctl; numbers in attrs[].data.
enum FakeMethod : std::uint16_t {
    kEcho = 1,          ///< [0] address: its 8 bytes are read, incremented and written to [1]
    kChannels = 2,      ///< addresses for the numbers of a completion and an async channel
    kShare = 3,         ///< [0] va, [1] length, [2] writable; result: bytes shared
    kPoke = 4,          ///< [0] va, [1] value: written through the shared memory
    kPeek = 5,          ///< [0] va; result: the byte there, through the shared memory
    kDie = 6,           ///< stops answering
    kNeedFd = 7,        ///< [0] descriptor; result: its size from fstat()
    kHellos = 8,        ///< result: number of HELLOs received
    kCmWaiting = 9,     ///< result: number of GET_EVENTs of rdma_cm that were told to wait
    kCmEvent = 10,      ///< sends an event to every rdma_cm descriptor
    kCmGivenBack = 11,  ///< result: number of idle tokens removed
    kPlaces = 12,       ///< result: number of different parts of files shared
    kMemoryKind = 13,   ///< result: 1 if the caller's HELLO brought /proc/PID/mem; 2 if one of
                        ///< rdma_cm did
    /// [0] room for 16 bytes; [1] the defect of the answer: 0 none, 1 longer than the room, 2 for
    /// an argument that does not exist, 3 shorter than it says, 4 for a longer ioctl, 5 with an
    /// error, 6 to [2], an input; 7: only the last attribute is valid
    kAnswer = 14,
    /// [0] va, [1] descriptor that the card asks for when it is to register other memory,
    /// pretending that the request names them
    kSteal = 15,
    kVersion = 17,    ///< the answer is of protocol version [0]
    kEchoes = 16,     ///< result: number of ECHOs executed
    kHoldHello = 18,  ///< the next HELLO of this connection is answered together with another one
    /// [0] WRITE_CMD, [1] CORE_IN of REG_MR: the region is shared; result: bytes shared
    kInvokeWrite = UVERBS_METHOD_INVOKE_WRITE,
};

class FakeCard {
  public:
    /// `user`: owner of the card; root may create cards of other users.
    explicit FakeCard(const std::filesystem::path& dir, uid_t user = ::geteuid());
    ~FakeCard();
    /// Without this call the view has no /dev/infiniband/rdma_cm.
    void offer_rdma_cm() const;

  private:
    struct Client {
        dingo::UniqueFd fd;
        bool rdma_cm = false;
    };
    struct Segment {
        std::uint64_t va;
        std::uint64_t length;
        std::uint64_t offset;
        std::uint8_t* at;
    };
    struct Message {
        dingo_uverbs_request head;
        std::vector<dingo_uverbs_segment> segments;
        std::vector<std::uint8_t> payload;
        std::vector<dingo_uverbs_argument> arguments;
        std::vector<std::vector<std::uint8_t>> bytes;  ///< of each argument
        std::vector<dingo::UniqueFd> fds;
    };

    dingo::UniqueFd listen(const std::string& name) const;
    void run();
    bool receive(int fd, Message& message);
    void handle(Message& message, const Client& client);
    void ioctl(const Message& message, dingo_uverbs_reply& reply);
    void rdma_cm(const Message& message, dingo_uverbs_reply& reply);
    int send_token();
    void take_segments(const Message& message, std::uint64_t va, std::uint64_t length,
                       dingo_uverbs_reply& reply);
    std::uint8_t* shared_at(std::uint64_t va);
    void send(int fd, const dingo_uverbs_reply& reply);

    /// Returns the number of the argument at an address, from 1; 0 if there is none.
    static std::uint32_t number_of(const Message& message, std::uint64_t va);
    /// Returns the bytes sent for an address; empty if there are none.
    static std::vector<std::uint8_t> brought(const Message& message, std::uint64_t va);
    void result(std::uint32_t argument, std::vector<std::uint8_t> bytes);
    void answer(const Message& message, std::uint64_t how);
    void register_memory(const Message& message, const ib_uverbs_attr& command,
                         dingo_uverbs_reply& reply);
    void register_dmabuf(const Message& message, dingo_uverbs_reply& reply);

    std::filesystem::path dir_;
    uid_t user_;
    std::array<dingo::UniqueFd, 2> listeners_;  ///< uverbs, rdma_cm
    std::vector<Client> clients_;
    std::map<std::uint32_t, dingo::UniqueFd> memory_;  ///< by pid
    std::vector<dingo::UniqueFd> channels_;            ///< our ends
    std::vector<dingo_uverbs_fixup> fixups_;
    std::vector<dingo::UniqueFd> reply_fds_;
    std::vector<dingo_uverbs_result> results_;
    std::vector<std::uint8_t> result_bytes_;
    std::vector<Segment> segments_;
    std::uint64_t wanted_va_ = 0;  ///< kSteal
    std::int32_t wanted_fd_ = -1;
    int asks_ = -1;   ///< connection of the present request
    int holds_ = -1;  ///< connection whose HELLO is held back
    dingo::UniqueFd held_;
    bool cm_memory_ = false;
    int echoes_ = 0;
    int hellos_ = 0;
    int cm_waiting_ = 0;
    int cm_given_back_ = 0;
    std::atomic<bool> stop_ = false;
    bool dead_ = false;
    std::thread thread_;
};
