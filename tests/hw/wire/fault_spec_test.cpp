// SPDX-License-Identifier: BSD-2-Clause
#include "wire/faults.h"

#include <cstring>

#include "dingo/packet/opcodes.h"
#include "support.h"

namespace dingo::test {
namespace {

FaultRule only_rule(const std::string& spec) {
    const std::vector<FaultRule> rules = parse_faults(spec);
    EXPECT_EQ(rules.size(), 1U);
    return rules.at(0);
}

TEST(FaultSpec, EmptyMeansNoFaults) {
    EXPECT_TRUE(parse_faults("").empty());
    EXPECT_TRUE(parse_faults(" ; ;").empty());
}

TEST(FaultSpec, ShortFormIsActionsWithProbabilities) {
    const auto rules = parse_faults("drop=1%,reorder=0.01, corrupt = 0.1%");
    ASSERT_EQ(rules.size(), 3U);
    EXPECT_EQ(rules[0].action, FaultAction::kDrop);
    EXPECT_DOUBLE_EQ(rules[0].probability, 0.01);
    EXPECT_EQ(rules[1].action, FaultAction::kReorder);
    EXPECT_DOUBLE_EQ(rules[1].probability, 0.01);
    EXPECT_EQ(rules[1].time, 1'000'000U);
    EXPECT_EQ(rules[2].action, FaultAction::kCorrupt);
    EXPECT_DOUBLE_EQ(rules[2].probability, 0.001);
}

TEST(FaultSpec, LongFormHasAllSelectors) {
    const auto rules = parse_faults(
        "drop:p=0.25,dir=both,type=roce,qpn=0x11+32..35,psn=0xfffffe..3,nth=2..4,every=2,count=9;"
        "corrupt:where=icrc,bits=3,once;delay:us=200,jitter_us=5;reorder:by=7,ms=2;duplicate;ecn");
    ASSERT_EQ(rules.size(), 6U);
    const FaultRule& r = rules[0];
    EXPECT_DOUBLE_EQ(r.probability, 0.25);
    EXPECT_TRUE(r.tx && r.rx);
    ASSERT_EQ(r.qpn.size(), 2U);
    EXPECT_TRUE(r.qpn[1].contains(33) && !r.qpn[1].contains(36));
    EXPECT_TRUE(r.psn[0].contains(0xffffff) && r.psn[0].contains(0) && !r.psn[0].contains(4));
    EXPECT_EQ(r.every, 2U);
    EXPECT_EQ(r.count, 9U);
    EXPECT_EQ(rules[1].part, FaultPart::kIcrc);
    EXPECT_EQ(rules[1].bits, 3U);
    EXPECT_EQ(rules[1].count, 1U);
    EXPECT_EQ(rules[2].time, 200'000U);
    EXPECT_EQ(rules[2].jitter, 5'000U);
    EXPECT_EQ(rules[3].by, 7U);
    EXPECT_EQ(rules[3].time, 2'000'000U);
    EXPECT_DOUBLE_EQ(rules[4].probability, 1.0);
    EXPECT_EQ(rules[5].action, FaultAction::kEcn);
}

TEST(FaultSpec, OpcodesAreNamesPatternsOrNumbers) {
    EXPECT_EQ(only_rule("drop:opcode=rc_ack").opcodes.count(), 1U);
    EXPECT_TRUE(only_rule("drop:opcode=rc_ack").opcodes[0x11]);
    EXPECT_TRUE(only_rule("drop:opcode=RC_ACKNOWLEDGE").opcodes[0x11]);
    EXPECT_EQ(only_rule("drop:opcode=rc_write_*").opcodes, only_rule("drop:opcode=6..11").opcodes)
        << "names and numbers disagree";
}

TEST(FaultSpec, EveryOpcodeOfThePacketLibraryCanBeNamed) {
    for (std::size_t i = 0; i < packet::kOpcodeTable.size(); i++) {
        if (!packet::kOpcodeTable[i].known())
            continue;
        const std::string name(packet::kOpcodeTable[i].name);
        const FaultRule rule = only_rule("drop:opcode=" + name);
        EXPECT_TRUE(rule.opcodes[i]) << name;
        EXPECT_EQ(rule.opcodes.count(), 1U) << name;
    }
}

TEST(FaultSpec, QpnPsnAndOpcodeMeanRoce) {
    EXPECT_EQ(only_rule("drop:qpn=5").type, FaultType::kRoce);
    EXPECT_EQ(only_rule("drop").type, FaultType::kAny);
}

struct BadSpec {
    const char* spec;
    const char* word;    // that the message must point at
    const char* advice;  // that it must give
};

class BadFaultSpec : public ::testing::TestWithParam<BadSpec> {};

TEST_P(BadFaultSpec, MessagePointsAtTheWordAndSaysWhatToDo) {
    const auto& [spec, word, advice] = GetParam();
    const std::string error = error_of([&, s = spec] { parse_faults(s); });
    expect_contains(error, fmt::format("'{}'", word));
    expect_contains(error, advice);
    // The last line marks the word in the line above it.
    const std::string marks = error.substr(error.rfind('\n') + 3);
    EXPECT_EQ(marks.find('^'), std::string(spec).rfind(word)) << error;
    EXPECT_EQ(marks.size() - marks.find('^'), std::max<std::size_t>(1, std::strlen(word))) << error;
}

INSTANTIATE_TEST_SUITE_P(
    FaultSpec, BadFaultSpec,
    ::testing::Values(
        BadSpec{"dorp=1%", "dorp", "drop, duplicate, reorder"},
        BadSpec{"drop=1%,once", "once", "follow a colon"},
        BadSpec{"drop=lots", "lots", "0% to 100%"}, BadSpec{"drop=101%", "101%", "0% to 100%"},
        BadSpec{"drop=-0.1", "-0.1", "0 to 1"}, BadSpec{"drop=nan", "nan", "0 to 1"},
        BadSpec{"drop:p=1%;delay:us=x", "x", "is no number"},
        BadSpec{"delay=5%", "delay=5%", "delay:us=200"},
        BadSpec{"delay:p=5%", "delay:p=5%", "needs a time"},
        BadSpec{"drop:qp=5", "qp", "known are p, dir"},
        BadSpec{"drop:qpn=0x1000000", "0x1000000", "out of range: 0 to 16777215"},
        BadSpec{"drop:qpn=9..5", "9..5", "smaller value"}, BadSpec{"drop:qpn=", "qpn=", "a value"},
        BadSpec{"drop:psn=5...9", ".9", "is no number"},
        BadSpec{"drop:opcode=rc_wrote", "rc_wrote", "rc_send_first"},
        BadSpec{"drop:opcode=256", "256", "0 to 255"}, BadSpec{"drop:dir=up", "up", "tx, rx, both"},
        BadSpec{"drop:nth=0", "0", "out of range: 1"}, BadSpec{"drop:once=1", "once=1", "no value"},
        BadSpec{"drop:where=ip", "where", "corrupt only"},
        BadSpec{"ecn:us=5", "us", "delay and reorder only"},
        BadSpec{"corrupt:where=udp", "udp", "l4, eth, ip, bth"},
        BadSpec{"drop:qpn=5,qpn=6", "qpn", "given twice"},
        BadSpec{"drop:type=other,qpn=5", "drop:type=other,qpn=5", "only type=roce has"},
        BadSpec{"drop:", "", "no selector"}));

TEST(FaultSpec, HelpNamesEveryActionAndSelector) {
    for (const char* word :
         {"drop",  "duplicate", "reorder", "corrupt", "delay",      "ecn",    "p=",     "dir=",
          "type=", "qpn=",      "psn=",    "opcode=", "nth=",       "every=", "count=", "once",
          "by=",   "bits=",     "us=",     "ms=",     "jitter_us=", "where="})
        expect_contains(faults_help(), word);
}

}  // namespace
}  // namespace dingo::test
