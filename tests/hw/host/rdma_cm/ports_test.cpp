// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/ports.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "base/errno_error.h"

namespace dingo::rdma_cm {
namespace {

constexpr std::uint16_t kTcp = 0x0106;
constexpr std::uint16_t kUdp = 0x0111;

Binding at(std::uint8_t host, std::uint16_t port) {
    Binding b;
    b.address = Address::any(AF_INET);
    if (host != 0) {
        b.address.gid[12] = 10;
        b.address.gid[15] = host;
    }
    b.address.port = port;
    b.af_only = true;
    return b;
}

int error_of(const std::function<void()>& what) {
    try {
        what();
    } catch (const ErrnoError& error) {
        return error.code();
    }
    return 0;
}

class CmPorts : public ::testing::Test {
  protected:
    std::uint32_t last_ = 0;
    Ports ports{[this] { return last_ += 7; }};
};

TEST_F(CmPorts, OneAddressAndPortHasOneOwner) {
    Binding a = at(1, 7471);
    Binding same = at(1, 7471);
    Binding other = at(2, 7471);
    Binding all = at(0, 7471);
    ports.bind(kTcp, a);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, same); }), EADDRINUSE);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, all); }), EADDRINUSE);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, other); }), 0);
    EXPECT_EQ(error_of([&] { ports.bind(kUdp, same); }), 0);
    ports.release(kTcp, a);
    ports.release(kTcp, other);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, all); }), 0);
}

TEST_F(CmPorts, ReuseBindsTogetherButOnlyOneListens) {
    Binding a = at(0, 7471);
    Binding b = at(0, 7471);
    a.reuse = b.reuse = true;
    ports.bind(kTcp, a);
    ports.bind(kTcp, b);
    EXPECT_EQ(error_of([&] { ports.listen(kTcp, a); }), EADDRINUSE);
    ports.release(kTcp, b);
    ports.listen(kTcp, a);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, b); }), EADDRINUSE);
}

TEST_F(CmPorts, WildcardsOfBothFamiliesStandSideBySideWhenTheyKeepToTheirOwn) {
    Binding v4 = at(0, 7471);
    Binding v6;
    v6.address = Address::any(AF_INET6);
    v6.address.port = 7471;
    ports.bind(kTcp, v4);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, v6); }), EADDRINUSE);
    v6.af_only = true;
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, v6); }), 0);
}

TEST_F(CmPorts, EphemeralPortsAreDifferentAndComeToAnEnd) {
    std::vector<Binding> all(28233, at(0, 0));
    std::set<std::uint16_t> seen;
    for (std::size_t n = 0; n + 1 < all.size(); ++n) {
        ports.bind(kTcp, all[n]);
        seen.insert(all[n].address.port);
    }
    EXPECT_EQ(seen.size(), 28232U);
    EXPECT_EQ(*seen.begin(), 32768);
    const std::uint32_t asked = last_;
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, all.back()); }), EADDRNOTAVAIL);
    EXPECT_EQ(last_, asked) << "no search";
    EXPECT_EQ(error_of([&] { ports.bind(kUdp, all.back()); }), 0) << "another space";
    ports.release(kTcp, all.front());
    Binding next = at(0, 0);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, next); }), 0);
    EXPECT_EQ(next.address.port, all.front().address.port);
}

TEST_F(CmPorts, PortsBoundByNumberAreNotTakenForFreeOnes) {
    Binding shared[] = {at(1, 40000), at(2, 40000), at(1, 7471)};
    for (Binding& b : shared) {
        ports.bind(kTcp, b);
    }
    std::vector<Binding> all(28232, at(0, 0));
    for (std::size_t n = 0; n + 1 < all.size(); ++n) {
        ports.bind(kTcp, all[n]);
        EXPECT_NE(all[n].address.port, 40000);
    }
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, all.back()); }), EADDRNOTAVAIL);
    ports.release(kTcp, shared[0]);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, all.back()); }), EADDRNOTAVAIL);
    ports.release(kTcp, shared[1]);
    EXPECT_EQ(error_of([&] { ports.bind(kTcp, all.back()); }), 0);
}

}  // namespace
}  // namespace dingo::rdma_cm
