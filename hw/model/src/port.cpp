// SPDX-License-Identifier: BSD-2-Clause
#include "port.h"

namespace dingo::model {
namespace {

void add_once(std::vector<std::uint64_t>& list, std::uint64_t mac) {
    if (std::ranges::find(list, mac) == list.end()) {
        list.push_back(mac);
    }
}

}  // namespace

void Port::addresses_changed() {
    table_macs_.clear();
    for (const MacEntry& entry : macs) {
        if (entry.valid) {
            add_once(table_macs_, entry.mac);
        }
    }
    roce_macs_ = table_macs_;
    for (const GidEntry& entry : gids) {
        if (entry.valid) {
            add_once(roce_macs_, mac_number(entry.mac.data()));
        }
    }
}

}  // namespace dingo::model
