// SPDX-License-Identifier: BSD-2-Clause
//
// Protection domains and memory windows: numbers, and keys without memory of their own.
#include <rdma/ib_user_verbs.h>

#include <cerrno>

#include "host/driver/state.h"

namespace dingo::uverbs {

Pd::Pd(Driver& driver, Udata& udata) : driver_(driver) {
    udata_none(udata);
    pdn_ = driver.state().pdns.take();
    dingo_alloc_pd_resp resp{};
    resp.pdn = pdn_;
    udata_out(udata, resp);
}

Pd::~Pd() {
    driver_.state().pdns.give_back(pdn_);
}

namespace {

// enum ibv_mw_type
constexpr std::uint8_t kMwType1 = 1;
constexpr std::uint8_t kMwType2 = 2;

}  // namespace

Mw::Mw(Driver& driver, Pd& pd, std::uint8_t type, Udata& udata) : driver_(driver) {
    Driver::State& d = driver.state();
    d.need(DINGO_CAP_MW);
    udata_none(udata);
    if (type != kMwType1 && type != kMwType2) {
        throw ErrnoError(EOPNOTSUPP);
    }
    const std::uint32_t index = d.mr_ids.take();
    try {
        dingo_cmd_create_mr cmd{};
        cmd.key = d.make_key(index);
        cmd.pdn = pd.pdn();
        cmd.kind = type == kMwType1 ? DINGO_MRT_MW1 : DINGO_MRT_MW2;
        d.admin->execute(DINGO_OP_CREATE_MR, cmd);
        key_ = cmd.key;
    } catch (const ErrnoError&) {
        d.mr_ids.give_back(index);
        throw;
    }
    ++d.windows;
}

Mw::~Mw() {
    Driver::State& d = driver_.state();
    --d.windows;
    if (d.destroy(DINGO_OP_DESTROY_MR, key_)) {
        d.mr_ids.give_back(key_ >> DINGO_MR_INDEX_SHIFT);
    }
}

}  // namespace dingo::uverbs
