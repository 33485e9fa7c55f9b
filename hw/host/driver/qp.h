// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/ib_user_ioctl_verbs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "dingo_hw.h"
#include "host/driver/card_object.h"
#include "host/driver/client_queue.h"
#include "host/driver/context.h"
#include "host/driver/cq.h"
#include "host/driver/doorbells.h"
#include "host/driver/object_tables.h"
#include "host/driver/pd.h"
#include "host/driver/srq.h"
#include "host/driver/verbs_types.h"

struct dingo_set_compute_req;  // dingo-abi.h

namespace dingo::uverbs {

class Driver;

struct QpInit {
    std::uint8_t type = IB_UVERBS_QPT_RC;  ///< RC, UC or UD; others EOPNOTSUPP
    bool sq_sig_all = false;
    std::uint32_t create_flags = 0;
    QpCap cap;
    Cq* send_cq = nullptr;
    Cq* recv_cq = nullptr;
    Srq* srq = nullptr;
};

/// Attributes that the client has set since the QP was last reset.
struct QpFacts {
    std::uint8_t state = 0;  ///< enum ibv_qp_state that was requested last
    std::uint8_t path_mtu = 0;
    std::uint8_t max_rd_atomic = 0;
    std::uint8_t max_dest_rd_atomic = 0;
    std::uint32_t access = 0;  ///< DINGO_ACC_*
    std::uint32_t dest_qpn = 0;
    std::uint32_t sq_psn = 0;
    std::uint32_t rq_psn = 0;
    Mac dmac{};
};

/// A queue pair.
class Qp {
  public:
    /// dingo_create_qp_req and _resp.
    Qp(Driver& driver, Context& context, Pd& pd, const QpInit& init, EventListener& listener,
       Udata& udata);
    ~Qp();
    Qp(const Qp&) = delete;
    Qp& operator=(const Qp&) = delete;

    /// `mask` is IBV_QP_*; `udata` must be empty. Throws NotYet while the destination's MAC address
    /// is being resolved; with `waits` also NotSent if the QP is to go to ERR and posted messages
    /// are about to leave.
    void modify(const QpAttr& attr, std::uint32_t mask, Udata& udata, bool waits = false);
    /// Selects the compute kernel of one direction. Throws ErrnoError: EOPNOTSUPP if the card has
    /// no slot there; EINVAL for an unknown kernel, its parameter, or the QP's state.
    void set_compute(const dingo_set_compute_req& req);
    /// Returns true if a compute kernel was selected.
    [[nodiscard]] bool computes() const { return computes_; }
    QpAttr query();
    /// As query(), also returning the progress.
    QpAttr query(QpProgress& progress);
    /// Multicast groups; attaching is idempotent. Throw ErrnoError: EINVAL if the QP is not UD or
    /// the GID no group; ENOMEM if there are too many.
    void attach(const Gid& group);
    void detach(const Gid& group);  ///< throws EINVAL if it is not attached
    /// The QPN.
    [[nodiscard]] std::uint32_t number() const { return number_.get(); }
    [[nodiscard]] const QpInit& init() const { return init_; }
    [[nodiscard]] const QpFacts& facts() const { return facts_; }
    [[nodiscard]] std::uint32_t pdn() const { return pdn_; }
    /// The QP's own receive queue; null with an SRQ.
    [[nodiscard]] const ClientQueue* rq() const { return rq_.get(); }
    [[nodiscard]] std::uint8_t log_rq() const { return sizes_.log_rq; }
    [[nodiscard]] std::uint8_t log_rq_stride() const { return sizes_.log_rq_stride; }
    /// Moves the indexes of its queues to bus address `address`, until the QP is reset
    /// (SHARE_INDEXES). Throws ErrnoError.
    void share_indexes(std::uint64_t address);
    /// Receiver of this QP's events.
    [[nodiscard]] EventListener& listener() const { return listener_; }

  private:
    struct Sizes {
        std::uint8_t log_sq;
        std::uint8_t log_rq;
        std::uint8_t log_rq_stride;
        bool watched;  ///< the card watches the SQ's doorbell
    };
    static Sizes checked_sizes(const Driver& driver, const QpInit& init, const Udata& udata);
    void change_group(std::uint16_t opcode, const Gid& group);
    /// Records attributes that the card has set.
    void note(const dingo_cmd_modify_qp& cmd);

    Driver& driver_;
    QpInit init_;
    std::uint32_t pdn_;
    QpFacts facts_;
    bool computes_ = false;
    EventListener& listener_;
    Sizes sizes_;
    std::pair<Doorbell, Doorbell> doorbells_;  ///< of the SQ and the RQ
    ClientQueue sq_;
    std::unique_ptr<ClientQueue> rq_;  ///< null with an SRQ
    TableEntry<QpTable> number_;
    std::optional<CardObject> on_card_;
};

}  // namespace dingo::uverbs
