// SPDX-License-Identifier: BSD-2-Clause
//
// The driver of a kernel-less card: to hw/host/uverbs what dingo.ko is to ib_core. It owns the
// admin queue, the event queues, queue memory, doorbell pages, numbers and keys, and speaks to the
// engine only through the contract: registers, admin commands, doorbells.
//
// Everything but the HostPort, pending() and set_crowded() is called by one thread at a time, which
// need not be the card's (docs/reference/threads.md). Failures are ErrnoError with the errno that
// dingo.ko returns in the same case. Destructors of objects cannot fail: they destroy on the card
// first, then free. Objects must go before what they refer to (the front end counts references).
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

#include "dingo/engine.h"
#include "host/driver/admin_queue.h"
#include "host/driver/bus_map.h"
#include "host/driver/capabilities.h"
#include "host/driver/clock.h"
#include "host/driver/device_attr.h"
#include "host/driver/dm.h"
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
        addresses;             ///< "10.77.0.1/24", "fd77::1/64"; link-local comes by itself
    std::uint32_t mtu = 9000;  ///< of the port's Ethernet, bytes
    std::uint64_t device_memory = 16U << 20;  ///< bytes for ibv_alloc_dm(), whole pages; 0: none
};

class Driver final : public HostPort {
  public:
    explicit Driver(DriverConfig config);
    ~Driver() override;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// The engine needs its HostPort to be made, so the card comes later. Brings the card up:
    /// reset, admin queue, event queues, port, GIDs. Throws std::runtime_error for the user.
    void start(LocalCard& card);

    /// After every Card::poll(), or when pending() says so: delivers events, retries neighbours.
    /// True: something was done.
    bool poll(Nanoseconds now);
    /// For the card's thread, after each round: poll() has something to do.
    [[nodiscard]] bool pending(Nanoseconds now);
    /// The part of poll() that programs wait for: events. By any thread, while no other one uses
    /// the driver. True: there is more for poll() or for the services.
    bool deliver();
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// The card lacks processor time, or has enough again: told to polling clients.
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
    /// The port's enum ibv_mtu, which the host chose: the card is not asked.
    [[nodiscard]] PortMtu mtu() const;
    /// Indexes of the GID table.
    [[nodiscard]] std::uint32_t gid_table_size() const;
    /// Completion event queues: Cq's comp_vector is less.
    [[nodiscard]] std::uint32_t num_comp_vectors() const { return eqs_->comp_vectors(); }
    [[nodiscard]] const std::vector<GidEntry>& gids() const { return gids_->entries(); }
    [[nodiscard]] std::uint64_t clock_ns() const;  ///< register CLOCK
    /// For ibv_create_ah: dingo_create_ah_resp. NotYet as Qp::modify.
    void create_ah(const AhAttr& attr, Udata& udata);
    /// Finds out how `gid` is reached. NotYet while it is asked for; ErrnoError: ENETUNREACH,
    /// ENOBUFS.
    void resolve(const Gid& gid);
    /// `waiter` is told, in a poll(), when what ended with this NotYet can be done again.
    void await(const NotYet& what, Waiter& waiter) {
        neighbours_->await(packet::Gid{what.neighbour()}, waiter);
    }
    /// The same for what ended with a NotSent.
    void await(const NotSent& what, Waiter& waiter) { last_sends_->await(what, waiter); }

    /// Memory of the account's regions, which its clients make slow, is far from now on. Returns of
    /// how many regions that was near.
    std::size_t make_far(const std::shared_ptr<Account>& account);

    /// Counters by hw_counters name, in contract order; and one QP's.
    Counters card_counters();
    Counters qp_counters(std::uint32_t qpn);
    /// Adds what the card does not see of them; with a QPN, of that QP.
    std::function<void(Counters& counters, std::optional<std::uint32_t> qpn)> on_counters;

    /// Completions that QPs had before they were destroyed. `count_gone`: the QP is about to be.
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
    /// A region's mapping goes after its DESTROY_MR.
    [[nodiscard]] bool pointers_last() const override { return true; }
    void raise_msix(unsigned vector) override;
    FarMemory* far_memory() override { return &far_; }

    // What the driver's objects are made with: after start(), by the files of this folder only.

    [[nodiscard]] const Capabilities& capabilities() const { return caps_; }
    [[nodiscard]] LocalCard& card() { return *card_; }
    [[nodiscard]] AdminQueue& admin() { return *admin_; }
    [[nodiscard]] BusMap& bus() { return bus_; }
    [[nodiscard]] const FarStreams& far() const { return far_; }
    /// For each context: the card wakes for far memory as long as there is one.
    [[nodiscard]] std::shared_ptr<FarWatch> watch_far();
    [[nodiscard]] EventQueues& event_queues() { return *eqs_; }
    [[nodiscard]] DoorbellPages& doorbell_pages() { return *doorbells_; }
    /// Null where the card has none.
    [[nodiscard]] Shares::Share share_of(const ShareOwner& owner) {
        return caps_.has(DINGO_CAP_SHARES) ? shares_->of(owner) : nullptr;
    }
    [[nodiscard]] Neighbours& neighbours() { return *neighbours_; }
    [[nodiscard]] LastSends& last_sends() { return *last_sends_; }
    [[nodiscard]] StatusPage& status_page() { return *status_; }
    [[nodiscard]] DmBudget& device_memory() { return device_memory_; }
    [[nodiscard]] SegmentCache& segments() { return segments_; }
    [[nodiscard]] IdPool& pdns() { return pdns_; }
    [[nodiscard]] MrKeys& keys() { return keys_; }
    [[nodiscard]] CqTable& cqs() { return cqs_; }
    [[nodiscard]] QpTable& qps() { return qps_; }
    [[nodiscard]] SrqTable& srqs() { return srqs_; }
    /// Keeps memory of an object that the card failed to destroy: as long as the driver lives no
    /// other object gets its bus addresses.
    void keep(std::shared_ptr<const void> memory) {
        if (memory) {
            kept_.push_back(std::move(memory));
        }
    }
    /// The CQN that is kept for the GSI QP: cqs() does not give it out.
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
    std::atomic<std::uint64_t> vectors_ = 0;  ///< raised and not yet looked at
    bool gsi_event_ = false;                  ///< completions of the GSI QP were reported
    /// Came and wait for poll(): files change with them, which may take long.
    std::vector<int> port_events_;
    bool told_fatal_ = false;

    IdPool pdns_;
    MrKeys keys_;
    CqTable cqs_;
    QpTable qps_;
    SrqTable srqs_;
    DmBudget device_memory_;
    std::uint64_t messages_of_gone_ = 0;
    SegmentCache segments_;
    std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace dingo::uverbs
