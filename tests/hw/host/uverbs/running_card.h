// SPDX-License-Identifier: BSD-2-Clause
// A complete kernel-less card with the model as its engine, its data thread and its control thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "app/card_loop.h"
#include "app/control_loop.h"
#include "base/elsewhere.h"
#include "base/unix_socket.h"
#include "dingo/model.h"
#include "host/rdma_cm/cm_service.h"
#include "host/uverbs/attachment.h"
#include "verbs.h"

namespace dingo::uverbs::test {

inline std::string fresh_directory() {
    static std::atomic<int> number{0};
    const auto dir =
        std::filesystem::temp_directory_path() /
        ("dingo-uverbs-test." + std::to_string(::getpid()) + "." + std::to_string(++number));
    std::filesystem::create_directories(dir);
    return dir.string();
}

class RunningCard {
  public:
    explicit RunningCard(unsigned max_clients = 1024, std::uint64_t device_memory = 16U << 20,
                         bool rdma_cm = false, unsigned host = 1, std::uint64_t withheld = 0)
        : directory(fresh_directory()), driver_(driver_config(device_memory, host)) {
        model::register_model_engine();
        auto ends = make_loop_pair();
        // There is no card at the other end: drop all frames, or the full wire would block all
        // clients.
        WireOptions broken;
        broken.faults = "drop=1";
        wire_ = wrap_wire(std::move(ends.first), broken);
        peer_ = std::move(ends.second);
        EngineConfig config;
        config.memory_doorbells = true;
        config.mac += host - 1;
        config.withheld = withheld;
        card_.emplace("model", config, driver_, *wire_, engine_gate_);
        driver_.start(*card_);
        attachment_.emplace(UverbsAttachment::Options{.directory = directory,
                                                      .share = false,
                                                      .number = 3,
                                                      .max_clients = max_clients,
                                                      .meeting_place = directory + "/net"},
                            driver_);
        attachment_->set_sysfs([this](const std::string& path) {
            if (path == kGate) {
                at_gate_.release();
                gate_.lock();
                gate_.unlock();
            }
            return path == "class/known" ? std::optional<std::string>("42\n") : std::nullopt;
        });
        if (rdma_cm) {
            rdma_cm_.emplace(rdma_cm::CmService::Options{.directory = directory, .share = false},
                             driver_, attachment_->poller());
            attachment_->add_service(*rdma_cm_);
        }
        stop_.reset(::eventfd(0, EFD_CLOEXEC));
        served_.emplace(directory + "/control", *card_, *attachment_, *wire_);
        control_.emplace(stop_.get());
        data_.emplace(IdlePolicy::Limits{}, engine_gate_);
        control_->add(*served_);
        data_->add(*served_);
        threads_.emplace_back([this] { control_->run(); });
        threads_.emplace_back([this] { data_->run(); });
        wait_for_data_thread();
    }
    ~RunningCard() {
        stop();
        data_.reset();
        served_.reset();
        rdma_cm_.reset();
        attachment_.reset();
        std::filesystem::remove_all(directory);
    }
    /// Stops the card as SIGTERM does.
    void stop() {
        if (!threads_.empty()) {
            EXPECT_EQ(::eventfd_write(stop_.get(), 1), 0);
            threads_.front().join();
            data_->end();
            threads_.back().join();
            threads_.clear();
        }
    }

    nlohmann::json control(const std::string& line) const {
        const UniqueFd fd = connect_unix(directory + "/control");
        const std::string text = line + "\n";
        EXPECT_EQ(::send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        std::string reply;
        char c = 0;
        while (::recv(fd.get(), &c, 1, 0) == 1 && c != '\n') {
            reply += c;
        }
        ::shutdown(fd.get(), SHUT_WR);
        while (::recv(fd.get(), &c, 1, 0) > 0) {  // until the card has closed its end
        }
        return nlohmann::json::parse(reply, nullptr, false);
    }
    /// Number of visits of the gate by all visitors.
    std::uint64_t visits() const { return engine_gate_->visits(); }
    nlohmann::json stats() const { return control(R"({"cmd":"stats"})"); }
    /// Returns the number of objects of all clients.
    int objects(const char* type) const {
        int n = 0;
        const auto all = stats();
        for (const auto& client : all["clients"]) {
            n += client["objects"].value(type, 0);
        }
        return n;
    }
    /// Waits until this many clients are connected. Returns false on a timeout.
    bool wait_for_clients(std::size_t n) const {
        for (int i = 0; i < 3000; ++i) {
            if (stats()["clients"].size() == n) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return false;
    }

    /// Between a client's request for this sysfs path and open_gate(), the card serves no client.
    static constexpr const char* kGate = "class/gate";
    void close_gate() { gate_.lock(); }
    void open_gate() { gate_.unlock(); }
    /// Waits until the card handles such a request. Messages sent before may have been handled by
    /// then; those sent from now on wait.
    [[nodiscard]] bool wait_at_gate() { return at_gate_.try_acquire_for(std::chrono::seconds(60)); }

    const std::string directory;

  private:
    /// Waits for the data thread: it opens a file of its own when it starts, while the control
    /// thread may serve already.
    void wait_for_data_thread() const {
        for (int i = 0; i < 10'000; ++i) {
            const auto loop = stats()["card"];
            if (loop["naps"].get<int>() + loop["sleeps"].get<int>() != 0) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        ADD_FAILURE() << "the data thread never rests";
    }
    static DriverConfig driver_config(std::uint64_t device_memory, unsigned host) {
        DriverConfig config;
        config.device_memory = device_memory;
        config.addresses = {"10.77.0." + std::to_string(host) + "/24"};
        return config;
    }

    std::mutex gate_;
    std::counting_semaphore<> at_gate_{0};
    std::shared_ptr<Gate> engine_gate_ = std::make_shared<Gate>();
    Driver driver_;
    std::unique_ptr<Wire> wire_;
    std::unique_ptr<Wire> peer_;
    std::optional<Card> card_;
    std::optional<UverbsAttachment> attachment_;
    std::optional<rdma_cm::CmService> rdma_cm_;
    UniqueFd stop_;
    std::optional<ServedCard> served_;
    std::optional<ControlLoop> control_;
    std::optional<CardLoop> data_;
    std::vector<std::thread> threads_;
};

/// Counts descriptors after those being closed on other threads, and sockets of answers that were
/// read, are gone: returns the minimum of several counts.
inline std::size_t open_descriptors() {
    for (int i = 0; i < 5000 && closing_elsewhere() != 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::size_t least = SIZE_MAX;
    for (int i = 0; i < 20; ++i) {
        std::size_t n = 0;
        for ([[maybe_unused]] const auto& entry :
             std::filesystem::directory_iterator("/proc/self/fd")) {
            ++n;
        }
        least = std::min(least, n);
        std::this_thread::sleep_for(std::chrono::nanoseconds(kSweepEvery / 8));
    }
    return least;
}

}  // namespace dingo::uverbs::test
