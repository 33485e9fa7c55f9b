// SPDX-License-Identifier: BSD-2-Clause
#include <map>

#include "support.h"

namespace dingo::test {
namespace {

TEST(Wire, UnknownFormNamesTheKnownOnes) {
    const std::string error = error_of([] { make("upd:127.0.0.1:1,127.0.0.1:2"); });
    expect_contains(error, "unknown wire 'upd:");
    for (const char* form : {"udp:LOCAL_IP", "unix:LOCAL_PATH", "tap:IF", "packet:IF", "none"})
        expect_contains(error, form);
}

TEST(Wire, HelpNamesEveryForm) {
    for (const char* form : {"udp:", "unix:", "tap:", "packet:", "none"})
        expect_contains(wire_help(), form);
}

TEST(Wire, NoneTakesFramesAndCountsThemAsLost) {
    const auto wire = make("none");
    EXPECT_FALSE(wire->link());
    EXPECT_TRUE(send(*wire, plain_frame(100, 1)));
    KeepingSink sink;
    EXPECT_EQ(wire->receive(sink, 8), 0U);
    EXPECT_EQ(wire->stats().tx_no_peer, 1U);
    EXPECT_EQ(wire->next_deadline(), kNever);
}

TEST(Wire, CountersAreListedByName) {
    const auto wire = make("none");
    send(*wire, plain_frame(100, 1));
    std::map<std::string, std::uint64_t> counters;
    for_each_counter(wire->stats(), [&](std::string_view name, std::uint64_t n) {
        counters[std::string(name)] = n;
    });
    EXPECT_EQ(counters.at("tx_no_peer"), 1U);
    EXPECT_EQ(counters.size(), sizeof(WireStats) / sizeof(std::uint64_t));
}

TEST(Wire, DescriptionTellsTheLayers) {
    WireOptions options;
    options.faults = "drop=1%";
    options.seed = 42;
    const std::string text = make_wire(options)->describe();
    expect_contains(text, "none");
    expect_contains(text, "'drop=1%' with seed 42");
}

}  // namespace
}  // namespace dingo::test
