// SPDX-License-Identifier: BSD-2-Clause
//
// Host side of a kernel-less card: listens for applications and serves them.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "host/attachment.h"
#include "host/uverbs/device.h"
#include "host/uverbs/listener.h"
#include "host/uverbs/service.h"
#include "host/uverbs/uverbs_file.h"

namespace dingo::uverbs {

class UverbsAttachment final : public HostAttachment, private Pollable {
  public:
    struct Options {
        std::string directory;  ///< contains uverbs.sock
        bool share = false;     ///< other users may connect
        unsigned number = 0;    ///< N of uverbsN
        unsigned max_clients = 1024;
        std::string meeting_place{};  ///< as in DirectCard
    };
    /// `driver` is started and must outlive the attachment. Throws std::runtime_error with a text
    /// for the user.
    UverbsAttachment(const Options& options, Driver& driver);
    ~UverbsAttachment() override;

    /// Sets the function that answers reads of sysfs files whose content changes.
    void set_sysfs(SysfsReader reader) { device_.sysfs = std::move(reader); }

    /// Adds another service for this host's clients. It must outlive the attachment.
    void add_service(Service& service) { services_.push_back(&service); }
    [[nodiscard]] Poller& poller() { return device_.poller; }

    /// Called for any port or device event, after the clients were notified.
    std::function<void(int event)> on_port_event;

    void watch(PollGroup& polls) override;
    void unwatch() override;
    bool settle(Nanoseconds now) override;
    [[nodiscard]] bool pending(Nanoseconds now) override { return device_.driver.pending(now); }
    bool deliver() override { return device_.driver.deliver(); }
    [[nodiscard]] Nanoseconds next_deadline() const override;
    void add_stats(nlohmann::json& all) const override;
    void set_crowded(bool crowded) override { device_.driver.set_crowded(crowded); }
    void set_direct(bool on) override { device_.direct.set_on(on); }
    void stop() override;

    [[nodiscard]] const UverbsStats& stats() const { return device_.stats; }
    [[nodiscard]] std::size_t clients() const { return files_.size(); }

  private:
    /// The descriptors of all clients of this card are a single member of the loop's poller, so
    /// that a card with many clients gets no more turns than others.
    struct Clients final : Pollable {
        explicit Clients(UverbsAttachment& a) : attachment(a) {}
        void ready(std::uint32_t events) override;
        UverbsAttachment& attachment;
    };

    void ready(std::uint32_t events) override;
    void forget_closed();
    void sweep(Nanoseconds now);
    /// What clients did to the data thread since the last look (base/offenders.h).
    void judge();
    void judge(const Offence& offence);

    Options options_;
    Device device_;
    Clients clients_{*this};
    PollGroup* polls_ = nullptr;  ///< group that contains clients_
    Poller::Id clients_id_ = 0;
    Listener listener_;
    std::list<std::unique_ptr<UverbsFile>> files_;  ///< in order of their ids
    std::uint32_t last_id_ = 0;
    log::Limit offence_log_;
    std::vector<Service*> services_;
};

}  // namespace dingo::uverbs
