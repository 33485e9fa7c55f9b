// SPDX-License-Identifier: BSD-2-Clause
//
// Inside the driver: what its files share. Objects destroy themselves on the card first, in the
// destructor's body; members then free memory, slots and numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dingo-abi.h"
#include "host/driver/admin_queue.h"
#include "host/driver/clock.h"
#include "host/driver/doorbells.h"
#include "host/driver/driver.h"
#include "host/driver/event_queues.h"
#include "host/driver/neighbours.h"
#include "host/driver/numbers.h"
#include "host/driver/queue_slabs.h"
#include "host/driver/shared_segments.h"
#include "host/driver/status_page.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {

/// More work requests than this make no sense, whatever the card's limit.
inline constexpr std::uint32_t kMaxQpWr = 8192;

/// A CQN, MR index, ... that is given back when its object goes.
class OwnedId {
  public:
    explicit OwnedId(IdPool& pool) : pool_(pool), id_(pool.take()) {}
    ~OwnedId() {
        if (!lost_) {
            pool_.give_back(id_);
        }
    }
    OwnedId(const OwnedId&) = delete;
    OwnedId& operator=(const OwnedId&) = delete;
    [[nodiscard]] std::uint32_t get() const { return id_; }
    /// The card would not let go of it: nobody else may have it.
    void lose() { lost_ = true; }

  private:
    IdPool& pool_;
    std::uint32_t id_;
    bool lost_ = false;
};

struct Driver::State {
    explicit State(DriverConfig c) : config(std::move(c)) {}

    Driver* self = nullptr;
    DriverConfig config;
    BusMap bus;  ///< outlives all memory that it maps
    LocalCard* card = nullptr;
    std::uint64_t caps = 0;
    dingo_limits limits{};
    Mac mac{};
    std::optional<StatusPage> status;
    std::optional<Clock> clock;
    std::optional<AdminQueue> admin;
    std::optional<DoorbellPages> doorbells;
    std::optional<EventQueues> eqs;
    std::optional<Neighbours> neighbours;
    std::uint64_t vectors = 0;  ///< raised and not yet looked at
    bool told_fatal = false;
    std::vector<GidEntry> gids;

    IdPool pdns, mr_ids, srqns;
    std::vector<std::uint16_t> mr_tags;  ///< last tag of each MR index
    std::vector<std::uint8_t> qp_tags;
    std::vector<Cq::State*> cqs;  ///< by number
    std::vector<Qp::State*> qps;  ///< by index
    std::vector<Srq::State*> srqs;
    std::uint32_t next_cqn = 0;
    std::size_t windows = 0;               ///< memory windows that exist
    std::uint64_t device_memory_used = 0;  ///< bytes
    SegmentCache segments;

    [[nodiscard]] bool has(std::uint64_t cap) const { return (caps & cap) != 0; }
    void need(std::uint64_t cap) const {
        if (!has(cap)) {
            throw ErrnoError(EOPNOTSUPP);
        }
    }
    /// A window of the bus must hold it.
    [[nodiscard]] std::uint64_t query_max_mr_size() const {
        return std::min<std::uint64_t>(limits.max_mr_size, BusMap::kMaxWindow - kPageBytes);
    }
    /// A key with an unpredictable tag that is not the last one of its index.
    std::uint32_t make_key(std::uint32_t index);
    /// For destructors: true when the card has let go of the object.
    bool destroy(std::uint16_t opcode, std::uint32_t id) noexcept;
    void dispatch(const dingo_eqe& event);
};

struct Context::State {
    explicit State(Driver::State& d) : driver(d), doorbells(*d.doorbells) {}

    Driver::State& driver;
    UniqueFd kick;
    DoorbellSpace doorbells;
    QueueSlabs queues;

    struct Entry {
        int fd = -1;  ///< the owner's
        std::uint64_t length = 0;
        std::uint64_t file_offset = 0;
    };
    std::map<std::uint64_t, Entry> mappings;
    std::uint64_t next_offset = kPageBytes;
    std::uint64_t status_offset = 0;  ///< of the status page

    /// An offset that nobody had before.
    std::uint64_t publish(const Entry& entry);
};

/// Memory of one queue of a context, zeroed, and what the context calls it.
class ClientQueue {
  public:
    ClientQueue(Context::State& context, std::size_t bytes)
        : context_(context),
          memory_(context.queues.take(bytes)),
          address_(context.driver.bus.add(memory_.bytes())),
          offset_(context.publish({memory_.fd(), memory_.bytes().size(), memory_.offset()})) {}
    ~ClientQueue() {
        context_.mappings.erase(offset_);
        context_.driver.bus.remove(address_);
    }
    ClientQueue(const ClientQueue&) = delete;
    ClientQueue& operator=(const ClientQueue&) = delete;

    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = address_;
        return mem;
    }
    /// Tells the client where it is.
    [[nodiscard]] dingo_ring_map map(const Doorbell& doorbell, unsigned log_size,
                                     unsigned log_stride) const;
    /// Nobody maps it from now on; who has mapped it keeps it.
    void withdraw() { context_.mappings.erase(std::exchange(offset_, 0)); }

  private:
    Context::State& context_;
    QueueSlabs::Piece memory_;
    std::uint64_t address_;  ///< on the bus
    std::uint64_t offset_;
};

struct Cq::State {
    State(Driver::State& d, Context::State& c, CqListener& l)
        : driver(d), context(c), listener(l), doorbell(c.doorbells.take()) {}
    ~State();

    Driver::State& driver;
    Context::State& context;
    CqListener& listener;
    std::unique_ptr<ClientQueue> queue;
    /// Left by resize(): the client takes what is in it until it resizes again (dingo-abi.h).
    std::unique_ptr<ClientQueue> old_queue;
    Doorbell doorbell;
    std::uint32_t number = DINGO_INVALID_ID;
    std::uint32_t entries = 0;  ///< as the client was told
    bool on_card = false;
};

struct Srq::State {
    State(Driver::State& d, Context::State& c, EventListener& l)
        : driver(d), listener(l), doorbell(c.doorbells.take()), number(d.srqns) {}
    ~State();

    Driver::State& driver;
    EventListener& listener;
    std::unique_ptr<ClientQueue> queue;
    Doorbell doorbell;
    OwnedId number;
    std::uint32_t max_wr = 0;
    std::uint32_t max_sge = 0;
    bool on_card = false;
};

struct Qp::State {
    State(Driver::State& d, Context::State& c, const QpInit& i, EventListener& l)
        : driver(d), init(i), listener(l), doorbells(c.doorbells.take_pair()) {}
    ~State();

    Driver::State& driver;
    QpInit init;
    EventListener& listener;
    std::unique_ptr<ClientQueue> sq;
    std::unique_ptr<ClientQueue> rq;  ///< none with an SRQ
    std::pair<Doorbell, Doorbell> doorbells;
    std::uint32_t number = 0;  ///< 0: none yet
    unsigned log_sq = 0;
    unsigned log_rq = 0;
    unsigned log_rq_stride = 0;
    bool on_card = false;
};

/// An address vector, in the words of dingo_qp_attr and wqe_ud.
struct AddressVector {
    Gid dgid{};
    Mac dmac{};
    std::uint16_t sgid_index = 0;
    std::uint32_t flow_label = 0;
    std::uint16_t udp_sport = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t tclass = 0;
    std::uint8_t sl = 0;
};

/// Checks and resolves. The QPNs: of a connection, else 0. ErrnoError, NotYet.
AddressVector make_address_vector(Driver::State& driver, const AhAttr& attr,
                                  std::uint32_t local_qpn, std::uint32_t remote_qpn);

/// Access rights of verbs in the card's words.
std::uint32_t card_access(std::uint32_t access);

}  // namespace dingo::uverbs
