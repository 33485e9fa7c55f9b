// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/mw.h"

#include <cerrno>

#include "host/driver/driver.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

// enum ibv_mw_type
constexpr std::uint8_t kMwType1 = 1;
constexpr std::uint8_t kMwType2 = 2;

/// Returns the pool of indexes if the card supports such windows.
IdPool& checked_pool(Driver& driver, std::uint8_t type, const Udata& udata) {
    driver.capabilities().need(DINGO_CAP_MW);
    udata_none(udata);
    if (type != kMwType1 && type != kMwType2) {
        throw ErrnoError(EOPNOTSUPP);
    }
    return driver.keys().indexes();
}

}  // namespace

Mw::Mw(Driver& driver, Pd& pd, std::uint8_t type, Udata& udata)
    : index_(checked_pool(driver, type, udata)), key_(driver.keys().make_key(index_.get())) {
    dingo_cmd_create_mr cmd{};
    cmd.key = key_;
    cmd.pdn = pd.pdn();
    cmd.kind = type == kMwType1 ? DINGO_MRT_MW1 : DINGO_MRT_MW2;
    driver.admin().execute(DINGO_OP_CREATE_MR, cmd);
    on_card_.emplace(driver.admin(), DINGO_OP_DESTROY_MR, key_, [this] { index_.lose(); });
}

}  // namespace dingo::uverbs
