// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

class Driver;

/// An address vector, with the fields of dingo_qp_attr and wqe_ud.
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

/// Checks and resolves an address. The QPNs are those of the connection, or 0. Throws ErrnoError;
/// NotYet while the destination's MAC address is being resolved.
AddressVector make_address_vector(Driver& driver, const AhAttr& attr, std::uint32_t local_qpn,
                                  std::uint32_t remote_qpn);

}  // namespace dingo::uverbs
