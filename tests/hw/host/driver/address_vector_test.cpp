// SPDX-License-Identifier: BSD-2-Clause
//
// Address vectors: rejected ones, and the UDP source port of a flow.
#include "host/driver/address_vector.h"

#include <functional>

#include "dingo/packet/build.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

class AddressVectors : public ::testing::Test {
  protected:
    static Gid gid(const char* text) { return packet::parse_gid(text).value().bytes; }
    /// An address of the card itself, which needs no neighbour.
    static AhAttr to(const char* text = "10.77.0.1") {
        AhAttr attr;
        attr.dgid = gid(text);
        attr.sgid_index = 1;
        attr.is_global = true;
        return attr;
    }

    std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> wires = make_loop_pair();
    Host host{*wires.first, 0x02'44'49'00'00'0A, {"10.77.0.1/24"}};
};

TEST_F(AddressVectors, EachFieldHasItsLimit) {
    const auto last = static_cast<std::uint8_t>(host.driver.gid_table_size() - 1);
    struct Row {
        const char* what;
        std::function<void(AhAttr&)> change;
        std::uint32_t local_qpn;
        int error;
    };
    const Row rows[] = {
        {"good", [](AhAttr&) {}, 0x123, 0},
        {"not global", [](AhAttr& a) { a.is_global = false; }, 0, EINVAL},
        {"port 0", [](AhAttr& a) { a.port_num = 0; }, 0, EINVAL},
        {"port 2", [](AhAttr& a) { a.port_num = 2; }, 0, EINVAL},
        {"service level 15", [](AhAttr& a) { a.sl = 15; }, 0, 0},
        {"service level 16", [](AhAttr& a) { a.sl = 16; }, 0, EINVAL},
        {"IPv4 from IPv6", [](AhAttr& a) { a.sgid_index = 0; }, 0, EINVAL},
        {"first empty entry", [](AhAttr& a) { a.sgid_index = 2; }, 0, ENODATA},
        {"last entry", [&](AhAttr& a) { a.sgid_index = last; }, 0, ENODATA},
        {"group", [](AhAttr& a) { a.dgid = gid("239.1.1.1"); }, 0, 0},
        {"group of a connection", [](AhAttr& a) { a.dgid = gid("239.1.1.1"); }, 1, EINVAL},
    };
    for (const Row& row : rows) {
        AhAttr attr = to();
        row.change(attr);
        EXPECT_EQ(errno_of([&] { make_address_vector(host.driver, attr, row.local_qpn, 0); }),
                  row.error)
            << row.what;
    }
}

// A network with equal-cost paths distinguishes flows by this port.
TEST_F(AddressVectors, TheSourcePortIsTheFlowLabelsElseTheConnectionsElseThePeers) {
    const auto port = [&](std::uint32_t label, std::uint32_t local, std::uint32_t remote) {
        AhAttr attr = to();
        attr.flow_label = label;
        const AddressVector av = make_address_vector(host.driver, attr, local, remote);
        EXPECT_EQ(av.flow_label, label & 0xfffffU);
        return av.udp_sport;
    };
    const auto of_label = packet::udp_sport_from_flow_label;
    const auto of_qps = [&](std::uint32_t local, std::uint32_t remote) {
        return of_label(packet::flow_label_from_qps(local, remote));
    };
    for (const std::uint32_t label : {1U, 2U, 0x12345U, 0xfffffU}) {
        EXPECT_EQ(port(label, 0, 0), of_label(label));
        EXPECT_EQ(port(label, 0x123, 0x456), of_label(label)) << "before the connection's";
    }
    for (const std::uint32_t none : {0U, 0x100000U}) {  // a label has 20 bits
        EXPECT_EQ(port(none, 0x123, 0x456), of_qps(0x123, 0x456));
        EXPECT_EQ(port(none, 0x123, 0), of_qps(0x123, 0));
        EXPECT_EQ(port(none, 0, 1), of_qps(0, 1));
        EXPECT_EQ(port(none, 0, 0), make_address_vector(host.driver, to(), 0, 0).udp_sport);
    }
    EXPECT_NE(port(0, 0, 0), of_qps(0, 0)) << "the peer's";
    EXPECT_NE(of_qps(0x123, 0x456), of_qps(0x124, 0x456)) << "else this says nothing";
}

}  // namespace
}  // namespace dingo::uverbs::test
