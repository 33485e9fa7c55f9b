// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

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
    std::uint8_t type = 2;  ///< enum ibv_qp_type: RC 2, UC 3, UD 4; others EOPNOTSUPP
    bool sq_sig_all = false;
    std::uint32_t create_flags = 0;
    QpCap cap;
    Cq* send_cq = nullptr;
    Cq* recv_cq = nullptr;
    Srq* srq = nullptr;
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

    /// mask: IBV_QP_*. udata: nothing. NotYet while the destination's MAC is being asked for.
    /// `waits`: NotSent when it is to go to ERR and what was posted is about to leave.
    void modify(const QpAttr& attr, std::uint32_t mask, Udata& udata, bool waits = false);
    /// Chooses the compute kernel of one direction. ErrnoError: EOPNOTSUPP the card has no slot
    /// there; EINVAL unknown kernel, its parameter, or the QP's state.
    void set_compute(const dingo_set_compute_req& req);
    QpAttr query();
    /// What query() asks the card, and more.
    QpAttr query(QpProgress& progress);
    /// Multicast groups: once however often. ErrnoError: EINVAL not UD, or no group; ENOMEM too
    /// many.
    void attach(const Gid& group);
    void detach(const Gid& group);  ///< EINVAL when it is not attached
    /// The QPN.
    [[nodiscard]] std::uint32_t number() const { return number_.get(); }
    [[nodiscard]] const QpInit& init() const { return init_; }
    /// Who is told of this QP's events.
    [[nodiscard]] EventListener& listener() const { return listener_; }

  private:
    struct Sizes {
        std::uint8_t log_sq;
        std::uint8_t log_rq;
        std::uint8_t log_rq_stride;
        bool watched;  ///< the SQ's doorbell is
    };
    static Sizes checked_sizes(const Driver& driver, const QpInit& init, const Udata& udata);
    void change_group(std::uint16_t opcode, const Gid& group);

    Driver& driver_;
    QpInit init_;
    EventListener& listener_;
    Sizes sizes_;
    std::pair<Doorbell, Doorbell> doorbells_;  ///< of SQ and RQ
    ClientQueue sq_;
    std::unique_ptr<ClientQueue> rq_;  ///< none with an SRQ
    TableEntry<QpTable> number_;
    std::optional<CardObject> on_card_;
};

}  // namespace dingo::uverbs
