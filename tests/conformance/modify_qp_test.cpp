// SPDX-License-Identifier: BSD-2-Clause
//
// MODIFY_QP: every pair of states with the right mask, one bit too few and one too many. Expected
// is the transition table of the InfiniBand specification as implemented by ib_modify_qp_is_ok() of
// the kernel.
#include <algorithm>

#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {
namespace {

struct Rule {
    std::uint8_t from;
    std::uint8_t to;
    std::uint32_t required;
    std::uint32_t optional;
};

constexpr std::uint32_t kInit = DINGO_QPM_PKEY_INDEX | DINGO_QPM_PORT | DINGO_QPM_ACCESS;
constexpr std::uint32_t kPath =
    DINGO_QPM_AV | DINGO_QPM_PATH_MTU | DINGO_QPM_DEST_QPN | DINGO_QPM_RQ_PSN;
constexpr std::uint32_t kTimers =
    DINGO_QPM_TIMEOUT | DINGO_QPM_RETRY_CNT | DINGO_QPM_RNR_RETRY | DINGO_QPM_MAX_RD_ATOMIC;
constexpr std::uint32_t kRunning = DINGO_QPM_CUR_STATE | DINGO_QPM_ACCESS | DINGO_QPM_MIN_RNR_TIMER;
constexpr std::uint32_t kAllBits = DINGO_QPM_CUR_STATE | DINGO_QPM_EN_SQD_ASYNC_NOTIFY |
                                   DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX | DINGO_QPM_PORT |
                                   DINGO_QPM_QKEY | DINGO_QPM_AV | DINGO_QPM_PATH_MTU | kTimers |
                                   DINGO_QPM_RQ_PSN | DINGO_QPM_MIN_RNR_TIMER | DINGO_QPM_SQ_PSN |
                                   DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_DEST_QPN;

std::vector<Rule> table(std::uint8_t kind) {
    using std::uint8_t;
    constexpr uint8_t reset = DINGO_QPS_RESET, init = DINGO_QPS_INIT, rtr = DINGO_QPS_RTR,
                      rts = DINGO_QPS_RTS, sqd = DINGO_QPS_SQD, err = DINGO_QPS_ERR;
    std::vector<Rule> rules;
    for (uint8_t from : {reset, init, rtr, rts, sqd, err}) {
        rules.push_back({from, reset, 0, 0});
        if (from != reset)
            rules.push_back({from, err, 0, 0});
    }
    if (kind == DINGO_QPT_RC) {
        rules.insert(rules.end(),
                     {{reset, init, kInit, 0},
                      {init, init, 0, kInit},
                      {init, rtr, kPath | DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_MIN_RNR_TIMER,
                       DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX},
                      {rtr, rts, kTimers | DINGO_QPM_SQ_PSN, kRunning},
                      {rts, rts, 0, kRunning},
                      {rts, sqd, 0, DINGO_QPM_EN_SQD_ASYNC_NOTIFY},
                      {sqd, rts, 0, kRunning},
                      {sqd, sqd, 0,
                       DINGO_QPM_PORT | DINGO_QPM_AV | kTimers | DINGO_QPM_MAX_DEST_RD_ATOMIC |
                           DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX | DINGO_QPM_MIN_RNR_TIMER}});
    } else if (kind == DINGO_QPT_UC) {
        constexpr std::uint32_t running = DINGO_QPM_CUR_STATE | DINGO_QPM_ACCESS;
        rules.insert(rules.end(),
                     {{reset, init, kInit, 0},
                      {init, init, 0, kInit},
                      {init, rtr, kPath, DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX},
                      {rtr, rts, DINGO_QPM_SQ_PSN, running},
                      {rts, rts, 0, running},
                      {rts, sqd, 0, DINGO_QPM_EN_SQD_ASYNC_NOTIFY},
                      {sqd, rts, 0, running},
                      {sqd, sqd, 0, DINGO_QPM_AV | DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX}});
    } else {
        constexpr std::uint32_t key = DINGO_QPM_PKEY_INDEX | DINGO_QPM_QKEY;
        constexpr std::uint32_t running = DINGO_QPM_CUR_STATE | DINGO_QPM_QKEY;
        const std::uint32_t port = kind == DINGO_QPT_UD ? DINGO_QPM_PORT : 0;
        rules.insert(rules.end(), {{reset, init, key | port, 0},
                                   {init, init, 0, key | port},
                                   {init, rtr, 0, key},
                                   {rtr, rts, DINGO_QPM_SQ_PSN, running},
                                   {rts, rts, 0, running},
                                   {rts, sqd, 0, DINGO_QPM_EN_SQD_ASYNC_NOTIFY},
                                   {sqd, rts, 0, running},
                                   {sqd, sqd, 0, key}});
    }
    return rules;
}

/// A QP in a given state, and commands on it.
class Subject {
  public:
    Subject(const std::string& engine, std::uint8_t kind) : cards_(engine, engine) {
        cq_ = driver().create_cq();
        test::QpOptions options;
        options.kind = kind;
        qp_ = driver().create_qp(cq_, cq_, options);
    }
    void bring_to(std::uint8_t state) {
        driver().to_state(qp_, DINGO_QPS_RESET);
        const auto path = cards_.path_to(1, 0x1234);
        if (state == DINGO_QPS_RESET)
            return;
        driver().to_init(qp_, path);
        if (state == DINGO_QPS_INIT)
            return;
        if (state == DINGO_QPS_ERR)
            return driver().to_state(qp_, state);
        driver().to_rtr(qp_, path);
        if (state == DINGO_QPS_RTR)
            return;
        driver().to_rts(qp_, path);
        if (state == DINGO_QPS_SQD)
            driver().to_state(qp_, state);
    }
    /// MODIFY_QP with attributes that are all valid and differ from those set by bring_to().
    std::uint32_t modify(std::uint8_t from, std::uint8_t to, std::uint32_t mask) {
        const auto path = cards_.path_to(1, 0x4321);
        dingo_cmd_modify_qp cmd{};
        cmd.qpn = qp_.qpn;
        cmd.mask = mask | DINGO_QPM_STATE;
        cmd.cur_state = from;
        cmd.next_state = to;
        cmd.attr.qkey = 0x55;
        cmd.attr.rq_psn = 0x321;
        cmd.attr.sq_psn = 0x654;
        cmd.attr.dest_qpn = path.dest_qpn;
        cmd.attr.access = DINGO_ACC_REMOTE_READ;
        cmd.attr.path_mtu = 2;
        cmd.attr.max_rd_atomic = 1;
        cmd.attr.max_dest_rd_atomic = 1;
        cmd.attr.min_rnr_timer = 9;
        cmd.attr.timeout = 9;
        cmd.attr.retry_cnt = 2;
        cmd.attr.rnr_retry = 2;
        cmd.attr.port = 1;
        std::ranges::copy(path.dgid, cmd.attr.dgid);
        std::ranges::copy(path.dmac, cmd.attr.dmac);
        cmd.attr.udp_sport = 0xc001;
        cmd.attr.hop_limit = 7;
        return driver().execute(DINGO_OP_MODIFY_QP, cmd).status;
    }
    std::array<std::byte, sizeof(dingo_qp_info)> query() {
        const dingo_qp_info info = driver().query_qp(qp_.qpn);
        std::array<std::byte, sizeof info> bytes;
        std::memcpy(bytes.data(), &info, sizeof info);
        return bytes;
    }
    std::uint8_t state() { return driver().query_qp(qp_.qpn).state; }
    auto path() { return cards_.path_to(1, 0x1234); }
    test::TestDriver& driver() { return cards_.driver(0); }
    test::TestQp& qp() { return qp_; }

  private:
    test::TwoCards cards_;
    test::Cq cq_;
    test::TestQp qp_;
};

constexpr std::uint8_t kStates[] = {DINGO_QPS_RESET, DINGO_QPS_INIT, DINGO_QPS_RTR,
                                    DINGO_QPS_RTS,   DINGO_QPS_SQD,  DINGO_QPS_ERR};

void check_pair(Subject& subject, const std::vector<Rule>& rules, std::uint8_t from,
                std::uint8_t to) {
    const auto rule =
        std::ranges::find_if(rules, [&](const Rule& r) { return r.from == from && r.to == to; });
    const std::string what = std::to_string(from) + " -> " + std::to_string(to);
    const auto expect_refused = [&](std::uint32_t mask) {
        subject.bring_to(from);
        const auto before = subject.query();
        EXPECT_NE(subject.modify(from, to, mask), DINGO_ST_OK) << what << ", mask " << mask;
        EXPECT_EQ(subject.query(), before) << what << ": a refused command changed something";
    };
    if (rule == rules.end()) {
        expect_refused(0);
        expect_refused(kAllBits);
        return;
    }
    for (std::uint32_t bit = 1; bit <= kAllBits; bit <<= 1) {
        if ((kAllBits & bit) == 0)
            continue;
        if ((rule->required & bit) != 0)
            expect_refused(rule->required & ~bit);
        else if ((rule->optional & bit) == 0)
            expect_refused(rule->required | bit);
    }
    for (std::uint32_t mask : {rule->required, rule->required | rule->optional}) {
        subject.bring_to(from);
        // CUR_STATE may name only states that a QP can leave on its own.
        if (from == DINGO_QPS_RESET || from == DINGO_QPS_INIT || from == DINGO_QPS_ERR)
            mask &= ~std::uint32_t{DINGO_QPM_CUR_STATE};
        EXPECT_EQ(subject.modify(from, to, mask), DINGO_ST_OK) << what << ", mask " << mask;
        EXPECT_EQ(subject.state(), to) << what;
    }
}

void check_all_pairs(const std::string& engine, std::uint8_t kind) {
    Subject subject(engine, kind);
    const auto rules = table(kind);
    for (std::uint8_t from : kStates)
        for (std::uint8_t to : kStates)
            check_pair(subject, rules, from, to);
}

}  // namespace

CONFORMANCE_SUITE(ModifyQp);

TEST_P(ModifyQp, AllStatePairsOfRcWithMissingAndExtraBits) {
    check_all_pairs(engine(), DINGO_QPT_RC);
}

TEST_P(ModifyQp, AllStatePairsOfUcWithMissingAndExtraBits) {
    ENGINE_NEEDS(UC);
    check_all_pairs(engine(), DINGO_QPT_UC);
}

TEST_P(ModifyQp, AllStatePairsOfUdWithMissingAndExtraBits) {
    ENGINE_NEEDS(UD);
    check_all_pairs(engine(), DINGO_QPT_UD);
}

TEST_P(ModifyQp, AllStatePairsOfTheGsiQpWithMissingAndExtraBits) {
    ENGINE_NEEDS(UD);
    check_all_pairs(engine(), DINGO_QPT_GSI);
}

TEST_P(ModifyQp, ValuesOutOfRangeChangeNothing) {
    Subject subject(engine(), DINGO_QPT_RC);
    struct Bad {
        std::uint32_t bit;
        std::function<void(dingo_qp_attr&)> set;
    };
    const Bad cases[] = {
        {DINGO_QPM_TIMEOUT, [](auto& a) { a.timeout = 32; }},
        {DINGO_QPM_RETRY_CNT, [](auto& a) { a.retry_cnt = 8; }},
        {DINGO_QPM_RNR_RETRY, [](auto& a) { a.rnr_retry = 8; }},
        {DINGO_QPM_MAX_RD_ATOMIC, [](auto& a) { a.max_rd_atomic = 255; }},
        {DINGO_QPM_MIN_RNR_TIMER, [](auto& a) { a.min_rnr_timer = 32; }},
        {DINGO_QPM_ACCESS, [](auto& a) { a.access = 1u << 31; }},
        {DINGO_QPM_PKEY_INDEX, [](auto& a) { a.pkey_index = 1; }},
        {DINGO_QPM_PORT, [](auto& a) { a.port = 2; }},
        {DINGO_QPM_AV, [](auto& a) { a.sgid_index = 200; }},
        {DINGO_QPM_AV, [](auto& a) { a.flow_label = 1u << 20; }},
        {DINGO_QPM_AV, [](auto& a) { a.udp_sport = 1000; }},
        {DINGO_QPM_AV, [](auto& a) { a.dmac[0] |= 1; }},
    };
    for (const Bad& bad : cases) {
        subject.bring_to(DINGO_QPS_SQD);
        const auto before = subject.query();
        dingo_cmd_modify_qp cmd{};
        cmd.qpn = subject.qp().qpn;
        cmd.mask = bad.bit;
        cmd.attr = subject.driver().query_qp(cmd.qpn).attr;
        cmd.attr.port = 1;
        bad.set(cmd.attr);
        const auto completion = subject.driver().execute(DINGO_OP_MODIFY_QP, cmd);
        EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD) << "bit " << bad.bit;
        EXPECT_GE(completion.detail, 24u) << "names a byte of the attributes";
        EXPECT_EQ(subject.query(), before);
    }
}

TEST_P(ModifyQp, LargestValuesAreAcceptedAndTheNextOnesAreNot) {
    Subject subject(engine(), DINGO_QPT_RC);
    const dingo_limits limits = subject.driver().query_limits();
    struct Field {
        const char* name;
        std::uint8_t from;  // a state in which the field may be given
        std::uint8_t to;
        std::uint32_t bit;
        std::uint64_t most;
        std::function<void(dingo_qp_attr&, std::uint64_t)> set;
    };
    constexpr std::uint8_t init = DINGO_QPS_INIT, rtr = DINGO_QPS_RTR, rts = DINGO_QPS_RTS,
                           sqd = DINGO_QPS_SQD;
    constexpr std::uint64_t k24Bits = (1u << 24) - 1;
    const Field fields[] = {
        {"rq_psn", init, rtr, DINGO_QPM_RQ_PSN, k24Bits,
         [](auto& a, auto v) { a.rq_psn = static_cast<std::uint32_t>(v); }},
        {"sq_psn", rtr, rts, DINGO_QPM_SQ_PSN, k24Bits,
         [](auto& a, auto v) { a.sq_psn = static_cast<std::uint32_t>(v); }},
        {"dest_qpn", init, rtr, DINGO_QPM_DEST_QPN, k24Bits,
         [](auto& a, auto v) { a.dest_qpn = static_cast<std::uint32_t>(v); }},
        {"path_mtu", init, rtr, DINGO_QPM_PATH_MTU, 5,
         [](auto& a, auto v) { a.path_mtu = static_cast<std::uint8_t>(v); }},
        {"max_rd_atomic", sqd, sqd, DINGO_QPM_MAX_RD_ATOMIC, limits.max_rd_atomic,
         [](auto& a, auto v) { a.max_rd_atomic = static_cast<std::uint8_t>(v); }},
        {"max_dest_rd_atomic", sqd, sqd, DINGO_QPM_MAX_DEST_RD_ATOMIC, limits.max_dest_rd_atomic,
         [](auto& a, auto v) { a.max_dest_rd_atomic = static_cast<std::uint8_t>(v); }},
        {"min_rnr_timer", sqd, sqd, DINGO_QPM_MIN_RNR_TIMER, 31,
         [](auto& a, auto v) { a.min_rnr_timer = static_cast<std::uint8_t>(v); }},
        {"timeout", sqd, sqd, DINGO_QPM_TIMEOUT, 31,
         [](auto& a, auto v) { a.timeout = static_cast<std::uint8_t>(v); }},
        {"retry_cnt", sqd, sqd, DINGO_QPM_RETRY_CNT, 7,
         [](auto& a, auto v) { a.retry_cnt = static_cast<std::uint8_t>(v); }},
        {"rnr_retry", sqd, sqd, DINGO_QPM_RNR_RETRY, 7,
         [](auto& a, auto v) { a.rnr_retry = static_cast<std::uint8_t>(v); }},
        {"flow_label", sqd, sqd, DINGO_QPM_AV, (1u << 20) - 1,
         [](auto& a, auto v) { a.flow_label = static_cast<std::uint32_t>(v); }},
        {"sl", sqd, sqd, DINGO_QPM_AV, 15,
         [](auto& a, auto v) { a.sl = static_cast<std::uint8_t>(v); }},
    };
    for (const Field& field : fields) {
        for (const std::uint64_t value : {field.most, field.most + 1}) {
            subject.bring_to(field.from);
            const auto path = subject.path();
            dingo_cmd_modify_qp cmd{};
            cmd.qpn = subject.qp().qpn;
            cmd.next_state = field.to;
            cmd.mask = DINGO_QPM_STATE | field.bit;
            cmd.attr = subject.driver().query_qp(cmd.qpn).attr;
            cmd.attr.port = 1;
            if (field.to == rtr)
                cmd.mask |= kPath | DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_MIN_RNR_TIMER;
            if (field.to == rts)
                cmd.mask |= kTimers | DINGO_QPM_SQ_PSN;
            if (field.to == rtr) {
                cmd.attr.path_mtu = 3;
                std::ranges::copy(path.dgid, cmd.attr.dgid);
                std::ranges::copy(path.dmac, cmd.attr.dmac);
                cmd.attr.udp_sport = 0xc001;
            }
            field.set(cmd.attr, value);
            EXPECT_EQ(subject.driver().execute(DINGO_OP_MODIFY_QP, cmd).status,
                      value == field.most ? DINGO_ST_OK : DINGO_ST_BAD_FIELD)
                << field.name << " = " << value;
        }
    }
}

TEST_P(ModifyQp, WrongCurrentStateIsRefused) {
    Subject subject(engine(), DINGO_QPT_RC);
    subject.bring_to(DINGO_QPS_RTS);
    EXPECT_NE(subject.modify(DINGO_QPS_SQD, DINGO_QPS_RTS, DINGO_QPM_CUR_STATE), DINGO_ST_OK);
    EXPECT_EQ(subject.modify(DINGO_QPS_RTS, DINGO_QPS_RTS, DINGO_QPM_CUR_STATE), DINGO_ST_OK);
}

TEST_P(ModifyQp, SameNumberOfSlotsKeepsTheReadsThatThePeerMayRepeat) {
    Pair pair(engine(), PairOptions().timeout(10));
    WireFaults faults(pair.cards);
    faults.add(Fault::kDrop, {.from = 1});
    pair.fill(1, 0, 100, 1);
    pair.post(pair.read(0, 0, 100));
    ASSERT_TRUE(pair.cards.run_until([&] { return faults.injured > 0; }));
    pair.driver(1).to_state(pair.qp(1), DINGO_QPS_SQD);
    dingo_cmd_modify_qp command{};
    command.attr = pair.driver(1).query_qp(pair.qp(1).qpn).attr;
    pair.driver(1).modify(pair.qp(1), DINGO_QPM_MAX_DEST_RD_ATOMIC, command);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 100));
}

TEST_P(ModifyQp, QueryGivesBackWhatWasSet) {
    Subject subject(engine(), DINGO_QPT_RC);
    subject.bring_to(DINGO_QPS_RTS);
    const dingo_qp_info info = subject.driver().query_qp(subject.qp().qpn);
    EXPECT_EQ(info.state, DINGO_QPS_RTS);
    EXPECT_EQ(info.attr.dest_qpn, 0x1234u);
    EXPECT_EQ(info.attr.path_mtu, 3);
    EXPECT_EQ(info.attr.timeout, 14);
    EXPECT_EQ(info.attr.retry_cnt, 7);
    EXPECT_EQ(info.attr.rnr_retry, 7);
    EXPECT_EQ(info.attr.min_rnr_timer, 12);
    EXPECT_EQ(info.attr.hop_limit, 64);
    EXPECT_EQ(info.attr.dgid[15], 2);
}

}  // namespace dingo::conformance
