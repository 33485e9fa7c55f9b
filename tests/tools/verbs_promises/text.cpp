// SPDX-License-Identifier: BSD-2-Clause
//
// Names and numbers that need no device.
#include <cstring>
#include <iterator>
#include <set>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

struct Rate {
    ibv_rate rate;
    int mult, mbps;
};
constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},  {IBV_RATE_5_GBPS, 2, 5000},    {IBV_RATE_10_GBPS, 4, 10000},
    {IBV_RATE_20_GBPS, 8, 20000},  {IBV_RATE_30_GBPS, 12, 30000}, {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000}, {IBV_RATE_80_GBPS, 32, 80000}, {IBV_RATE_120_GBPS, 48, 120000},
};

}  // namespace

void add_text(Promises& all) {
    Page mult(all, "ibv_rate_to_mult.3");
    Page mbps(all, "ibv_rate_to_mbps.3");
    for (const Rate& rate : kRates) {
        mult(std::to_string(rate.mbps) + " Mbit/s is the base rate times " +
                 std::to_string(rate.mult) + ", both ways",
             [rate] {
                 CHECK(ibv_rate_to_mult(rate.rate) == rate.mult);
                 CHECK(mult_to_ibv_rate(rate.mult) == rate.rate);
             });
        mbps(std::to_string(rate.mbps) + " Mbit/s, both ways", [rate] {
            CHECK(ibv_rate_to_mbps(rate.rate) == rate.mbps);
            CHECK(mbps_to_ibv_rate(rate.mbps) == rate.rate);
        });
    }
    Page inc(all, "ibv_inc_rkey.3");
    inc("changes the tag and keeps the index", [] {
        for (const std::uint32_t key : {0U, 1U, 0x1234fffeU, 0x123456ffU, 0xffffffffU}) {
            const std::uint32_t next = ibv_inc_rkey(key);
            CHECK(next != key && (next & 0xffffff00U) == (key & 0xffffff00U));
        }
    });
    Page events(all, "ibv_event_type_str.3");
    events("each event has a text of its own", [] {
        std::set<std::string> texts;
        for (int e = IBV_EVENT_CQ_ERR; e <= IBV_EVENT_GID_CHANGE; ++e) {
            const char* const text = ibv_event_type_str(static_cast<ibv_event_type>(e));
            CHECK(text != nullptr && std::strcmp(text, "unknown") != 0);
            texts.insert(text);
        }
        CHECK(texts.size() == IBV_EVENT_GID_CHANGE - IBV_EVENT_CQ_ERR + 1);
    });
    events("states of a port have texts", [] {
        for (int s = IBV_PORT_NOP; s <= IBV_PORT_ACTIVE_DEFER; ++s) {
            CHECK(std::strlen(ibv_port_state_str(static_cast<ibv_port_state>(s))) > 0);
        }
    });
    Page status(all, "ibv_poll_cq.3");
    status("each status of a completion has a text of its own", [] {
        std::set<std::string> texts;
        for (int s = IBV_WC_SUCCESS; s <= IBV_WC_GENERAL_ERR; ++s) {
            texts.insert(ibv_wc_status_str(static_cast<ibv_wc_status>(s)));
        }
        CHECK(texts.size() == IBV_WC_GENERAL_ERR + 1);
    });
}

}  // namespace verbs_promises
