// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/pd.h"

#include "dingo-abi.h"
#include "host/driver/driver.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {

Pd::Pd(Driver& driver, Udata& udata) : pdn_((udata_none(udata), driver.pdns())) {
    dingo_alloc_pd_resp resp{};
    resp.pdn = pdn_.get();
    udata_out(udata, resp);
}

}  // namespace dingo::uverbs
