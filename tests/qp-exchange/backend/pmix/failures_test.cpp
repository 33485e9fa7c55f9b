// SPDX-License-Identifier: BSD-2-Clause
// Tests that PMIx events are read correctly, whatever information the launcher puts into them.
#include "backend/pmix/failures.h"

#include <gtest/gtest.h>

#include <array>

namespace qpx::backend {
namespace {

pmix_proc_t process(const char* nspace, uint32_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    return proc;
}

class Failures : public testing::Test {
  protected:
    ~Failures() override {
        for (auto& info : infos_) {
            PMIX_INFO_DESTRUCT(&info);
        }
    }
    void add(const char* key, const void* value, pmix_data_type_t type) {
        pmix_info_t info;
        PMIX_INFO_CONSTRUCT(&info);
        PMIX_INFO_LOAD(&info, key, value, type);
        infos_.push_back(info);
    }
    void add_affected(const char* nspace, uint32_t rank) {
        const pmix_proc_t proc = process(nspace, rank);
        add(PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
    }
    std::vector<PmixFailure> of(pmix_status_t status, const pmix_proc_t& source) {
        return failures_of(status, &source, infos_, "job");
    }

    const pmix_proc_t server_ = process("server", 0);
    std::vector<pmix_info_t> infos_;
};

TEST_F(Failures, TheAffectedProcessHasFailedNotTheServerThatSaysSo) {
    add_affected("job", 3);
    const auto failed = of(PMIX_ERR_PROC_ABORTED_BY_SIG, server_);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].rank, 3u);
    EXPECT_EQ(failed[0].reason, PMIx_Error_string(PMIX_ERR_PROC_ABORTED_BY_SIG));
}

TEST_F(Failures, ASourceOfTheJobHasFailedWhenNobodyIsNamed) {
    const auto failed = of(PMIX_ERR_PROC_TERM_WO_SYNC, process("job", 7));
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].rank, 7u);
}

TEST_F(Failures, SeveralAreNamedInOneEvent) {
    std::array<pmix_proc_t, 3> procs = {process("job", 1), process("job", 4), process("other", 2)};
    pmix_data_array_t array{.type = PMIX_PROC, .size = procs.size(), .array = procs.data()};
    add(PMIX_EVENT_AFFECTED_PROCS, &array, PMIX_DATA_ARRAY);
    const auto failed = of(PMIX_EVENT_NODE_DOWN, server_);
    ASSERT_EQ(failed.size(), 2u);
    EXPECT_EQ(failed[0].rank, 1u);
    EXPECT_EQ(failed[1].rank, 4u);
}

TEST_F(Failures, AnotherJobsAreNone) {
    add_affected("other", 3);
    EXPECT_TRUE(of(PMIX_ERR_PROC_ABORTED_BY_SIG, process("job", 1)).empty());
}

TEST_F(Failures, AWildcardIsNobody) {
    EXPECT_TRUE(of(PMIX_ERR_PROC_ABORTED_BY_SIG, process("job", PMIX_RANK_WILDCARD)).empty());
    EXPECT_TRUE(failures_of(PMIX_ERR_PROC_ABORTED_BY_SIG, nullptr, {}, "job").empty());
}

TEST_F(Failures, WhoEndsWellHasNotFailed) {
    const int well = 0;
    add_affected("job", 2);
    add(PMIX_EXIT_CODE, &well, PMIX_INT);
    EXPECT_TRUE(of(PMIX_EVENT_PROC_TERMINATED, server_).empty());
}

TEST_F(Failures, WhoEndsWithAnExitStatusHasFailedAndItIsTold) {
    const int status = 9;
    add_affected("job", 2);
    add(PMIX_EXIT_CODE, &status, PMIX_INT);
    add(PMIX_EVENT_TEXT_MESSAGE, "out of memory", PMIX_STRING);
    const auto failed = of(PMIX_EVENT_PROC_TERMINATED, server_);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_NE(failed[0].reason.find("exit status 9: out of memory"), std::string::npos);
}

TEST_F(Failures, OfAnotherTypeThanDocumentedAreSkipped) {
    const uint32_t number = 5;
    add(PMIX_EVENT_AFFECTED_PROC, &number, PMIX_UINT32);
    add(PMIX_EXIT_CODE, "nine", PMIX_STRING);
    const auto failed = of(PMIX_ERR_EXIT_NONZERO_TERM, process("job", 1));
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_EQ(failed[0].rank, 1u);
}

TEST_F(Failures, ALostServerIsNoMember) {
    EXPECT_TRUE(is_server_lost(PMIX_ERR_LOST_CONNECTION, &server_, "job"));
    const pmix_proc_t peer = process("job", 1);
    EXPECT_FALSE(is_server_lost(PMIX_ERR_LOST_CONNECTION, &peer, "job"));
    EXPECT_FALSE(is_server_lost(PMIX_ERR_PROC_ABORTED_BY_SIG, &server_, "job"));
    EXPECT_TRUE(of(PMIX_ERR_LOST_CONNECTION, server_).empty());
}

}  // namespace
}  // namespace qpx::backend
