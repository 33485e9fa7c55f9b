// SPDX-License-Identifier: BSD-2-Clause
//
// The port, its GIDs and P_Keys.
#include <arpa/inet.h>

#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

void add_query_port(Promises& all) {
    Page port(all, "ibv_query_port.3");
    port("the port is active, on Ethernet", [] {
        Bench b;
        CHECK(b.port.state == IBV_PORT_ACTIVE);
        CHECK(b.port.link_layer == IBV_LINK_LAYER_ETHERNET);
        CHECK(b.port.phys_state == 5);
    });
    port("active_mtu is one of the five, and not above max_mtu", [] {
        Bench b;
        CHECK(b.port.active_mtu >= IBV_MTU_256 && b.port.active_mtu <= b.port.max_mtu);
        CHECK(b.port.max_mtu <= IBV_MTU_4096);
    });
    port("tables are not empty, messages are of some size", [] {
        Bench b;
        CHECK(b.port.gid_tbl_len > 0 && b.port.pkey_tbl_len > 0 && b.port.max_msg_sz > 0);
    });
    port("RoCE has no LID", [] {
        Bench b;
        CHECK(b.port.lid == 0 && b.port.sm_lid == 0 && b.port.lmc == 0);
    });
    port("width and speed are one bit each", [] {
        Bench b;
        const auto one_bit = [](unsigned v) { return v != 0 && (v & (v - 1)) == 0; };
        CHECK(one_bit(b.port.active_width));
        CHECK(b.port.active_speed == 0 || one_bit(b.port.active_speed));
    });
    port("a global route is required (IBV_QPF_GRH_REQUIRED)", [] {
        Bench b;
        CHECK((b.port.flags & IBV_QPF_GRH_REQUIRED) != 0);
    });
    port("qkey_viol_cntr counts datagrams with another Q_Key", [] {
        Bench b;
        Pair pair(b, IBV_QPT_UD);
        for (int i = 0; i < 3; ++i) {
            ibv_send_wr wr = pair.request(IBV_WR_SEND);
            wr.wr.ud.remote_qkey = kQkey + 1;
            CHECK(pair.run(wr).status == IBV_WC_SUCCESS);
        }
        no_wc(pair.cq(1));
        ibv_port_attr after{};
        CHECK_RETURNS(0, ibv_query_port(b.ctx(), 1, &after));
        CHECK(after.qkey_viol_cntr == b.port.qkey_viol_cntr + 3);
        CHECK(after.bad_pkey_cntr == b.port.bad_pkey_cntr);
    });
    for (const unsigned number : {0U, 2U, 255U}) {
        port("port " + std::to_string(number) + " is refused with EINVAL", [number] {
            Bench b;
            ibv_port_attr attr{};
            CHECK_RETURNS(EINVAL,
                          ibv_query_port(b.ctx(), static_cast<std::uint8_t>(number), &attr));
        });
    }
}

void add_gids(Promises& all) {
    Page gid(all, "ibv_query_gid.3");
    gid("returns 0 and the GID of an index", [] {
        Bench b;
        ibv_gid found{};
        CHECK(ibv_query_gid(b.ctx(), 1, b.gid_index, &found) == 0);
        CHECK(std::memcmp(&found, &b.gid, sizeof found) == 0);
    });
    gid("returns -1 behind the table", [] {
        Bench b;
        ibv_gid found{};
        CHECK(ibv_query_gid(b.ctx(), 1, b.port.gid_tbl_len, &found) == -1);
        CHECK(ibv_query_gid(b.ctx(), 1, -1, &found) == -1);
    });
    gid("returns -1 for a port that is not there", [] {
        Bench b;
        ibv_gid found{};
        CHECK(ibv_query_gid(b.ctx(), 2, 0, &found) == -1);
    });

    Page ex(all, "ibv_query_gid_ex.3");
    ex("returns the GID with its index, port, type and interface", [] {
        Bench b;
        ibv_gid_entry entry{};
        CHECK_RETURNS(0, ibv_query_gid_ex(b.ctx(), 1, b.gid_index, &entry, 0));
        CHECK(entry.gid_index == static_cast<unsigned>(b.gid_index) && entry.port_num == 1);
        CHECK(entry.gid_type == IBV_GID_TYPE_ROCE_V2);
        CHECK(std::memcmp(&entry.gid, &b.gid, sizeof b.gid) == 0);
    });
    ex("returns ENODATA for an index without a GID", [] {
        Bench b;
        ibv_gid_entry entry{};
        std::vector<ibv_gid_entry> used(static_cast<std::size_t>(b.port.gid_tbl_len));
        const auto n = ibv_query_gid_table(b.ctx(), used.data(), used.size(), 0);
        if (n == b.port.gid_tbl_len) {
            throw Lacking("the table is full");
        }
        std::vector<bool> taken(used.size());
        for (int i = 0; i < n; ++i) {
            taken[used[static_cast<std::size_t>(i)].gid_index] = true;
        }
        std::uint32_t index = 0;
        while (taken[index]) {
            ++index;
        }
        CHECK_RETURNS(ENODATA, ibv_query_gid_ex(b.ctx(), 1, index, &entry, 0));
    });
    ex("an index behind the table is refused with EINVAL", [] {
        Bench b;
        ibv_gid_entry entry{};
        const auto end = static_cast<std::uint32_t>(b.port.gid_tbl_len);
        CHECK_RETURNS(EINVAL, ibv_query_gid_ex(b.ctx(), 1, end, &entry, 0));
    });
    ex("a port that is not there is refused with EINVAL", [] {
        Bench b;
        ibv_gid_entry entry{};
        CHECK_RETURNS(EINVAL, ibv_query_gid_ex(b.ctx(), 2, 0, &entry, 0));
    });
    ex("flags are refused, there are none", [] {
        Bench b;
        ibv_gid_entry entry{};
        CHECK(ibv_query_gid_ex(b.ctx(), 1, 0, &entry, 1) != 0);
    });

    Page table(all, "ibv_query_gid_table.3");
    table("returns the valid entries, each as ibv_query_gid_ex(3) gives it", [] {
        Bench b;
        std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(b.port.gid_tbl_len));
        const auto n = ibv_query_gid_table(b.ctx(), entries.data(), entries.size(), 0);
        CHECK(n > 0 && n <= b.port.gid_tbl_len);
        for (int i = 0; i < n; ++i) {
            const ibv_gid_entry& e = entries[static_cast<std::size_t>(i)];
            ibv_gid_entry one{};
            CHECK_RETURNS(0, ibv_query_gid_ex(b.ctx(), e.port_num, e.gid_index, &one, 0));
            CHECK(std::memcmp(&one, &e, sizeof e) == 0);
        }
    });
    table("fewer entries than there are is an error, not an overflow", [] {
        Bench b;
        std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(b.port.gid_tbl_len));
        if (ibv_query_gid_table(b.ctx(), entries.data(), entries.size(), 0) < 2) {
            throw Lacking("the port has one GID only");
        }
        ibv_gid_entry two[2]{};
        const auto n = ibv_query_gid_table(b.ctx(), two, 1, 0);
        CHECK(n <= 1);
        CHECK(two[1].port_num == 0);
    });
}

void add_pkeys(Promises& all) {
    Page pkey(all, "ibv_query_pkey.3");
    pkey("entry 0 is the default partition", [] {
        Bench b;
        __be16 key = 0;
        CHECK(ibv_query_pkey(b.ctx(), 1, 0, &key) == 0);
        CHECK(ntohs(key) == 0xffff);
    });
    pkey("returns -1 behind the table", [] {
        Bench b;
        __be16 key = 0;
        CHECK(ibv_query_pkey(b.ctx(), 1, b.port.pkey_tbl_len, &key) == -1);
    });
    Page index(all, "ibv_get_pkey_index.3");
    index("returns the index of a P_Key", [] {
        Bench b;
        CHECK(ibv_get_pkey_index(b.ctx(), 1, htons(0xffff)) == 0);
    });
    index("returns -1 for a P_Key that the table does not have", [] {
        Bench b;
        CHECK(ibv_get_pkey_index(b.ctx(), 1, htons(0x1234)) == -1);
    });
}

}  // namespace

void add_port(Promises& all) {
    add_query_port(all);
    add_gids(all);
    add_pkeys(all);
}

}  // namespace verbs_promises
