// SPDX-License-Identifier: BSD-2-Clause
// The attachment of a card without a loop: the test runs the card's rounds and sets its time.
#pragma once

#include <poll.h>

#include <chrono>
#include <future>

#include "rings.h"
#include "running_card.h"

namespace dingo::uverbs::test {

class StillCard : public testing::Test {
  protected:
    StillCard() {
        driver.start(card);
        attachment.emplace(UverbsAttachment::Options{.directory = directory}, driver);
        attachment->watch(polls);
        card.set_kick_polls(&polls);
    }
    ~StillCard() override {
        if (attachment) {
            attachment->unwatch();
            attachment.reset();
        }
        card.set_frame_tap(nullptr);
        std::filesystem::remove_all(directory);
    }
    static EngineConfig config() {
        model::register_model_engine();
        EngineConfig config;
        config.memory_doorbells = true;
        return config;
    }
    void turn() {
        poller.wait(1'000'000);
        card.poll(now);
        attachment->settle(now);
    }
    /// Runs a client's call in a thread while the card has its rounds.
    template <typename Fn>
    auto serve(Fn fn) {
        auto answer = std::async(std::launch::async, fn);
        while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
            turn();
        }
        return answer.get();
    }
    /// Creates an address handle for a neighbour that does not answer.
    static Request address_request(std::uint32_t pd) {
        static std::uint64_t response = 0;
        constexpr std::array<std::uint8_t, 16> kPeer{0, 0, 0,    0,    0,  0,  0, 0,
                                                     0, 0, 0xff, 0xff, 10, 77, 0, 9};
        auto cmd = Verbs::zeroed<ib_uverbs_create_ah>();
        cmd.pd_handle = pd;
        cmd.attr.is_global = cmd.attr.port_num = cmd.attr.grh.sgid_index = 1;
        std::memcpy(cmd.attr.grh.dgid, kPeer.data(), kPeer.size());
        cmd.response = reinterpret_cast<std::uintptr_t>(&response);
        Request request(DINGO_UVERBS_WRITE);
        request.payload = Client::classic(IB_USER_VERBS_CMD_CREATE_AH, cmd, sizeof response);
        return request;
    }
    /// Returns true if the loop would run a round.
    bool wakes() const {
        pollfd ready{poller.fd(), POLLIN, 0};
        return ::poll(&ready, 1, 0) != 0;
    }

    const std::string directory = fresh_directory();
    Nanoseconds now = 1'000'000;
    std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> wires = make_loop_pair();
    Driver driver{[] {
        DriverConfig config;
        config.addresses = {"10.77.0.1/24"};
        config.device_memory = 1U << 20;
        return config;
    }()};
    Card card{"model", config(), driver, *wires.first};
    Poller poller;
    PollGroup polls{poller, [] {}};
    std::optional<UverbsAttachment> attachment;
};

}  // namespace dingo::uverbs::test
