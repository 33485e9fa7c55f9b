// SPDX-License-Identifier: BSD-2-Clause
#include "options/parse.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "options/agree.h"
#include "options/refused.h"

namespace rdma_bench {
namespace {

Options parse(std::string_view test, const std::string& line) {
    std::istringstream words(line);
    const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
    return parse_options(*parse_test(test), arguments);
}

/// Returns the error text for a refused command line, or "" if it is accepted.
std::string refusal(std::string_view test, const std::string& line) {
    try {
        parse(test, line);
        return {};
    } catch (const UsageError& error) {
        return error.what();
    }
}

TEST(Options, ProcessorsAreAListWithRanges) {
    EXPECT_EQ(parse("write-bw", "--pin 0,2-4,1").pin, (std::vector<unsigned>{0, 2, 3, 4, 1}));
    EXPECT_TRUE(parse("write-bw", "").pin.empty());
    for (const char* bad : {"x", "1-", "3-1", "1024", "1,,2", "0x1"}) {
        EXPECT_NE(refusal("write-bw", std::string("--pin ") + bad).find("--pin"), std::string::npos)
            << bad;
    }
    EXPECT_NE(refusal("write-bw", "--pin_cores 1").find("--pin LIST"), std::string::npos);
}

TEST(Options, RepeatsAndTheSeries) {
    EXPECT_EQ(parse("write-bw", "--repeat 7").repeat, 7U);
    EXPECT_EQ(parse("write-bw", "").repeat, 1U);
    EXPECT_DOUBLE_EQ(parse("write-bw", "--interval 0.5").interval, 0.5);
    EXPECT_NE(refusal("write-bw", "--repeat 0"), "");
    EXPECT_NE(refusal("write-bw", "--interval 0"), "");
    EXPECT_NE(refusal("write-bw", "--limit_bw zork").find("'zork' is no number of at least 0"),
              std::string::npos);
    EXPECT_NE(refusal("write-bw", "--limit_msgrate nan").find("'nan' is no number"),
              std::string::npos);
    EXPECT_NE(refusal("write-bw", "--repeat 2 --run_infinitely -D 1"), "");
    EXPECT_NE(option_differences(agreed_options(parse("write-bw", "--repeat 7")),
                                 agreed_options(parse("write-bw", "")))
                  .find("--repeat: 7 here, 1 at the peer"),
              std::string::npos);
}

TEST(Options, AServerMayWaitForSeveralClients) {
    EXPECT_EQ(parse("send-bw", "--clients 3 -D 5").clients, 3U);
    EXPECT_EQ(parse("send-bw", "").clients, 1U);
    EXPECT_EQ(parse("send-bw", "--clients 1 -n 5 host").clients, 1U);
    EXPECT_NE(refusal("send-bw", "--clients 3").find("needs -D"), std::string::npos);
    EXPECT_NE(refusal("send-bw", "--clients 3 -D 5 host").find("only the server"),
              std::string::npos);
    EXPECT_NE(refusal("send-bw", "--clients 3 -D 5 --verify").find("--verify"), std::string::npos);
    EXPECT_NE(refusal("send-bw", "--clients 3 -D 5 --run_infinitely"), "");
    EXPECT_NE(refusal("send-bw", "--clients 0 -D 5"), "");
    EXPECT_NE(refusal("send-lat", "--clients 2 -D 5").find("bandwidth"), std::string::npos);
    EXPECT_EQ(option_differences(agreed_options(parse("send-bw", "--clients 3 -D 5")),
                                 agreed_options(parse("send-bw", "-D 5 host"))),
              "")
        << "the clients need not know";
}

/// As by `rdma-bench write-bw -s "$SIZE"` if SIZE is not set.
TEST(Options, EmptyValuesAreRefusedNotTakenForTheDefault) {
    const std::pair<std::vector<std::string>, const char*> lines[] = {
        {{"-s", ""}, "--size"},         {{"-q", ""}, "--qp"}, {{"-d", ""}, "--ib-dev"},
        {{"--json", ""}, "--json"},     {{""}, "host"},       {{"-W", ""}, "--report-counters"},
        {{"--security="}, "--security"}};
    for (const auto& [arguments, option] : lines) {
        try {
            parse_options(*parse_test("write-bw"), arguments);
            ADD_FAILURE() << option;
        } catch (const UsageError& error) {
            EXPECT_NE(std::string(error.what()).find(option), std::string::npos) << error.what();
        }
    }
}

TEST(Options, DefaultsAreThoseOfPerftest) {
    const auto write = parse("write-bw", "");
    EXPECT_EQ(write.sizes, std::vector<std::uint64_t>{65536});
    EXPECT_EQ(write.iterations, 5000U);
    EXPECT_EQ(write.tx_depth, 128U);
    EXPECT_EQ(write.tcp_port, 18515);
    EXPECT_EQ(write.timeout, 14);
    EXPECT_FALSE(write.client());
    EXPECT_EQ(parse("read-bw", "").iterations, 1000U);
    EXPECT_EQ(parse("send-lat", "").sizes, std::vector<std::uint64_t>{2});
    EXPECT_EQ(parse("send-lat", "").tx_depth, 1U);
    EXPECT_EQ(parse("atomic-lat", "").sizes, std::vector<std::uint64_t>{8});
    EXPECT_EQ(parse("send-bw", "").rx_depth, 512U);
}

TEST(Options, LettersMeanWhatTheyMeanInPerftest) {
    const auto o = parse(
        "send-bw",
        "-d mlx5_0 -i 2 -x 3 -m 1024 -s 4096 -n 77 -q 4 -t 16 -r 32 -Q 8 -l 2 -I 64 -c UD -b -e "
        "-u 18 -S 3 -T 106 -p 20000 -F -N -w 3.5 -y 0.5 -L 9 --report_gbits "
        "-W hw_counters/a,counters/b --bind_source_ip 192.0.2.1 192.0.2.2");
    EXPECT_EQ(o.device, "mlx5_0");
    EXPECT_EQ(o.port, 2);
    EXPECT_EQ(o.gid_index, 3);
    EXPECT_EQ(o.mtu, 1024U);
    EXPECT_EQ(o.sizes, std::vector<std::uint64_t>{4096});
    EXPECT_EQ(o.iterations, 77U);
    EXPECT_EQ(o.qps, std::vector<unsigned>{4});
    EXPECT_EQ(o.tx_depth, 16U);
    EXPECT_EQ(o.rx_depth, 32U);
    EXPECT_EQ(o.cq_moderation, 8U);
    EXPECT_TRUE(o.cq_moderation_given);
    EXPECT_EQ(o.post_list, 2U);
    EXPECT_EQ(o.inline_size, 64);
    EXPECT_EQ(o.connection, Connection::kUd);
    EXPECT_TRUE(o.bidirectional && o.events && o.no_peak && o.report.force && o.report.gbits);
    EXPECT_EQ(o.timeout, 18);
    EXPECT_EQ(o.sl, 3);
    EXPECT_EQ(o.traffic_class, 106);
    EXPECT_EQ(o.hop_limit, 9);
    EXPECT_EQ(o.tcp_port, 20000);
    EXPECT_EQ(o.limit_bandwidth, 3.5);
    EXPECT_EQ(o.limit_message_rate, 0.5);
    EXPECT_EQ(o.report.counters, (std::vector<std::string>{"hw_counters/a", "counters/b"}));
    EXPECT_EQ(o.source_ip, "192.0.2.1");
    EXPECT_EQ(o.host, "192.0.2.2");
}

TEST(Options, TheHostMayStandAnywhereAmongThem) {
    EXPECT_EQ(parse("write-bw", "server -s 64").host, "server");
    EXPECT_EQ(parse("write-bw", "-s 64 server -b").host, "server");
}

TEST(Options, SizesAndQpCountsMayBeSeveral) {
    const auto o = parse("write-bw", "-s 64,4k,1M -q 1,8");
    EXPECT_EQ(o.sizes, (std::vector<std::uint64_t>{64, 4096, 1048576}));
    EXPECT_EQ(o.qps, (std::vector<unsigned>{1, 8}));
    const auto all = parse("read-lat", "-a");
    EXPECT_EQ(all.sizes.size(), 23U);
    EXPECT_EQ(all.sizes.front(), 2U);
    EXPECT_EQ(all.sizes.back(), 8388608U);
}

TEST(Options, NonsenseIsNamedInTheRefusal) {
    EXPECT_NE(refusal("write-bw", "-s 64,x").find("'x'"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-s 0").find("2^31"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-s 99999999999999999999").find("-s"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-s 4G").find("2^31"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-q 0").find("-q"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-n 4").find("not in range 5"), std::string::npos);
    // The text shows the value as given, not wrapped to 64 bits.
    EXPECT_NE(refusal("write-bw", "-n -5").find("-5 not in range"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-n 99999999999999999999").find("not in range"),
              std::string::npos);
    EXPECT_NE(refusal("write-bw", "-w -1").find("-1"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-W a,,b").find("name of a counter is empty"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-m 1000").find("1000"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "--no-such").find("--no-such"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-c XRC").find("RC, UC and UD"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "a b").find("b"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "--rate 0").find("rate"), std::string::npos);
}

TEST(Options, TheConnectionManagerMayConnectTheQps) {
    EXPECT_FALSE(parse("write-bw", "").rdma_cm);
    for (const auto test : {"write-bw", "read-bw", "send-bw", "atomic-lat"}) {
        const auto o = parse(test, "-R -T 104");
        EXPECT_TRUE(o.rdma_cm) << test;
        EXPECT_FALSE(o.rdma_cm_exchange) << "-z is another option";
        EXPECT_EQ(o.traffic_class, 104);
    }
    EXPECT_TRUE(parse("send-bw", "--rdma_cm -z -q 40 --use-srq").rdma_cm);
    EXPECT_NE(refusal("send-bw", "-R -c UD").find("-R: rdma_cm connects RC"), std::string::npos);
    EXPECT_NE(refusal("write-bw", "-R -c UC").find("-R: rdma_cm connects RC"), std::string::npos);
    EXPECT_NE(option_differences(agreed_options(parse("write-bw", "-R")),
                                 agreed_options(parse("write-bw", "")))
                  .find("-R: given here, not given at the peer"),
              std::string::npos);
}

TEST(Options, WhatDoesNotFitTheTestIsRefused) {
    for (const auto& [test, line] :
         std::vector<std::pair<std::string, std::string>>{{"read-bw", "-c UC"},
                                                          {"write-bw", "-c UD"},
                                                          {"write-bw", "-e"},
                                                          {"write-bw", "--use-srq"},
                                                          {"send-bw", "--use-srq -c UC"},
                                                          {"atomic-bw", "-s 16"},
                                                          {"atomic-bw", "-a"},
                                                          {"write-lat", "-q 2"},
                                                          {"write-lat", "-b"},
                                                          {"write-lat", "-l 2"},
                                                          {"write-bw", "-H"},
                                                          {"write-bw", "-o 3"},
                                                          {"read-bw", "-e --rate 10"},
                                                          {"write-bw", "-b --rate 10"},
                                                          {"write-bw", "-n 10 -D 3"},
                                                          {"write-bw", "-a -s 3"},
                                                          {"write-bw", "-D 4 -f 2"},
                                                          {"write-bw", "-D 4 -f 2147483648"},
                                                          {"write-bw", "--threads 2"},
                                                          {"write-bw", "--run_infinitely"},
                                                          {"write-bw", "--verify --rate 100"},
                                                          {"send-bw", "-c UD --verify -s 4"},
                                                          {"write-bw", "-l 64 -t 32"}}) {
        EXPECT_NE(refusal(test, line), "") << test << " " << line;
    }
}

TEST(Options, OptionsOfPerftestThatAreNotHereSayWhatToWriteInstead) {
    EXPECT_NE(refusal("write-bw", "--use_cuda=0").find("--mem cuda:N"), std::string::npos);
    EXPECT_NE(refusal("send-bw", "-g").find("multicast"), std::string::npos);
    for (const auto& option : refused_options()) {
        for (std::size_t from = 0; from < option.names.size();) {
            const auto comma = std::min(option.names.find(',', from), option.names.size());
            const std::string name(option.names.substr(from, comma - from));
            EXPECT_NE(refusal("send-bw", name).find(option.sentence), std::string::npos) << name;
            from = comma + 1;
        }
    }
}

TEST(Options, JsonOfPerftestGoesWherePerftestPutsIt) {
    EXPECT_EQ(parse("write-bw", "").report.perftest_json, "");
    EXPECT_EQ(parse("write-bw", "--out_json").report.perftest_json, "perftest_out.json");
    EXPECT_EQ(parse("write-bw", "--out_json --out_json_file=x").report.perftest_json, "x");
    EXPECT_EQ(parse("write-bw", "--out_json_file x --out_json").report.perftest_json, "x");
}

TEST(Options, RateLimitsOfPerftestBecomeMessagesASecond) {
    EXPECT_DOUBLE_EQ(parse("write-bw", "--rate 2.5k").rate, 2500);
    EXPECT_DOUBLE_EQ(parse("write-bw", "-s 1000 --rate_limit 8 --rate_units g").rate, 1e6);
    EXPECT_DOUBLE_EQ(parse("write-bw", "-s 1M --rate_limit 8 --rate_units M").rate, 8);
    EXPECT_DOUBLE_EQ(parse("write-bw", "--rate_limit 300 --rate_units p").rate, 300);
    EXPECT_NE(refusal("write-bw", "--rate_limit 8 --rate_limit_type HW").find("SW"),
              std::string::npos);
}

TEST(Options, DurationLeavesOutMarginsThatFit) {
    EXPECT_EQ(parse("write-bw", "-D 10").margin, 2U);
    EXPECT_EQ(parse("write-bw", "-D 3").margin, 0U);
    EXPECT_EQ(parse("write-bw", "-D 10 -f 1").margin, 1U);
}

TEST(Options, HelpAndVersionAreTexts) {
    EXPECT_THROW(parse("write-bw", "-h"), TextWanted);
    try {
        parse("write-bw", "--help");
    } catch (const TextWanted& text) {
        const std::string help = text.what();
        EXPECT_NE(help.find("--tx-depth N"), std::string::npos) << help;
        EXPECT_NE(help.find("--ib-dev TEXT"), std::string::npos) << help;
        for (const char* flag : {"--all", "--verify", "--bidirectional", "--noPeak", "--cpu"}) {
            const auto at = help.find(flag);
            ASSERT_NE(at, std::string::npos) << flag;
            EXPECT_EQ(help.substr(at + std::string(flag).size(), 2), "  ")
                << flag << " takes no word";
        }
    }
    EXPECT_THROW(parse("write-bw", "--version"), TextWanted);
}

TEST(Agreement, EveryDifferentOptionIsNamedWithBothValues) {
    const auto a = agreed_options(parse("write-bw", "-s 64"));
    EXPECT_EQ(option_differences(a, a), "");
    EXPECT_EQ(option_differences(a, agreed_options(parse("write-bw", "-s 4096"))),
              "-s: 64 here, 4096 at the peer");
    const auto both = option_differences(a, agreed_options(parse("write-bw", "-s 64 -q 2 -b")));
    EXPECT_NE(both.find("-q: 1 here, 2 at the peer"), std::string::npos);
    EXPECT_NE(both.find("-b: not given here, given at the peer"), std::string::npos);
    EXPECT_EQ(option_differences(a, agreed_options(parse("send-bw", "-s 9 -n 9"))),
              "test: write-bw here, send-bw at the peer");
}

TEST(Agreement, AnOptionThatOnlyThePeerKnowsCounts) {
    const auto a = agreed_options(parse("write-bw", ""));
    auto b = a;
    b.push_back({"--future", "on"});
    EXPECT_EQ(option_differences(a, b), "--future: not known here, on at the peer");
}

}  // namespace
}  // namespace rdma_bench
