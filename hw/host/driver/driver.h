// SPDX-License-Identifier: BSD-2-Clause
//
// The driver of a kernel-less card: to hw/host/uverbs what dingo.ko is to ib_core. It owns the
// admin queue, the event queues, queue memory, doorbell pages, numbers and keys, and speaks to the
// engine only through the contract: registers, admin commands, doorbells.
//
// Everything runs in the card's one thread. Failures are ErrnoError with the errno that dingo.ko
// returns in the same case. Destructors of objects cannot fail: they destroy on the card first,
// then free. Objects must go before what they refer to (the front end counts references).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/errno_error.h"
#include "dingo/engine.h"
#include "dingo_hw.h"
#include "host/driver/bus_map.h"
#include "host/driver/client_memory.h"
#include "host/driver/verbs_types.h"
#include "host/local_card.h"
#include "host/not_yet.h"

struct dingo_dm_resp;  // dingo-abi.h

namespace dingo::uverbs {

class Driver;

/// A process's open device: doorbell pages, queue memory and what it may mmap.
class Context {
  public:
    /// udata: dingo_alloc_ucontext_req and _resp; the kick descriptor comes as Udata::Fd.
    Context(Driver& driver, Udata& udata);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    struct Mapping {
        UniqueFd fd;
        std::uint64_t offset = 0;
    };
    /// For an offset that an answer gave out. ErrnoError(EINVAL): unknown, or another length.
    Mapping mmap(std::uint64_t offset, std::uint64_t length);

    /// For a process that imports the context: dingo_alloc_ucontext_resp, with a kick descriptor of
    /// its own.
    void describe(Udata& udata) const;

    /// Readable when the client kicked: poll it, then Driver::kicked().
    [[nodiscard]] int kick_fd() const;

    struct State;
    [[nodiscard]] State& state() { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

class Pd {
  public:
    Pd(Driver& driver, Udata& udata);  ///< dingo_alloc_pd_resp
    ~Pd();
    [[nodiscard]] std::uint32_t pdn() const { return pdn_; }

  private:
    Driver& driver_;
    std::uint32_t pdn_ = 0;
};

class Cq {
  public:
    /// dingo_create_cq_req and _resp. cqe: entries asked for; entries(): usable ones.
    Cq(Driver& driver, Context& context, std::uint32_t cqe, std::uint32_t comp_vector,
       std::uint32_t flags, CqListener& listener, Udata& udata);
    ~Cq();
    [[nodiscard]] std::uint32_t entries() const;
    void resize(std::uint32_t cqe, Udata& udata);  ///< dingo_resize_cq_resp
    struct State;
    [[nodiscard]] State& state() { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

class Srq {
  public:
    /// dingo_create_srq_req and _resp. The real sizes come back in max_wr and max_sge.
    Srq(Driver& driver, Context& context, Pd& pd, std::uint32_t& max_wr, std::uint32_t& max_sge,
        EventListener& listener, Udata& udata);
    ~Srq();
    /// mask: IBV_SRQ_LIMIT (IBV_SRQ_MAX_WR: EOPNOTSUPP).
    void modify(std::uint32_t mask, std::uint32_t max_wr, std::uint32_t limit, Udata& udata);
    struct Attr {
        std::uint32_t max_wr, max_sge, limit;
    };
    Attr query();
    [[nodiscard]] std::uint32_t number() const;
    struct State;
    [[nodiscard]] State& state() { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

struct QpInit {
    std::uint8_t type = 2;  ///< enum ibv_qp_type: RC 2, UC 3, UD 4; others EOPNOTSUPP
    bool sq_sig_all = false;
    std::uint32_t create_flags = 0;
    QpCap cap;
    Cq* send_cq = nullptr;
    Cq* recv_cq = nullptr;
    Srq* srq = nullptr;
};

class Qp {
  public:
    /// dingo_create_qp_req and _resp.
    Qp(Driver& driver, Context& context, Pd& pd, const QpInit& init, EventListener& listener,
       Udata& udata);
    ~Qp();
    /// mask: IBV_QP_*. udata: dingo_modify_qp_req or nothing. NotYet while the destination's MAC is
    /// being asked for.
    void modify(const QpAttr& attr, std::uint32_t mask, Udata& udata);
    QpAttr query();
    /// Multicast groups: once however often. ErrnoError: EINVAL not UD, or no group; ENOMEM too
    /// many.
    void attach(const Gid& group);
    void detach(const Gid& group);  ///< EINVAL when it is not attached
    [[nodiscard]] std::uint32_t number() const;
    [[nodiscard]] const QpInit& init() const;
    struct State;
    [[nodiscard]] State& state() { return *state_; }

  private:
    void change_group(std::uint16_t opcode, const Gid& group);
    /// Carries out a dingo_modify_qp_req; false: there is none.
    bool set_compute(std::uint32_t mask, const Udata& udata);

    std::unique_ptr<State> state_;
};

/// Device memory: memory of the card process, a budget for each card (DriverConfig).
class Dm {
  public:
    /// ErrnoError: EOPNOTSUPP when the card has none, EINVAL for length 0 or an alignment above a
    /// page, ENOMEM when so much is not free.
    Dm(Driver& driver, Context& context, std::uint64_t length, std::uint32_t log_alignment);
    ~Dm();
    [[nodiscard]] std::uint64_t length() const;
    [[nodiscard]] dingo_dm_resp describe() const;
    struct State;
    [[nodiscard]] State& state() const { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

class Mr {
  public:
    struct Range {
        std::shared_ptr<ClientMemory> client;
        std::uint64_t start = 0;
        std::uint64_t length = 0;
        std::uint64_t iova = 0;
        std::vector<SharedSegment> segments;  ///< sorted by va; may reach beyond the range
    };
    /// access: IBV_ACCESS_*. The caller has made sure that the range is mapped in the client.
    Mr(Driver& driver, Pd& pd, const Range& range, std::uint32_t access, Udata& udata);
    /// DMABuf: the exporter's descriptor is mapped here; EOPNOTSUPP when it cannot be, EINVAL when
    /// [offset, offset + length) is not inside.
    Mr(Driver& driver, Pd& pd, int dmabuf_fd, std::uint64_t offset, std::uint64_t length,
       std::uint64_t iova, std::uint32_t access);
    /// Part of device memory; its addresses begin at 0. A region of length 0 has a key that opens
    /// nothing.
    Mr(Driver& driver, Pd& pd, const Dm& dm, std::uint64_t offset, std::uint64_t length,
       std::uint32_t access);
    ~Mr();
    /// flags: IB_UVERBS_REREG_* (TRANS 1, PD 2, ACCESS 4). The key stays. On failure all stays.
    void rereg(std::uint32_t flags, Pd* pd, const Range* range, std::uint32_t access);
    [[nodiscard]] std::uint32_t key() const;
    /// Windows are bound to it: it must not be destroyed now. Asks the card.
    [[nodiscard]] bool busy() const;
    struct State;

  private:
    std::unique_ptr<State> state_;
};

class Mw {
  public:
    Mw(Driver& driver, Pd& pd, std::uint8_t type, Udata& udata);  ///< enum ibv_mw_type
    ~Mw();
    [[nodiscard]] std::uint32_t key() const { return key_; }

  private:
    Driver& driver_;
    std::uint32_t key_ = 0;
};

/// What dingo_query_device() and dingo_query_port() of kmod answer, from the card's limits.
/// GUIDs are numbers: the first byte on the wire is the most significant one.
struct DeviceAttr {
    std::uint64_t fw_ver, node_guid, sys_image_guid, max_mr_size, page_size_cap, device_cap_flags;
    std::uint32_t vendor_id, vendor_part_id, hw_ver;
    std::uint32_t max_qp, max_qp_wr, max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd;
    std::uint32_t max_qp_rd_atom, max_qp_init_rd_atom, max_res_rd_atom, atomic_cap, max_mw, max_ah;
    std::uint32_t max_srq, max_srq_wr, max_srq_sge, max_pkeys, local_ca_ack_delay;
    std::uint64_t timestamp_mask, hca_core_clock;  ///< kHz
    std::uint64_t max_dm_size;
    std::uint32_t max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach;
};

/// enum ibv_mtu.
struct PortMtu {
    std::uint8_t max = 0;
    std::uint8_t active = 0;
};

struct PortAttr {
    std::uint8_t state, max_mtu, active_mtu, phys_state, active_width;  ///< enums of verbs
    std::uint16_t active_speed;  ///< IB_SPEED_*; old callers get the low 8 bits
    std::uint32_t gid_tbl_len, pkey_tbl_len, port_cap_flags, max_msg_sz;
    std::uint32_t bad_pkey_cntr = 0, qkey_viol_cntr = 0;
};

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

    /// The engine needs its HostPort to be made, so the card comes later. Brings the card up:
    /// reset, admin queue, event queues, port, GIDs. Throws std::runtime_error for the user.
    void start(LocalCard& card);

    /// After every Card::poll(): delivers events, retries neighbours. True: something was done.
    bool poll(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// The card lacks processor time, or has enough again: told to polling clients.
    void set_crowded(bool crowded);
    /// A client's kick descriptor was readable; drains it.
    void kicked(Context& context);

    /// Any port or device event (enum ibv_event_type: PORT_ACTIVE, PORT_ERR, DEVICE_FATAL,
    /// GID_CHANGE).
    std::function<void(int event)> on_port_event;

    [[nodiscard]] DeviceAttr query_device() const;
    /// UD QPs can be attached to multicast groups.
    [[nodiscard]] bool has_groups() const;
    /// The compute kernels: dingo_query_device_resp.
    void query_compute(Udata& udata);
    [[nodiscard]] PortAttr query_port() const;
    /// The port's enum ibv_mtu, which the host chose: the card is not asked.
    [[nodiscard]] PortMtu mtu() const;
    /// Indexes of the GID table.
    [[nodiscard]] std::uint32_t gid_table_size() const;
    /// Completion event queues: Cq's comp_vector is less.
    [[nodiscard]] std::uint32_t num_comp_vectors() const;
    [[nodiscard]] const std::vector<GidEntry>& gids() const;
    [[nodiscard]] std::uint64_t clock_ns() const;  ///< register CLOCK
    /// For ibv_create_ah: dingo_create_ah_resp. NotYet as Qp::modify.
    void create_ah(const AhAttr& attr, Udata& udata);
    /// Finds out how `gid` is reached. NotYet while it is asked for; ErrnoError: ENETUNREACH,
    /// ETIMEDOUT.
    void resolve(const Gid& gid);
    /// Requests that NotYet has ended are tried again, while this is alive.
    class Retrying {
      public:
        explicit Retrying(Driver& driver) : driver_(driver) { driver_.set_retrying(true); }
        ~Retrying() { driver_.set_retrying(false); }
        Retrying(const Retrying&) = delete;
        Retrying& operator=(const Retrying&) = delete;

      private:
        Driver& driver_;
    };

    /// Counters by hw_counters name, in contract order; and one QP's.
    std::vector<std::pair<std::string, std::uint64_t>> card_counters();
    std::vector<std::pair<std::string, std::uint64_t>> qp_counters(std::uint32_t qpn);

    [[nodiscard]] const DriverConfig& config() const;
    [[nodiscard]] Mac mac() const;

    // HostPort
    bool dma_read(std::uint64_t addr, std::span<std::byte> dst) override;
    bool dma_write(std::uint64_t addr, std::span<const std::byte> src) override;
    std::byte* dma_pointer(std::uint64_t addr, std::size_t len) override;
    void raise_msix(unsigned vector) override;

    struct State;
    [[nodiscard]] State& state() { return *state_; }

  private:
    void set_retrying(bool retrying);

    std::unique_ptr<State> state_;
};

}  // namespace dingo::uverbs
