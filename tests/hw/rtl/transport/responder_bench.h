// SPDX-License-Identifier: BSD-2-Clause
//
// Bench for dingo_responder: QP and memory tables, host memory and a scatter engine with late
// commits, all in C++; the outputs are collected in lists. Every side stalls at random.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../support/packed.h"
#include "Vdingo_responder.h"
#include "rtl_types.h"

namespace bench {

using Bytes = std::vector<std::uint8_t>;

struct Region {
    std::uint32_t key = 0;
    std::uint16_t pdn = 0;
    std::uint8_t access = 0;
    std::uint64_t iova = 0, length = 0, base = 0;  ///< base: bus address
    bool window = false;                           ///< can be invalidated
    unsigned qp = 0;                               ///< window of type 2: its QP, else 0
    bool paused = false;
};

struct Sge {
    std::uint64_t addr = 0;
    std::uint32_t lkey = 0, length = 0;
};

/// A packet that was sent, and the segments of its payload.
struct Sent {
    rtl::Txd d;
    std::vector<rtl::Seg> segs;
};

/// An entry of the common order of all outputs.
struct Step {
    enum Kind : std::uint8_t { kMemory, kCqe, kSent, kEvent } kind;
    std::size_t index;  ///< in the list of that kind; kMemory: number of the received packet
};

struct Options {
    unsigned seed = 1;
    unsigned ready = 100;        ///< percent of cycles in which a receiver is ready
    unsigned commit_delay = 20;  ///< most cycles between an END and its commit
    unsigned line_delay = 10;
};

class Bench {
  public:
    static constexpr std::uint16_t kSrqPd = 9;

    explicit Bench(const Options& options);

    // --- set-up
    rtl::Qp& qp(unsigned index) { return qps_[index]; }
    /// An RC QP in RTS with an RQ of 2^log_rq entries of 2^log_stride bytes.
    void create_rc(unsigned index, unsigned log_rq = 4, unsigned log_stride = 6);
    void create_uc(unsigned index, unsigned log_rq = 4, unsigned log_stride = 6);
    void create_ud(unsigned index, unsigned log_rq = 4, unsigned log_stride = 6);
    void add_region(const Region& region) { regions_[region.key] = region; }
    void remove_region(std::uint32_t key) { regions_.erase(key); }
    void pause_region(std::uint32_t key) { regions_[key].paused = true; }
    /// Resumes a paused region, whose memory is then at another bus address.
    void resume_region(std::uint32_t key, std::uint64_t base);
    /// Pulses resume_i, as REREG_MR and DESTROY_MR do.
    void resume();
    /// An SRQ of 2^log_size entries of 2^log_stride bytes.
    void create_srq(unsigned srq, unsigned log_size = 4, unsigned log_stride = 6,
                    std::uint32_t limit = 0, std::uint16_t pdn = kSrqPd);
    /// Connects a QP that was just created to the SRQ.
    void share(unsigned qp, unsigned srq);
    /// Runs a command about an SRQ; returns its answer.
    rtl::SrqInfo srq_command(unsigned srq, rtl::SrqaOp op, std::uint32_t limit = 0);
    void write_srq(unsigned srq, std::uint32_t tag, const std::vector<Sge>& sges,
                   std::uint16_t rsvd = 0);
    void ring_srq(unsigned srq) { srq_doorbell(srq, srqs_[srq].written); }
    void srq_doorbell(unsigned srq, std::uint32_t index);
    void post_srq(unsigned srq, std::uint32_t tag, const std::vector<Sge>& sges) {
        write_srq(srq, tag, sges);
        ring_srq(srq);
    }
    /// Bus address of the SRQ's entry `index`.
    std::uint64_t srq_address(unsigned srq, std::uint32_t index) const;
    void srq_written(unsigned srq, std::uint32_t index) { srqs_[srq].written = index; }
    /// Writes the next receive WQE; ring() posts what was written.
    void write_wqe(unsigned qp, std::uint32_t tag, const std::vector<Sge>& sges,
                   std::uint16_t rsvd = 0);
    void ring(unsigned qp) { doorbell(qp, written_[qp]); }
    void doorbell(unsigned qp, std::uint32_t index);
    void post(unsigned qp, std::uint32_t tag, const std::vector<Sge>& sges) {
        write_wqe(qp, tag, sges);
        ring(qp);
    }
    /// Puts the RQ into two pages with a page list; the second page is at the lower bus address.
    void page_ring(unsigned qp);
    std::uint64_t list_address(unsigned qp) const { return 0x9000000ULL + 0x1000 * qp; }
    std::uint32_t written(unsigned qp) const { return written_[qp]; }
    std::uint64_t ring_address(unsigned qp) const { return 0x100000ULL * (qp + 1); }

    // --- input
    void packet(unsigned qp, rtl::Rxh h, const Bytes& payload = {});
    void tx_error(unsigned qp, std::uint32_t psn);
    void cq_failed(unsigned qp) { cq_fails_.push_back(qp); }
    void requester_failed(unsigned qp);
    /// Runs a command of the admin queue; returns the engine's answer.
    rtl::RspInfo command(rtl::QpaReq request);
    rtl::RspInfo query(unsigned qp);

    // --- running
    void cycle();
    /// Runs until nothing is left to do. False: not within `limit` cycles.
    bool settle(unsigned limit = 100'000);
    void reset();
    /// Drops all that is on its way in the bench; call before reset().
    void forget();

    // --- output
    std::vector<rtl::CqeReq> cqes;
    std::vector<Sent> sent;
    std::vector<rtl::Ev> events;
    std::vector<Step> steps;
    std::map<unsigned, std::uint64_t> stats;
    std::map<std::pair<unsigned, unsigned>, std::uint64_t> qp_stats;
    std::vector<unsigned> failed_qps;
    unsigned bad_doorbells = 0;
    std::map<std::uint64_t, std::uint8_t> memory;  ///< written by packets, by bus address
    std::set<std::uint64_t> bad_lines;             ///< line numbers that cannot be read
    std::pair<std::uint64_t, std::uint64_t> bad_bytes{0, 0};  ///< writes here fail
    std::vector<std::string> errors;                          ///< violations of interface rules
    unsigned rq_reads = 0;
    unsigned lookups = 0;    ///< of keys
    unsigned cqe_delay = 0;  ///< most cycles until a completion is in host memory
    bool halt_tx = false;
    bool halt_commits = false;  ///< holds back all commits
    unsigned room_pause = 0;    ///< cycles without tx_room after each packet: a full wire
    std::uint16_t gid_valid = 0xffff;
    unsigned work_delay = 8;         ///< most cycles until dingo_mr_work is done
    std::vector<rtl::MrwReq> works;  ///< requests to dingo_mr_work
    Vdingo_responder dut;

    Bytes read_memory(std::uint64_t address, std::size_t count) const;
    std::uint32_t qpn(unsigned qp) const { return qps_[qp].cfg.tag << 16 | qp; }

  private:
    struct Due {
        std::uint64_t at;
        rtl::RdlReq request;
        bool list;
        bool bad = false;
    };
    struct Late {
        std::uint64_t at;
        rtl::Commit commit;
        bool no_item;
        std::map<std::uint64_t, std::uint8_t> bytes;
        std::size_t packet;
    };
    struct Srq {
        unsigned log_size = 0, log_stride = 0;
        std::uint32_t written = 0;
        std::uint16_t pdn = 0;
    };
    void write_entry(std::uint64_t at, std::uint32_t tag, const std::vector<Sge>& sges,
                     std::uint16_t rsvd);
    bool chance(unsigned percent) { return random_() % 100 < percent; }
    void check_order(const rtl::Scat& order);
    void take_scatter(const rtl::Scat& order);
    rtl::MrRsp look_up(const rtl::MrReq& request) const;
    rtl::MrwRsp invalidate(const rtl::MrwReq& request);

    Options options_;
    std::mt19937 random_;
    std::uint64_t now_ = 0;
    std::uint64_t room_from_ = 0;
    std::vector<rtl::Qp> qps_{1U << rtl::kQpLog};
    std::vector<std::uint32_t> written_ = std::vector<std::uint32_t>(1U << rtl::kQpLog);
    std::map<std::uint32_t, Region> regions_;
    std::map<unsigned, std::uint8_t> generations_;  ///< `gen` of each QP's last packet
    std::map<std::uint64_t, std::array<std::uint32_t, 16>> lines_;
    std::deque<std::pair<rtl::Rxp, Bytes>> packets_;
    std::deque<std::pair<rtl::Qdb, bool>> doorbells_;  ///< true: SRQ
    std::map<unsigned, Srq> srqs_;
    std::deque<std::uint64_t> cqes_due_;  ///< cycles at which completions are in host memory
    bool srqa_done_ = false;
    rtl::SrqInfo srq_info_;
    std::deque<rtl::Txerr> tx_errors_;
    std::deque<unsigned> cq_fails_, fails_;
    std::deque<std::pair<std::uint64_t, rtl::MrRsp>> lookups_;
    std::deque<Due> reads_;
    std::deque<Late> commits_;
    std::map<unsigned, std::uint32_t> first_psns_;  ///< of each QP's message in progress
    std::vector<rtl::Seg> segs_;
    std::optional<rtl::Scat> atomic_;
    Bytes grh_;
    std::size_t packet_count_ = 0;
    std::size_t taken_ = 0;  ///< of packets_: taken, their END has not come
    bool qpa_done_ = false;
    std::uint64_t work_at_ = 0;  ///< cycle at which dingo_mr_work is done; 0: no request
    rtl::RspInfo info_;
    rtl::Qp qp_rdata_;
    bool db_up_ = false, rxp_up_ = false, txerr_up_ = false, room_seen_ = false;
};

}  // namespace bench
