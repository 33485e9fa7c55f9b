// SPDX-License-Identifier: BSD-2-Clause
//
// The driver of a kernel-less card: for hw/host/uverbs what dingo.ko is for ib_core. It owns the
// admin queue, the event queues, queue memory, doorbell pages, numbers and keys, and accesses the
// engine only through the contract: registers, admin commands, doorbells.
//
// Everything but the HostPort, pending() and set_crowded() is called by one thread at a time, not
// necessarily the card's (docs/reference/threads.md). Failures are ErrnoError with the errno of
// dingo.ko. Destructors of objects cannot fail: they first destroy on the card, then free. Objects
// must be destroyed before those that they refer to (the front end counts references).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/quota.h"
#include "dingo/engine.h"
#include "host/driver/admin_queue.h"
#include "host/driver/bus_map.h"
#include "host/driver/capabilities.h"
#include "host/driver/clock.h"
#include "host/driver/device_attr.h"
#include "host/driver/doorbells.h"
#include "host/driver/event_queues.h"
#include "host/driver/far_watch.h"
#include "host/driver/gid_table.h"
#include "host/driver/last_sends.h"
#include "host/driver/mr_keys.h"
#include "host/driver/neighbours.h"
#include "host/driver/numbers.h"
#include "host/driver/object_tables.h"
#include "host/driver/shared_segments.h"
#include "host/driver/shares.h"
#include "host/driver/status_page.h"
#include "host/driver/tap_queue.h"
#include "host/driver/verbs_types.h"
#include "host/local_card.h"
#include "host/not_yet.h"

namespace dingo::uverbs {

class Context;

using Counters = std::vector<std::pair<std::string, std::uint64_t>>;

struct DriverConfig {
    std::string ib_name = "dingo0";
    std::vector<std::string>
        addresses;             ///< "10.77.0.1/24", "fd77::1/64"; the link-local address is added
    std::uint32_t mtu = 9000;  ///< Ethernet MTU of the port in bytes
    std::uint64_t device_memory = 16U << 20;  ///< bytes for ibv_alloc_dm(), whole pages; 0: none
};

class Driver final : public HostPort {
  public:
    explicit Driver(DriverConfig config);
    ~Driver() override;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Initializes the card: reset, admin queue, event queues, port, GIDs. Separate from the
    /// constructor, as the engine's constructor needs the HostPort. Throws std::runtime_error with
    /// a text for the user.
    void start(LocalCard& card);

    /// Delivers events and retries neighbours. Called after every Card::poll(), or when pending()
    /// returns true. Returns true if it did something.
    bool poll(Nanoseconds now);
    /// Returns true if poll() has work. Called by the card's thread after each round.
    [[nodiscard]] bool pending(Nanoseconds now);
    /// Does the part of poll() for which programs wait: events. Called by any thread while no other
    /// one uses the driver. Returns true if work is left for poll() or the services.
    bool deliver();
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// Tells polling clients whether the card lacks processor time.
    void set_crowded(bool crowded);

    /// Any port or device event (enum ibv_event_type: PORT_ACTIVE, PORT_ERR, DEVICE_FATAL,
    /// GID_CHANGE). In poll(), not in deliver().
    std::function<void(int event)> on_port_event;

    [[nodiscard]] DeviceAttr query_device() const;
    /// UD QPs can be attached to multicast groups.
    [[nodiscard]] bool has_groups() const;
    /// The compute kernels: dingo_query_device_resp.
    void query_compute(Udata& udata);
    [[nodiscard]] PortAttr query_port();
    /// The port's enum ibv_mtu, determined by the host without asking the card.
    [[nodiscard]] PortMtu mtu() const;
    /// Number of entries in the GID table.
    [[nodiscard]] std::uint32_t gid_table_size() const;
    /// Number of completion event queues, the limit for Cq's comp_vector.
    [[nodiscard]] std::uint32_t num_comp_vectors() const { return eqs_->comp_vectors(); }
    [[nodiscard]] const std::vector<GidEntry>& gids() const { return gids_->entries(); }
    [[nodiscard]] std::uint64_t clock_ns() const;  ///< register CLOCK
    /// For ibv_create_ah: dingo_create_ah_resp. NotYet as Qp::modify.
    void create_ah(const AhAttr& attr, Udata& udata);
    /// Resolves the MAC address of `gid`. Throws NotYet while it is being resolved; ErrnoError:
    /// ENETUNREACH, ENOBUFS.
    void resolve(const Gid& gid);
    /// Calls `waiter`, in a poll(), when the call that threw this NotYet can be repeated.
    void await(const NotYet& what, Waiter& waiter) {
        neighbours_->await(packet::Gid{what.neighbour()}, waiter);
    }
    /// The same for a call that threw NotSent.
    void await(const NotSent& what, Waiter& waiter) { last_sends_->await(what, waiter); }

    /// Makes all regions of `account` far memory, because its clients make accesses slow. Returns
    /// how many regions were near.
    std::size_t make_far(const std::shared_ptr<Account>& account);

    /// Counters of the card, or of one QP, by hw_counters name in contract order.
    Counters card_counters();
    Counters qp_counters(std::uint32_t qpn);
    /// Adds traffic that the card does not see to the counters, with a QPN to those of that QP.
    std::function<void(Counters& counters, std::optional<std::uint32_t> qpn)> on_counters;

    /// Completions of QPs that were destroyed. Call count_gone() before a QP is destroyed.
    [[nodiscard]] std::uint64_t messages_of_gone() const { return messages_of_gone_; }
    void count_gone(std::uint32_t qpn);

    /// Frames for the neighbour table that were dropped, as too many came at once.
    [[nodiscard]] std::uint64_t tap_drops() const { return tapped_->dropped(); }

    [[nodiscard]] const DriverConfig& config() const { return config_; }
    [[nodiscard]] Mac mac() const { return mac_; }

    // HostPort
    bool dma_read(std::uint64_t addr, std::span<std::byte> dst) override;
    bool dma_write(std::uint64_t addr, std::span<const std::byte> src) override;
    bool dma_atomic(std::uint64_t addr, const FarMemory::Atomic& request,
                    std::uint64_t& before) override;
    std::byte* dma_pointer(std::uint64_t addr, std::size_t len) override;
    /// A region's mapping is removed after its DESTROY_MR.
    [[nodiscard]] bool pointers_last() const override { return true; }
    void raise_msix(unsigned vector) override;
    FarMemory* far_memory() override { return &far_; }

    // Used after start() by the driver's objects, in this folder only.

    [[nodiscard]] const Capabilities& capabilities() const { return caps_; }
    [[nodiscard]] LocalCard& card() { return *card_; }
    [[nodiscard]] AdminQueue& admin() { return *admin_; }
    [[nodiscard]] BusMap& bus() { return bus_; }
    [[nodiscard]] const FarStreams& far() const { return far_; }
    /// For each context: the card wakes for far memory as long as there is one.
    [[nodiscard]] std::shared_ptr<FarWatch> watch_far();
    [[nodiscard]] EventQueues& event_queues() { return *eqs_; }
    [[nodiscard]] DoorbellPages& doorbell_pages() { return *doorbells_; }
    /// Null if the card has no shares.
    [[nodiscard]] Shares::Share share_of(const ShareOwner& owner) {
        return caps_.has(DINGO_CAP_SHARES) ? shares_->of(owner) : nullptr;
    }
    [[nodiscard]] Neighbours& neighbours() { return *neighbours_; }
    [[nodiscard]] LastSends& last_sends() { return *last_sends_; }
    [[nodiscard]] StatusPage& status_page() { return *status_; }
    /// Bytes of device memory, in whole pages; limit 0: the card has none.
    [[nodiscard]] Quota& device_memory() { return device_memory_; }
    [[nodiscard]] SegmentCache& segments() { return segments_; }
    [[nodiscard]] IdPool& pdns() { return pdns_; }
    [[nodiscard]] MrKeys& keys() { return keys_; }
    [[nodiscard]] CqTable& cqs() { return cqs_; }
    [[nodiscard]] QpTable& qps() { return qps_; }
    [[nodiscard]] SrqTable& srqs() { return srqs_; }
    /// Keeps memory of an object that the card failed to destroy, so that no other object gets its
    /// bus addresses during the driver's lifetime.
    void keep(std::shared_ptr<const void> memory) {
        if (memory) {
            kept_.push_back(std::move(memory));
        }
    }
    /// CQN reserved for the GSI QP, not allocated by cqs().
    [[nodiscard]] std::uint32_t gsi_cqn() const { return static_cast<std::uint32_t>(cqs_.size()); }

  private:
    [[nodiscard]] std::uint32_t read32(std::uint32_t reg) const {
        return static_cast<std::uint32_t>(card_->read(Bar::kRegisters, reg, 4));
    }
    void query_limits();
    void start_port(const std::vector<Prefix>& prefixes);
    void dispatch(const dingo_eqe& event);

    DriverConfig config_;
    BusMap bus_;  ///< outlives all memory that it maps
    FarStreams far_{bus_};
    std::weak_ptr<FarWatch> far_watch_;
    LocalCard* card_ = nullptr;
    Capabilities caps_;
    Mac mac_{};
    std::optional<StatusPage> status_;
    std::optional<Clock> clock_;
    std::optional<AdminQueue> admin_;
    std::optional<Shares> shares_;
    std::optional<DoorbellPages> doorbells_;
    std::optional<EventQueues> eqs_;
    std::optional<GidTable> gids_;
    std::optional<Neighbours> neighbours_;
    std::optional<LastSends> last_sends_;
    std::optional<TapQueue> tapped_;          ///< frames on their way to neighbours_
    std::atomic<std::uint64_t> vectors_ = 0;  ///< raised and not yet processed
    bool gsi_event_ = false;                  ///< completions of the GSI QP were reported
    /// Received, to be handled by poll(): they change files, which may take long.
    std::vector<int> port_events_;
    bool told_fatal_ = false;

    IdPool pdns_;
    MrKeys keys_;
    CqTable cqs_;
    QpTable qps_;
    SrqTable srqs_;
    Quota device_memory_;
    std::uint64_t messages_of_gone_ = 0;
    SegmentCache segments_;
    std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace dingo::uverbs
