// SPDX-License-Identifier: BSD-2-Clause
//
// The tables of ibv_modify_qp(3): the attributes of each step, and the valid steps.
#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

struct Kind {
    const char* name;
    ibv_qp_type type;
};
constexpr Kind kKinds[] = {{"RC", IBV_QPT_RC}, {"UC", IBV_QPT_UC}, {"UD", IBV_QPT_UD}};

struct Attribute {
    const char* name;
    int mask;
};
constexpr Attribute kAttributes[] = {
    {"IBV_QP_PKEY_INDEX", IBV_QP_PKEY_INDEX},
    {"IBV_QP_PORT", IBV_QP_PORT},
    {"IBV_QP_QKEY", IBV_QP_QKEY},
    {"IBV_QP_ACCESS_FLAGS", IBV_QP_ACCESS_FLAGS},
    {"IBV_QP_AV", IBV_QP_AV},
    {"IBV_QP_PATH_MTU", IBV_QP_PATH_MTU},
    {"IBV_QP_DEST_QPN", IBV_QP_DEST_QPN},
    {"IBV_QP_RQ_PSN", IBV_QP_RQ_PSN},
    {"IBV_QP_MAX_DEST_RD_ATOMIC", IBV_QP_MAX_DEST_RD_ATOMIC},
    {"IBV_QP_MIN_RNR_TIMER", IBV_QP_MIN_RNR_TIMER},
    {"IBV_QP_SQ_PSN", IBV_QP_SQ_PSN},
    {"IBV_QP_TIMEOUT", IBV_QP_TIMEOUT},
    {"IBV_QP_RETRY_CNT", IBV_QP_RETRY_CNT},
    {"IBV_QP_RNR_RETRY", IBV_QP_RNR_RETRY},
    {"IBV_QP_MAX_QP_RD_ATOMIC", IBV_QP_MAX_QP_RD_ATOMIC},
};
constexpr const char* kStates[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

/// A queue pair that is moved to a state.
struct One {
    One(ibv_qp_type type, int state) : cq(b.cq()), qp(b.qp(cq.get(), type)) {
        for (int next = 1; next <= 3 && next <= state; ++next) {
            CHECK_RETURNS(0, step(next));
        }
        if (state == IBV_QPS_ERR) {
            CHECK_RETURNS(0, modify(qp.get(), to_state(IBV_QPS_ERR)));
        }
    }
    Step towards(int state) const {
        return state == IBV_QPS_INIT  ? to_init(qp->qp_type)
               : state == IBV_QPS_RTR ? to_rtr(b, qp->qp_type, qp->qp_num)
               : state == IBV_QPS_RTS ? to_rts(qp->qp_type)
                                      : to_state(static_cast<ibv_qp_state>(state));
    }
    int step(int state) { return modify(qp.get(), towards(state)); }

    Bench b;
    Cq cq;
    Qp qp;
};

Step nominal(ibv_qp_type type, int state) {
    Step rtr = to_state(IBV_QPS_RTR);
    if (type != IBV_QPT_UD) {
        rtr.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (type == IBV_QPT_RC) {
        rtr.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return state == IBV_QPS_INIT ? to_init(type) : state == IBV_QPS_RTR ? rtr : to_rts(type);
}

/// Returns true if there is a step between these states.
bool exists(int from, int to) {
    if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET)) {
        return true;
    }
    return (to == from + 1 && to <= IBV_QPS_RTS) || (from == to && to == IBV_QPS_INIT) ||
           (from == to && to == IBV_QPS_RTS);
}

void add_required(Promises& all) {
    Page page(all, "ibv_modify_qp.3");
    for (const Kind& kind : kKinds) {
        for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; ++state) {
            const int mask = nominal(kind.type, state).mask;
            const std::string name =
                std::string(kind.name) + ": " + kStates[state - 1] + " to " + kStates[state];
            for (const Attribute& attribute : kAttributes) {
                if ((mask & attribute.mask) == 0) {
                    continue;
                }
                page(name + " without " + attribute.name +
                         " is refused with EINVAL, and the state stays",
                     [type = kind.type, state, attribute] {
                         One one(type, state - 1);
                         Step step = one.towards(state);
                         step.mask &= ~attribute.mask;
                         CHECK_RETURNS(EINVAL, modify(one.qp.get(), step));
                         CHECK(state_of(one.qp.get()) == state - 1);
                         CHECK_RETURNS(0, one.step(state));
                     });
            }
        }
    }
}

void add_steps(Promises& all) {
    Page page(all, "ibv_modify_qp.3");
    for (const Kind& kind : kKinds) {
        for (const int from : {0, 1, 2, 3, 6}) {
            for (int to = 0; to <= 6; ++to) {
                if (to == IBV_QPS_SQD || to == IBV_QPS_SQE) {
                    continue;
                }
                const bool allowed = exists(from, to);
                page(std::string(kind.name) + ": " + kStates[from] + " to " + kStates[to] +
                         (allowed ? " is a step" : " is refused with EINVAL, and the state stays"),
                     [type = kind.type, from, to, allowed] {
                         One one(type, from);
                         Step step = one.towards(to);
                         if (from == to && to == IBV_QPS_RTS) {
                             step = to_state(IBV_QPS_RTS);
                         }
                         CHECK_RETURNS(allowed ? 0 : EINVAL, modify(one.qp.get(), step));
                         CHECK(state_of(one.qp.get()) == (allowed ? to : from));
                         CHECK(one.qp->state == (allowed ? to : from));
                     });
            }
        }
    }
}

}  // namespace

void add_qp_steps(Promises& all) {
    add_required(all);
    add_steps(all);
}

}  // namespace verbs_promises
