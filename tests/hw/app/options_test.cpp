// SPDX-License-Identifier: BSD-2-Clause
#include "app/options.h"

#include <gtest/gtest.h>

#include "app/card_process.h"
#include "app/idle_policy.h"
#include "app/look_policy.h"
#include "fake_engine.h"

namespace dingo {
namespace {

std::optional<Options> parse(std::vector<std::string> words, int* status = nullptr,
                             std::string* error = nullptr) {
    test::register_fake_engine();
    words.insert(words.begin(), "dingo-card");
    std::vector<char*> argv;
    for (auto& word : words) {
        argv.push_back(word.data());
    }
    Exit exit;
    auto options = parse_options(static_cast<int>(argv.size()), argv.data(), exit);
    if (status != nullptr) {
        *status = exit.status;
    }
    if (error != nullptr) {
        *error = exit.error;
    }
    return options;
}

TEST(CardOptions, MacAddressesAreParsedAndMulticastOnesRefused) {
    EXPECT_EQ(parse_mac("02:44:49:00:0A:fF"), 0x024449000AFFu);
    EXPECT_EQ(parse_mac("02-44-49-00-00-01"), 0x024449000001u);
    for (const char* bad : {"", "02:44:49:00:00", "01:00:00:00:00:01", "00:00:00:00:00:00",
                            "02:44:49:00:00:0g", "02:44:49:00:00:01 ", "0244490000011234:"}) {
        EXPECT_FALSE(parse_mac(bad).has_value()) << bad;
    }
}

TEST(CardOptions, DefaultMacDependsOnTheSocketOnly) {
    const auto a = parse({"--vfio-user", "/tmp/a"});
    const auto b = parse({"--vfio-user", "/tmp/b"});
    ASSERT_TRUE(a && b);
    EXPECT_NE(a->config.mac, b->config.mac);
    EXPECT_EQ(a->config.mac, parse({"--vfio-user", "/tmp/a"})->config.mac);
    EXPECT_EQ(a->config.mac >> 24, 0x024449u);
}

TEST(CardOptions, SeedIsRandomUnlessGiven) {
    EXPECT_NE(parse({"--vfio-user", "/tmp/a"})->config.seed,
              parse({"--vfio-user", "/tmp/a"})->config.seed);
    const auto o = parse({"--vfio-user", "/tmp/a", "--seed", "7"});
    EXPECT_EQ(o->config.seed, 7u);
    EXPECT_EQ(o->wire.seed, 7u);
}

TEST(CardOptions, EverythingReachesItsPlace) {
    const auto o = parse({"--vfio-user",
                          "/tmp/a",
                          "--engine",
                          "fake",
                          "--wire",
                          "none",
                          "--mac",
                          "02:00:00:00:00:09",
                          "--faults",
                          "drop=1%",
                          "--pcap",
                          "x.pcap",
                          "--max-qp",
                          "100",
                          "--spin-us",
                          "0",
                          "--nap-us",
                          "7",
                          "--trapped-doorbells",
                          "--control",
                          "/tmp/c",
                          "--log",
                          "debug"});
    ASSERT_TRUE(o);
    EXPECT_EQ(o->config.mac, 0x020000000009u);
    EXPECT_EQ(o->config.max_qp, 100u);
    EXPECT_FALSE(o->config.memory_doorbells);
    EXPECT_EQ(o->idle.spin, 0u);
    EXPECT_EQ(o->idle.nap, 7000u);
    EXPECT_EQ(o->control, "/tmp/c");
    EXPECT_EQ(o->wire.faults, "drop=1%");
    EXPECT_EQ(o->wire.pcap, "x.pcap");
}

TEST(CardOptions, DeviceMemoryIsSixteenMebibytesOrWhatIsSaid) {
    const auto usual = parse({"--uverbs", "/tmp/a"});
    ASSERT_TRUE(usual);
    EXPECT_EQ(uverbs::driver_config(usual->uverbs).device_memory, 16U << 20);
    const auto large = parse({"--uverbs", "/tmp/a", "--device-memory", "8192"});
    ASSERT_TRUE(large);
    EXPECT_EQ(uverbs::driver_config(large->uverbs).device_memory, std::uint64_t{8} << 30);
    EXPECT_FALSE(parse({"--uverbs", "/tmp/a", "--device-memory", "-1"}));
}

TEST(CardOptions, CardMemoryIsAPowerOfTwoAndForQemu) {
    const auto usual = parse({"--vfio-user", "/tmp/a"});
    ASSERT_TRUE(usual);
    EXPECT_EQ(usual->memory.bytes, 0u);
    const auto given = parse({"--vfio-user", "/tmp/a", "--card-memory", "64"});
    ASSERT_TRUE(given);
    EXPECT_EQ(given->memory.bytes, 64u << 20);
    EXPECT_FALSE(given->memory.counted);
    const auto counted =
        parse({"--vfio-user", "/tmp/a", "--card-memory", "2", "--count-card-memory"});
    ASSERT_TRUE(counted);
    EXPECT_TRUE(counted->memory.counted);
    for (const char* size : {"1", "3", "96", "-2"}) {
        EXPECT_FALSE(parse({"--vfio-user", "/tmp/a", "--card-memory", size})) << size;
    }
    EXPECT_FALSE(parse({"--vfio-user", "/tmp/a", "--count-card-memory"}));
    EXPECT_FALSE(parse({"--uverbs", "/tmp/a", "--card-memory", "64"}));
}

TEST(CardOptions, AllMistakesAreToldAtOnce) {
    int status = 0;
    std::string text;
    EXPECT_FALSE(parse({"--engine", "x", "--mac", "y", "--log", "z"}, &status, &text));
    EXPECT_EQ(status, 2);
    for (const char* word : {"--vfio-user is missing", "--engine x", "--mac y", "--log z"}) {
        EXPECT_NE(text.find(word), std::string::npos) << text;
    }
}

TEST(CardOptions, CapabilitiesCanBeLeftOut) {
    const auto o = parse(
        {"--vfio-user", "/tmp/s", "--without", "pause_mr,srq,compute,cq_moderation,gid_domains"});
    ASSERT_TRUE(o);
    EXPECT_EQ(o->config.withheld, DINGO_CAP_PAUSE_MR | DINGO_CAP_SRQ | DINGO_CAP_COMPUTE |
                                      DINGO_CAP_CQ_MODERATION | DINGO_CAP_GID_DOMAINS);
    int status = 0;
    std::string text;
    EXPECT_FALSE(parse({"--vfio-user", "/tmp/s", "--without", "rc"}, &status));
    EXPECT_FALSE(parse({"--uverbs", "/tmp/d", "--without", "srq"}, &status, &text));
    EXPECT_NE(text.find("--without is for --vfio-user"), std::string::npos);
}

TEST(CardOptions, CommandsCanBeRefused) {
    const auto o = parse({"--vfio-user", "/tmp/s", "--refuse", "0x43,65"});
    ASSERT_TRUE(o);
    EXPECT_EQ(o->admin_faults.refused.count(), 2U);
    EXPECT_TRUE(o->admin_faults.refused[DINGO_OP_PAUSE_MR] &&
                o->admin_faults.refused[DINGO_OP_DESTROY_MR]);
    int status = 0;
    std::string text;
    EXPECT_FALSE(parse({"--vfio-user", "/tmp/s", "--refuse", "256"}, &status));
    EXPECT_FALSE(parse({"--uverbs", "/tmp/d", "--refuse", "0x43"}, &status, &text));
    EXPECT_NE(text.find("--refuse is for --vfio-user"), std::string::npos);
    EXPECT_FALSE(
        parse({"--vfio-user", "/tmp/s", "--engine", "rtl", "--refuse", "0x43"}, &status, &text));
    EXPECT_NE(text.find("--refuse works with --engine model only"), std::string::npos);
}

TEST(CardOptions, HelpIsForStdout) {
    test::register_fake_engine();
    std::vector<std::string> words{"dingo-card", "--help"};
    std::vector<char*> argv{words[0].data(), words[1].data()};
    Exit exit;
    EXPECT_FALSE(parse_options(2, argv.data(), exit));
    EXPECT_EQ(exit.status, 0);
    EXPECT_NE(exit.text.find("--adopt"), std::string::npos);
    EXPECT_EQ(exit.error, "");
}

TEST(CardOptions, OnlyPlainKernelLessCardsOnShmOrRoceShareAProcess) {
    test::register_fake_engine();
    const auto why = [](std::vector<std::string> words) {
        auto o = parse(std::move(words));
        EXPECT_TRUE(o);
        if (!o) {
            return std::string();
        }
        o->engine = o->engine == "fake" ? "model" : o->engine;
        return needs_own_process(*o);
    };
    const std::vector<std::string> shm{"--uverbs", "/tmp/d", "--engine", "fake", "--wire", "shm"};
    const auto with = [&](std::initializer_list<const char*> more) {
        std::vector<std::string> words = shm;
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    EXPECT_EQ(why(shm), "");
    EXPECT_EQ(why({"--uverbs", "/tmp/d", "--wire", "shm:net", "--engine", "fake"}), "");
    EXPECT_EQ(why(with({"--pcap", "/tmp/x", "--faults", "drop=1%", "--mtu", "1024"})), "");
    EXPECT_NE(why(with({"--share"})), "");
    EXPECT_NE(why(with({"--spin-us", "50"})), "");
    EXPECT_EQ(why({"--uverbs", "/tmp/d", "--wire", "roce:127.0.0.2", "--engine", "fake"}), "");
    EXPECT_NE(why({"--uverbs", "/tmp/d", "--wire", "udp:1,2", "--engine", "fake"}), "");
    EXPECT_NE(why({"--vfio-user", "/tmp/s", "--wire", "shm", "--engine", "fake"}), "");
    EXPECT_FALSE(parse({"--vfio-user", "/tmp/s", "--adopt"}));
    auto rtl = parse(shm);
    ASSERT_TRUE(rtl);
    EXPECT_NE(needs_own_process(*rtl), "") << "its engine is not the model";
}

TEST(CardOptions, CtlNeedsNoCardOptions) {
    const auto o = parse({"ctl", "/tmp/c", "link", "down"});
    ASSERT_TRUE(o);
    EXPECT_TRUE(o->ctl);
    EXPECT_EQ(o->ctl_words, (std::vector<std::string>{"link", "down"}));
}

TEST(LookPolicy, RequestsGetATenthOfTheTimeOfABusyCard) {
    LookPolicy policy;
    Nanoseconds now = 1'000'000;
    Nanoseconds looking = 0;
    for (const Nanoseconds begin = now; now < begin + 1'000'000'000; now += 1'000) {
        if (policy.due(now)) {
            policy.looked(now, 100'000, true);
            now += 100'000;
            looking += 100'000;
        }
    }
    EXPECT_NEAR(static_cast<double>(looking), 1e8, 2e6);
}

TEST(LookPolicy, AnIdleCardLooksAgainAtOnceAndNobodyWaitsLong) {
    LookPolicy policy;
    EXPECT_TRUE(policy.due(0));
    policy.looked(0, 5'000'000, false);
    EXPECT_FALSE(policy.due(5'000'000));
    EXPECT_TRUE(policy.due(5'010'000));
    policy.looked(6'000'000, 500'000'000, true);
    EXPECT_FALSE(policy.due(515'000'000));
    EXPECT_TRUE(policy.due(516'000'000)) << "10 ms after a look of half a second";
}

TEST(IdlePolicy, TimeGrowsWhileSleepsAreShortAndEndsWhenTheyAreLong) {
    AdaptiveTime time(20'000);
    EXPECT_EQ(time.current(), 0u);
    for (int i = 0; i < 10; ++i) {
        time.slept(5'000);
    }
    EXPECT_EQ(time.current(), 20'000u);
    for (int i = 0; i < 10; ++i) {
        time.slept(1'000'000);
    }
    EXPECT_EQ(time.current(), 0u);
    AdaptiveTime never(0);
    never.slept(0);
    EXPECT_EQ(never.current(), 0u);
}

TEST(IdlePolicy, SpinsThenNapsThenSleeps) {
    IdlePolicy policy({.spin = 10'000, .nap = 100'000});
    EXPECT_EQ(policy.act(0), IdlePolicy::Act::kSleep);
    for (int i = 0; i < 10; ++i) {
        policy.slept(5'000);
    }
    EXPECT_EQ(policy.act(9'999), IdlePolicy::Act::kSpin);
    EXPECT_EQ(policy.act(10'000), IdlePolicy::Act::kNap);
    EXPECT_EQ(policy.act(100'000), IdlePolicy::Act::kSleep);
}

}  // namespace
}  // namespace dingo
