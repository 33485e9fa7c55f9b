// SPDX-License-Identifier: BSD-2-Clause
// Tests of the choice of GID, MTU, limits and attributes, which needs no device.
#include "verbs/rules.h"

#include <sys/socket.h>

#include <set>

#include "bytes.h"

namespace qpx::verbs {
namespace {

using test::expect_error;

std::array<std::uint8_t, 16> v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}
std::array<std::uint8_t, 16> v6(std::uint8_t first, std::uint8_t second, std::uint8_t last) {
    return {first, second, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
}

/// A GID table as Linux fills it: each address as RoCE v1, then as v2.
const std::vector<GidChoice> table = {
    {0, v6(0xfe, 0x80, 1), GidType::RoceV1}, {1, v6(0xfe, 0x80, 1), GidType::RoceV2},
    {2, v6(0x20, 0x01, 1), GidType::RoceV1}, {3, v6(0x20, 0x01, 1), GidType::RoceV2},
    {4, v4(10, 0, 0, 1), GidType::RoceV1},   {5, v4(10, 0, 0, 1), GidType::RoceV2},
    {7, v4(10, 0, 1, 1), GidType::RoceV2},
};

int chosen(const GidQuery& query, const std::vector<GidChoice>& from = table,
           bool ethernet = true) {
    return choose_from(from, ethernet, query, "dev").index;
}

TEST(ChooseGid, PrefersRoceV2RoutableIpv4) {
    EXPECT_EQ(chosen({}), 5);
}

TEST(ChooseGid, FollowsThePeersFamily) {
    EXPECT_EQ(chosen({.peer = "192.0.2.9"}), 5);
    EXPECT_EQ(chosen({.peer = "2001:db8::9"}), 3);
    // A link-local address is worse than an address of the other family.
    const std::vector<GidChoice> v4_only = {table[1], table[5]};
    EXPECT_EQ(chosen({.peer = "2001:db8::9"}, v4_only), 5);
}

TEST(ChooseGid, TakesTheAddressThatReachesThePeer) {
    EXPECT_EQ(chosen({.peer = "10.0.1.9", .local = "10.0.1.1"}), 7);
    EXPECT_EQ(chosen({.local = "fe80::1"}), 1);
    // A local address that the port does not have is ignored.
    EXPECT_EQ(chosen({.peer = "127.0.0.1", .local = "127.0.0.1"}), 5);
}

using Type = GidCandidate::Type;
using Wish = GidCandidate::Wish;
using Candidates = std::vector<GidCandidate>;

std::string pair_of(const Candidates& mine, const Candidates& theirs) {
    const auto pair = choose_pair(mine, theirs), swapped = choose_pair(theirs, mine);
    if (!pair) {
        return swapped ? "only one side finds a pair" : "none";
    }
    if (!swapped || mine[swapped->second] != mine[pair->first] ||
        theirs[swapped->first] != theirs[pair->second]) {
        return "the sides find different pairs";
    }
    return gid_text(mine[pair->first].gid) + " " + gid_text(theirs[pair->second].gid);
}

TEST(Agree, TwoVlansMeetInOne) {
    // Each side chose the first entry of its table, which is in a different network on each side.
    const Candidates a = {{v4(10, 1, 0, 1), Type::RoceV2, Wish::Chosen, 120},
                          {v4(10, 2, 0, 1), Type::RoceV2, Wish::None, 120}},
                     b = {{v4(10, 2, 0, 2), Type::RoceV2, Wish::Chosen, 120},
                          {v4(10, 3, 0, 2), Type::RoceV2, Wish::None, 120}};
    EXPECT_EQ(pair_of(a, b), "10.2.0.1 10.2.0.2");
}

TEST(Agree, OnOneFamilyAndVersion) {
    const Candidates a = {{v4(10, 1, 0, 1), Type::RoceV2, Wish::Chosen, 120},
                          {v6(0x20, 0x01, 1), Type::RoceV2, Wish::None, 64}},
                     b = {{v6(0x20, 0x01, 2), Type::RoceV2, Wish::Chosen, 64}},
                     v1 = {{v4(10, 1, 0, 2), Type::RoceV1, Wish::Chosen, 120}};
    EXPECT_EQ(pair_of(a, b), "2001::1 2001::2");
    EXPECT_EQ(pair_of(a, v1), "none");
    Local local;
    local.endpoint.candidates = a;
    local.choices = {{0, a[0].gid, GidType::RoceV2}, {4, a[1].gid, GidType::RoceV2}};
    Endpoint remote;
    remote.candidates = v1;
    expect_error(ErrorCode::Argument, "there 10.1.0.2 (RoCE v1)", [&] { agree(local, remote); });
    remote.candidates = b;
    EXPECT_EQ(agree(local, remote).mine.index, 4);
}

TEST(Agree, WhereTheConnectionRunsComesFirst) {
    const Candidates a = {{v4(10, 9, 0, 1), Type::RoceV2, Wish::Connected, 120},
                          {v4(10, 1, 0, 1), Type::RoceV2, Wish::None, 120}},
                     b = {{v4(10, 8, 0, 2), Type::RoceV2, Wish::Connected, 120},
                          {v4(10, 1, 0, 2), Type::RoceV2, Wish::None, 120}};
    EXPECT_EQ(pair_of(a, b), "10.9.0.1 10.8.0.2") << "through a router";
}

TEST(Agree, RoutedNetworksUseWhatEachChoseAndNotTheWire) {
    const Candidates a = {{v4(10, 9, 0, 1), Type::RoceV2, Wish::Chosen, 120},
                          {v4(10, 7, 0, 1), Type::RoceV2, Wish::None, 120},
                          {v6(0xfe, 0x80, 1), Type::RoceV2, Wish::None, 64}},
                     b = {{v6(0xfe, 0x80, 2), Type::RoceV2, Wish::None, 64},
                          {v4(10, 8, 0, 2), Type::RoceV2, Wish::Chosen, 120}};
    EXPECT_EQ(pair_of(a, b), "10.9.0.1 10.8.0.2");
}

TEST(Agree, BothSidesFindTheSameWhateverTheyHave) {
    std::uint32_t seed = 1;
    const auto random = [&](std::uint32_t below) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 16) % below;
    };
    const auto some = [&](std::uint8_t side) {
        Candidates all;
        for (std::uint32_t i = 0, count = 1 + random(6); i < count; ++i) {
            const auto net = static_cast<std::uint8_t>(random(3));
            const auto host = static_cast<std::uint8_t>(side * 100 + i);
            all.push_back({random(2) != 0 ? v4(10, net, 0, host) : v6(0x20, net, host),
                           random(4) != 0 ? Type::RoceV2 : Type::RoceV1,
                           static_cast<Wish>(random(3)),
                           static_cast<std::uint8_t>(random(2) != 0 ? 120 : 0)});
        }
        return all;
    };
    for (int i = 0; i < 2000; ++i) {
        const std::string pair = pair_of(some(0), some(1));
        EXPECT_EQ(pair.find("side"), std::string::npos) << pair;
    }
}

TEST(Agree, WithAnOlderPeerEachUsesWhatItChose) {
    Local local;
    local.gid = {3, v4(10, 1, 0, 1), GidType::RoceV2};
    local.endpoint.candidates = {{v4(10, 1, 0, 1), Type::RoceV2, Wish::Chosen, 120},
                                 {v4(10, 2, 0, 1), Type::RoceV2, Wish::None, 120}};
    local.choices = {local.gid, {5, v4(10, 2, 0, 1), GidType::RoceV2}};
    Endpoint remote;
    remote.gid = v4(10, 2, 0, 2);
    const GidPair pair = agree(local, remote);
    EXPECT_EQ(pair.mine.index, 3);
    EXPECT_EQ(pair.theirs, remote.gid);
    const ibv_ah_attr address = address_of(local, remote, {});
    EXPECT_EQ(address.grh.sgid_index, 3);
    remote.candidates = {{v4(10, 2, 0, 2), Type::RoceV2, Wish::Chosen, 120}};
    EXPECT_EQ(address_of(local, remote, {}).grh.sgid_index, 5);
}

TEST(Agree, CandidatesWithoutTheirIndicesAreRefused) {
    // The peer uses the list: falling back to the GID of `local` would silently mismatch.
    Local local;
    local.gid = {3, v4(10, 1, 0, 1), GidType::RoceV2};
    local.endpoint.candidates = {{v4(10, 1, 0, 1), Type::RoceV2, Wish::Chosen, 120},
                                 {v4(10, 2, 0, 1), Type::RoceV2, Wish::None, 120}};
    Endpoint remote;
    remote.candidates = {{v4(10, 2, 0, 2), Type::RoceV2, Wish::Chosen, 120}};
    expect_error(ErrorCode::Argument, "indices are unknown", [&] { agree(local, remote); });
}

TEST(Agree, CandidatesAreWhatTheQueryAllows) {
    std::vector<GidChoice> choices;
    const auto bits = [](const auto&) { return std::uint8_t{120}; };
    const auto all = candidates_of(table, true, {.local = "10.0.1.1"}, table[6], bits, choices);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].wish, Wish::Connected);
    EXPECT_EQ(choices[0].index, 7);
    EXPECT_EQ(candidates_of(table, true, {.index = 5}, table[5], bits, choices).size(), 1U);
    EXPECT_EQ(candidates_of(table, true, {.family = AF_INET6}, table[3], bits, choices).size(), 2U);
    EXPECT_EQ(candidates_of(table, true, {.allow_roce_v1 = true}, table[5], bits, choices).size(),
              7U);
}

TEST(ChooseGid, AFamilyIsACommandAPeerAWish) {
    const std::vector<GidChoice> link_local = {{0, v6(0xfe, 0x80, 1), GidType::RoceV2}};
    EXPECT_EQ(chosen({.peer = "127.0.0.1"}, link_local), 0);
    expect_error(ErrorCode::Argument, "no RoCE v2 GID of an IPv4 address",
                 [&] { chosen({.family = AF_INET}, link_local); });
    EXPECT_EQ(chosen({.family = AF_INET6}), 3);
}

TEST(ChooseGid, RoceV1OnlyWhenAllowedAndV2First) {
    const std::vector<GidChoice> old = {{0, v4(10, 0, 0, 1), GidType::RoceV1}};
    expect_error(ErrorCode::Argument, "0: 10.0.0.1 (RoCE v1)", [&] { chosen({}, old); });
    EXPECT_EQ(chosen({.allow_roce_v1 = true}, old), 0);
    EXPECT_EQ(chosen({.allow_roce_v1 = true}), 5);
}

TEST(ChooseGid, AWantedIndexIsTakenAsItIs) {
    EXPECT_EQ(chosen({.index = 4}), 4);
    expect_error(ErrorCode::Argument, "GID index 6 is not in use", [] { chosen({.index = 6}); });
    expect_error(ErrorCode::Argument, "the table is empty", [] { chosen({}, {}); });
}

TEST(ChooseGid, OnInfiniBandTheFirst) {
    const std::vector<GidChoice> ib = {{0, v6(0xfe, 0x80, 1), GidType::InfiniBand},
                                       {1, v6(0xfe, 0x80, 2), GidType::InfiniBand}};
    EXPECT_EQ(chosen({}, ib, false), 0);
    EXPECT_EQ(chosen({.peer = "10.0.0.1"}, ib, false), 0);
}

Local local(QpType type = QpType::RC) {
    Local l;
    l.gid = {5, v4(10, 0, 0, 1), GidType::RoceV2};
    l.endpoint.gid = l.gid.gid;
    l.endpoint.type = type;
    l.endpoint.port = 2;
    l.endpoint.qpn = 1;
    l.endpoint.psn = 0x111111;
    l.endpoint.qkey = 0x222;
    l.endpoint.mtu = 4096;
    l.endpoint.max_rd_atomic = 16;
    l.endpoint.max_dest_rd_atomic = 4;
    return l;
}

Endpoint remote(QpType type = QpType::RC) {
    Endpoint e;
    e.gid = v4(10, 0, 0, 2);
    e.type = type;
    e.qpn = 2;
    e.psn = 0x333333;
    e.mtu = 1024;
    e.max_rd_atomic = 2;
    e.max_dest_rd_atomic = 8;
    return e;
}

TEST(Agreement, TakesTheSmallerOfBoth) {
    const Endpoint mine = local().endpoint;
    EXPECT_EQ(path_mtu(mine, remote()), 1024U);
    EXPECT_EQ(path_mtu(remote(), mine), 1024U);
    EXPECT_EQ(initiator_depth(mine, remote()), 8);
    EXPECT_EQ(responder_resources(mine, remote()), 2);
    // One side's initiator depth equals the other side's responder resources.
    EXPECT_EQ(initiator_depth(mine, remote()), responder_resources(remote(), mine));
}

TEST(Agreement, MtuCodesAreThoseOfVerbs) {
    EXPECT_EQ(mtu_code(256), IBV_MTU_256);
    EXPECT_EQ(mtu_code(4096), IBV_MTU_4096);
    expect_error(ErrorCode::Argument, "MTU 9000", [] { mtu_code(9000); });
}

TEST(Attributes, OfRcNameEverythingThatIbtaWants) {
    const auto init = init_attributes(local().endpoint, {}, true);
    EXPECT_EQ(init.mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    EXPECT_EQ(init.attr.port_num, 2);
    EXPECT_EQ(init.attr.qp_access_flags, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    const auto rtr = rtr_attributes(local(), remote(), {.min_rnr_timer = 9});
    EXPECT_EQ(rtr.mask, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    EXPECT_EQ(rtr.attr.path_mtu, IBV_MTU_1024);
    EXPECT_EQ(rtr.attr.dest_qp_num, 2U);
    EXPECT_EQ(rtr.attr.rq_psn, 0x333333U);
    EXPECT_EQ(rtr.attr.max_dest_rd_atomic, 2);
    EXPECT_EQ(rtr.attr.min_rnr_timer, 9);
    const auto rts =
        rts_attributes(local().endpoint, remote(), {.timeout = 18, .retry_cnt = 3, .rnr_retry = 6});
    EXPECT_EQ(rts.mask, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                            IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    EXPECT_EQ(rts.attr.sq_psn, 0x111111U);
    EXPECT_EQ(rts.attr.max_rd_atomic, 8);
    EXPECT_EQ(rts.attr.timeout, 18);
    EXPECT_EQ(rts.attr.retry_cnt, 3);
    EXPECT_EQ(rts.attr.rnr_retry, 6);
}

TEST(Attributes, OfUcHaveNoRetriesAndNoReads) {
    const auto init = init_attributes(local(QpType::UC).endpoint, {}, true);
    EXPECT_EQ(init.attr.qp_access_flags, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    const auto rtr = rtr_attributes(local(QpType::UC), remote(QpType::UC), {});
    EXPECT_EQ(rtr.mask,
              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    EXPECT_EQ(rts_attributes(local(QpType::UC).endpoint, remote(QpType::UC), {}).mask,
              IBV_QP_STATE | IBV_QP_SQ_PSN);
}

TEST(Attributes, OfUdHaveAQkeyAndNoPath) {
    const auto init = init_attributes(local(QpType::UD).endpoint, {}, true);
    EXPECT_EQ(init.mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    EXPECT_EQ(init.attr.qkey, 0x222U);
    EXPECT_EQ(rtr_attributes(local(QpType::UD), remote(QpType::UD), {}).mask, IBV_QP_STATE);
    EXPECT_EQ(rts_attributes(local(QpType::UD).endpoint, remote(QpType::UD), {}).mask,
              IBV_QP_STATE | IBV_QP_SQ_PSN);
}

TEST(Attributes, AccessIsTheApplicationsWhenItSaysSo) {
    EXPECT_EQ(init_attributes(local().endpoint, {.access = IBV_ACCESS_REMOTE_READ}, true)
                  .attr.qp_access_flags,
              IBV_ACCESS_REMOTE_READ);
    EXPECT_EQ(init_attributes(local().endpoint, {}, false).attr.qp_access_flags &
                  IBV_ACCESS_REMOTE_ATOMIC,
              0U);
}

TEST(Address, OnEthernetIsTheGidWithItsHopLimit) {
    const auto a = address_of(local(), remote(),
                              {.traffic_class = 104, .sl = 3, .hop_limit = 9, .flow_label = 7});
    EXPECT_EQ(a.is_global, 1);
    EXPECT_EQ(a.port_num, 2);
    EXPECT_EQ(a.sl, 3);
    EXPECT_EQ(a.grh.sgid_index, 5);
    EXPECT_EQ(a.grh.hop_limit, 9);
    EXPECT_EQ(a.grh.traffic_class, 104);
    EXPECT_EQ(a.grh.flow_label, 7U);
    EXPECT_EQ(a.grh.dgid.raw[15], 2);
    EXPECT_EQ(PathOptions().hop_limit, 64);
}

TEST(Address, OnInfiniBandHasAGrhOnlyForAnotherSubnet) {
    Local mine = local();
    mine.endpoint.lid = 1;
    mine.gid.gid = v6(0xfe, 0x80, 1);
    Endpoint peer = remote();
    peer.lid = 2;
    peer.gid = v6(0xfe, 0x80, 2);
    EXPECT_EQ(address_of(mine, peer, {}).is_global, 0);
    EXPECT_EQ(address_of(mine, peer, {}).dlid, 2);
    EXPECT_EQ(address_of(mine, peer, {.grh = true}).is_global, 1);
    peer.gid = v6(0xfe, 0xc0, 2);
    EXPECT_EQ(address_of(mine, peer, {}).is_global, 1);
}

TEST(RandomPsn, HasTwentyFourBitsAndChanges) {
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 1000; ++i) {
        const std::uint32_t psn = random_psn();
        EXPECT_LE(psn, 0xffffffU);
        seen.insert(psn);
    }
    EXPECT_GT(seen.size(), 990U);
}

TEST(Hint, NamesWhatTheErrnoMeansHere) {
    const Endpoint peer = remote();
    EXPECT_NE(hint(ENETUNREACH, IBV_QPS_RTR, &peer).find("no route to 10.0.0.2"),
              std::string::npos);
    EXPECT_NE(hint(ETIMEDOUT, IBV_QPS_RTR, &peer).find("nobody answers for 10.0.0.2"),
              std::string::npos);
    EXPECT_EQ(hint(EPERM, IBV_QPS_RTR, &peer), "");
}

}  // namespace
}  // namespace qpx::verbs
