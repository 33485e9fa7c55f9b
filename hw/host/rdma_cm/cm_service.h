// SPDX-License-Identifier: BSD-2-Clause
//
// The counterpart of the kernel's rdma_ucm and rdma_cm for the applications of a kernel-less card:
// their descriptors and identifiers, and the card's QP1.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/poller.h"
#include "base/quota.h"
#include "host/driver/driver.h"
#include "host/driver/gsi.h"
#include "host/driver/numbers.h"
#include "host/rdma_cm/cm/manager.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"
#include "host/rdma_cm/place.h"
#include "host/rdma_cm/ports.h"
#include "host/rdma_cm/routes.h"
#include "host/uverbs/listener.h"
#include "host/uverbs/service.h"

namespace dingo::rdma_cm {

class CmService final : public uverbs::Service,
                        private Pollable,
                        private cm::CmPort,
                        private cm::Listeners {
  public:
    struct Options {
        std::string directory;  ///< the card's directory
        bool share = false;
    };
    /// The card is up and its sysfs files exist. Throws std::runtime_error with a text for the
    /// user.
    CmService(const Options& options, uverbs::Driver& driver, Poller& poller);
    ~CmService() override;

    bool settle(Nanoseconds now) override;
    [[nodiscard]] Nanoseconds next_deadline() const override;
    void add_stats(nlohmann::json& all) const override;
    void stop() override;

    // Used by files and identifiers.
    [[nodiscard]] uverbs::Driver& driver() { return driver_; }
    [[nodiscard]] Poller& poller() { return poller_; }
    [[nodiscard]] cm::Manager& manager() { return manager_; }
    [[nodiscard]] Ports& ports() { return ports_; }
    /// Counts the ports that the card has chosen.
    [[nodiscard]] Quota& port_quota() { return port_quota_; }
    [[nodiscard]] const Routes& routes() const { return routes_; }
    [[nodiscard]] std::uint64_t node_guid() const { return device_.node_guid; }
    [[nodiscard]] std::uint8_t rate() const { return rate_; }
    [[nodiscard]] std::uint8_t mtu() const override;
    [[nodiscard]] Nanoseconds now() const override;
    std::uint32_t random() override;
    void count_malformed() { ++malformed_; }

    /// Returns nullptr if there are too many.
    Id* make_id(File& file, std::uint64_t uid, std::uint16_t space, std::uint8_t qp_type);
    [[nodiscard]] Id* find_id(std::uint32_t number) const;
    void remove_id(Id& id);
    /// Returns nullptr if there are too many.
    GroupJoin* make_join(Id& id, std::uint64_t uid);
    [[nodiscard]] GroupJoin* find_join(std::uint32_t number) const;
    void remove_join(const GroupJoin& join);
    void add_listener(Id& id);
    void drop_listener(Id& id);
    /// Returns a key for the identifier with this number that is never reused.
    std::uint64_t next_key(std::uint32_t number) { return ++last_key_ << 32 | number; }
    /// Polls the identifier in the next round and at its deadline(), until unwatch().
    void watch(Id& id);
    void unwatch(const Id& id) { deadlines_.erase({id.deadline(), id.number()}); }
    void poll_soon(const Id& id) { soon_.push_back(id.number()); }

  private:
    // Pollable: a client connects.
    void ready(std::uint32_t events) override;
    // cm::CmPort
    void send(const cm::Path& path, const cm::Mad& mad) override;
    [[nodiscard]] std::uint64_t ca_guid() const override { return device_.node_guid; }
    [[nodiscard]] std::uint8_t ack_delay() const override;
    [[nodiscard]] int gid_index(const Gid& gid) const override { return routes_.gid_index(gid); }
    // cm::Listeners
    Answer on_request(cm::Communication& connection, const cm::Request& request) override;

    [[nodiscard]] Id* listener_for(std::uint16_t space, const Address& destination) const;

    Options options_;
    uverbs::Driver& driver_;
    Poller& poller_;
    uverbs::DeviceAttr device_;
    std::uint8_t rate_;
    Routes routes_;
    Ports ports_;
    uverbs::Gsi gsi_;
    cm::Manager manager_;
    Quota file_quota_;
    Quota id_quota_;
    Quota port_quota_;
    Quota join_quota_;
    uverbs::IdPool numbers_;
    uverbs::IdPool join_numbers_;
    std::map<std::uint32_t, std::unique_ptr<GroupJoin>> joins_;
    /// when identifiers that resolve an address give up
    std::set<std::pair<Nanoseconds, std::uint32_t>> deadlines_;
    std::vector<std::uint32_t> soon_;
    std::map<std::uint32_t, std::unique_ptr<Id>> ids_;
    std::map<std::pair<std::uint16_t, std::uint16_t>, std::vector<Id*>> listeners_;
    std::list<std::unique_ptr<File>> files_;
    std::uint64_t last_key_ = 0;
    std::uint64_t malformed_ = 0;
    std::uint64_t refused_ = 0;
    uverbs::Listener listener_;
    Poller::Id listener_id_ = 0;
    Place place_;
};

}  // namespace dingo::rdma_cm
