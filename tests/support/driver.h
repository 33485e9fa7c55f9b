// SPDX-License-Identifier: BSD-2-Clause
//
// A small driver for tests. Uses any engine only through registers, the admin queue, rings and
// doorbells, as docs/reference/contract.md specifies.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "dingo/engine.h"
#include "dingo_hw.h"
#include "fake_host.h"
#include "wqe.h"

namespace dingo::test {

/// Thrown by the create_* helpers and execute_ok().
struct AdminError : std::runtime_error {
    AdminError(std::uint16_t opcode, const dingo_admin_cpl& completion);
    std::uint32_t status;
    std::uint32_t detail;
};

struct Eq {
    std::uint32_t eqn = 0;
    std::uint64_t ring = 0;
    unsigned log_size = 0;
    unsigned vector = 0;
    std::uint32_t consumer = 0;
};

struct Cq {
    std::uint32_t cqn = 0;
    std::uint64_t ring = 0;
    unsigned log_size = 0;
    std::uint32_t db_page = 0;
    std::uint32_t consumer = 0;
    std::uint32_t rung = 0;  ///< consumer index last reported to the card
    unsigned arm_sn = 0;
};

struct Mr {
    std::uint32_t key = 0;
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    std::uint64_t bus = 0;  ///< bus address of the first byte if contiguous

    [[nodiscard]] dingo_sge sge(std::uint64_t offset, std::uint32_t bytes) const {
        dingo_sge s{};
        s.addr = iova + offset;
        s.lkey = key;
        s.length = bytes;
        return s;
    }
};

struct Srq {
    std::uint32_t srqn = 0;
    std::uint64_t ring = 0;
    unsigned log_size = 0;
    unsigned log_stride = 0;
    std::uint32_t db_page = 0;
    std::uint32_t producer = 0;
};

struct TestQp {
    std::uint32_t qpn = 0;
    std::uint8_t kind = DINGO_QPT_RC;
    std::uint64_t sq = 0;
    unsigned log_sq = 0;
    std::uint32_t sq_producer = 0;
    std::uint64_t rq = 0;
    unsigned log_rq = 0;
    unsigned log_stride = 0;
    std::uint32_t rq_producer = 0;
    std::uint32_t db_page = 0;

    [[nodiscard]] bool datagram() const { return kind == DINGO_QPT_UD || kind == DINGO_QPT_GSI; }
};

struct EthRing {
    std::uint8_t kind = 0;
    std::uint8_t number = 0;
    std::uint64_t ring = 0;
    unsigned log_size = 0;
    std::uint32_t producer = 0;
};

struct QpOptions {
    std::uint8_t kind = DINGO_QPT_RC;
    std::uint32_t pdn = 1;
    unsigned log_sq = 6;      ///< blocks
    unsigned log_rq = 6;      ///< entries
    unsigned log_stride = 8;  ///< receive entries
    std::uint8_t flags = 0;   ///< DINGO_CMD_CREATE_QP_FLAGS_*
    std::uint32_t db_page = 1;
    std::uint32_t srqn = DINGO_INVALID_ID;
    std::uint32_t qpn = 0;     ///< 0: the next free one
    std::uint16_t domain = 0;  ///< capability GID_DOMAINS
};

class TestDriver {
  public:
    /// `clock`: the time passed to the engine; its owner advances it.
    TestDriver(Engine& engine, TestHost& host, const Nanoseconds& clock)
        : engine_(engine), host_(host), clock_(clock) {}

    Engine& engine() { return engine_; }
    TestHost& host() { return host_; }

    // --- registers
    std::uint32_t read32(std::uint32_t reg);
    std::uint64_t read64(std::uint32_t reg);
    void write32(std::uint32_t reg, std::uint32_t value);
    void write64(std::uint32_t reg, std::uint64_t value);
    void doorbell(std::uint32_t page, std::uint32_t word0, std::uint32_t index);

    // --- start and reset
    /// Resets the card, starts the admin queue, an asynchronous EQ (eqn 0, vector 0) and a
    /// completion EQ (eqn 1, vector 1), and arms both EQs.
    void start(unsigned log_depth = 4);
    /// Sets CTRL.RESET and waits for READY; the driver's rings are dropped.
    void reset();
    void start_admin(unsigned log_depth);
    void start_eqs();
    /// SET_PORT with ENABLE.
    void enable_port(std::uint32_t mtu = 9000, std::uint32_t flags = 0);
    /// SET_GID with an IPv4 or IPv6 address and the factory MAC.
    void set_gid(std::uint32_t index, const std::uint8_t (&gid)[16],
                 std::uint16_t vlan = DINGO_VLAN_NONE, std::uint16_t domain = 0);
    void set_ipv4(std::uint32_t index, std::uint32_t address);

    // --- admin queue
    /// Executes one command with any content (padded with zeros) and runs the engine until it
    /// completes. Throws std::runtime_error if no completion arrives.
    dingo_admin_cpl execute_raw(std::span<const std::byte> command);
    /// The same, with opcode and command id filled in.
    template <typename Command>
    dingo_admin_cpl execute(std::uint16_t opcode, Command command) {
        command.hdr.opcode = opcode;
        command.hdr.cmd_id = next_cmd_id_++;
        return execute_raw(std::as_bytes(std::span(&command, 1)));
    }
    /// The same; throws AdminError unless the status is OK.
    template <typename Command>
    dingo_admin_cpl execute_ok(std::uint16_t opcode, const Command& command) {
        const dingo_admin_cpl completion = execute(opcode, command);
        if (completion.status != DINGO_ST_OK) {
            throw AdminError(opcode, completion);
        }
        return completion;
    }
    /// Several commands outstanding: submit_raw() only writes the ring, ring_admin() rings the
    /// doorbell.
    void submit_raw(std::span<const std::byte> command);
    void ring_admin();
    std::optional<dingo_admin_cpl> poll_admin();
    /// Producer index of the admin ring, including commands not rung yet.
    [[nodiscard]] std::uint32_t admin_producer() const { return asq_producer_; }
    dingo_admin_cpl destroy(std::uint16_t opcode, std::uint32_t id);

    // --- objects; all throw AdminError
    dingo_limits query_limits();
    std::vector<std::uint64_t> card_stats();
    std::uint64_t card_stat(dingo_card_counter counter) { return card_stats()[counter]; }
    std::vector<std::uint64_t> qp_stats(std::uint32_t qpn);
    Eq create_eq(std::uint32_t eqn, unsigned vector, unsigned log_size, std::uint8_t flags = 0);
    Cq create_cq(unsigned log_size = 8, std::uint32_t eqn = 1, std::uint32_t db_page = 1);
    /// Creates a region over new contiguous memory; iova is the bus address unless given.
    Mr create_mr(std::uint64_t bytes, std::uint32_t access, std::uint32_t pdn = 1,
                 std::optional<std::uint64_t> iova = std::nullopt);
    /// Creates a region over the given memory.
    Mr create_mr(const dingo_mem& mem, std::uint64_t iova, std::uint64_t length,
                 std::uint32_t access, std::uint32_t pdn = 1);
    /// REREG_MR: the region keeps its key, address and length, and is contiguous at `bus` now.
    void move_mr(const Mr& mr, std::uint64_t bus, std::uint32_t access, std::uint32_t pdn = 1);
    /// Creates an FRWR region or a window (enum mrt).
    Mr create_key(std::uint8_t kind, std::uint64_t length = 0, std::uint32_t pdn = 1);
    /// Returns a key with a free index and some tag; adding up to 128 changes its low 8 bits only.
    std::uint32_t next_key() {
        const std::uint32_t index = next_mr_++;
        return index << DINGO_MR_INDEX_SHIFT | ((0xA5C3 ^ (index * 7 & 0xFFFF)) & 0xFF7F);
    }
    Srq create_srq(unsigned log_size = 6, unsigned log_stride = 6, std::uint32_t pdn = 1,
                   std::uint32_t limit = 0);
    TestQp create_qp(const Cq& send_cq, const Cq& recv_cq, const QpOptions& options = {});
    EthRing create_eth(std::uint8_t kind, std::uint8_t number, const Cq& cq, unsigned log_size = 6);
    void modify(const TestQp& qp, std::uint32_t mask, const dingo_cmd_modify_qp& command);
    dingo_qp_info query_qp(std::uint32_t qpn);
    /// ATTACH_MCAST or DETACH_MCAST; the status is not checked.
    dingo_admin_cpl multicast(std::uint16_t opcode, std::uint32_t qpn,
                              const std::array<std::uint8_t, 16>& gid);
    /// SET_COMPUTE; the status is not checked.
    dingo_admin_cpl set_compute(std::uint32_t qpn, std::uint32_t kernel, std::uint32_t param = 0,
                                std::uint32_t direction = DINGO_COMPUTE_SEND);
    /// Creates a page list (levels 1 or 2) over `pages` in new host memory.
    dingo_mem page_list(const std::vector<std::uint64_t>& pages, unsigned levels,
                        unsigned page_shift, std::uint32_t offset = 0);

    // --- QP states
    struct PathOptions {
        std::uint32_t dest_qpn = 0;
        std::array<std::uint8_t, 16> dgid{};
        std::array<std::uint8_t, 6> dmac{};
        std::uint16_t sgid_index = 0;
        std::uint8_t path_mtu = 3;  ///< 1024
        std::uint32_t rq_psn = 0;
        std::uint32_t sq_psn = 0;
        std::uint32_t access =
            DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC;
        std::uint8_t timeout = 14;
        std::uint8_t retry_cnt = 7;
        std::uint8_t rnr_retry = 7;
        std::uint8_t min_rnr_timer = 12;
        std::uint8_t max_rd_atomic = 16;
        std::uint32_t qkey = 0x11111111;
        std::uint16_t udp_sport = 0xC123;
        std::uint8_t hop_limit = 64;
        std::uint8_t tclass = 0;
        std::uint8_t sl = 0;
        std::uint32_t flow_label = 0;
    };
    void to_init(const TestQp& qp, const PathOptions& path);
    void to_rtr(const TestQp& qp, const PathOptions& path);
    void to_rts(const TestQp& qp, const PathOptions& path);
    /// Moves the QP from RESET to RTS.
    void bring_up(const TestQp& qp, const PathOptions& path);
    void to_state(const TestQp& qp, std::uint8_t state);

    // --- work
    /// Writes the request into the ring and, by default, rings the doorbell. Returns its wqe_index,
    /// the free-running index of its first block.
    std::uint32_t post_send(TestQp& qp, const SendWr& wr, bool ring = true);
    void ring_sq(const TestQp& qp);
    /// Writes blocks to the push page of a doorbell page, 8 bytes at a time.
    void store_push(std::uint32_t page, std::span<const std::byte> blocks);
    /// Posts via ring, push page and doorbell; at most PUSH_BLOCKS blocks.
    std::uint32_t post_pushed(TestQp& qp, const SendWr& wr);
    /// Rings with the number of blocks in the push page.
    void ring_pushed(const TestQp& qp, std::uint32_t blocks);
    /// Raw blocks, for malformed requests.
    std::uint32_t post_blocks(TestQp& qp, std::span<const std::byte> blocks, bool ring = true);
    void post_recv(TestQp& qp, std::uint32_t tag, const std::vector<dingo_sge>& sges);
    void post_recv(Srq& srq, std::uint32_t tag, const std::vector<dingo_sge>& sges);
    void post_eth(EthRing& ring, std::uint64_t addr, std::uint32_t length, std::uint8_t flags = 0,
                  bool doorbell = true);
    void post_eth(EthRing& ring, const dingo_eth_desc& descriptor, bool doorbell = true);
    void ring_eth(const EthRing& ring);
    /// Returns the next completion, if any; the card learns the consumer index by ring_cq(), called
    /// here every half ring.
    std::optional<dingo_cqe> poll_cq(Cq& cq);
    void ring_cq(Cq& cq);
    void arm_cq(Cq& cq, bool solicited_only = false);
    std::optional<dingo_eqe> poll_eq(Eq& eq);
    void ring_eq(Eq& eq, bool arm = true);

    Eq async_eq;
    Eq comp_eq;

  private:
    Engine& engine_;
    TestHost& host_;
    const Nanoseconds& clock_;
    std::uint64_t asq_ = 0;
    std::uint64_t acq_ = 0;
    std::uint64_t scratch_ = 0;  // destination of QUERY commands
    unsigned log_depth_ = 0;
    std::uint32_t asq_producer_ = 0;
    std::uint32_t db_pages_ = 0;  // register DB_PAGES; 0: not read yet
    std::uint32_t acq_consumer_ = 0;
    std::uint16_t next_cmd_id_ = 1;
    std::uint32_t next_cq_ = 0;
    std::uint32_t next_mr_ = 1;
    std::uint32_t next_qp_ = 2;
    std::uint32_t next_srq_ = 0;
};

/// Opcode (enum wr or wc) of a completion.
inline std::uint8_t cqe_opcode(const dingo_cqe& e) {
    return static_cast<std::uint8_t>(DINGO_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, e.qpn_op));
}
inline std::uint32_t cqe_qpn(const dingo_cqe& e) {
    return DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, e.qpn_op);
}

}  // namespace dingo::test
