// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/explain.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rdma_bench {
namespace {

TEST(Explain, ACompletionNamesNumberStatusAndLikelyCause) {
    EXPECT_EQ(explain_status(IBV_WC_RETRY_EXC_ERR, 0),
              "completion 12: transport retry counter exceeded: the peer's QP is not up or the GID "
              "is wrong");
    EXPECT_NE(explain_status(IBV_WC_RNR_RETRY_EXC_ERR, 0).find("-r"), std::string::npos);
    EXPECT_NE(explain_status(IBV_WC_GENERAL_ERR, 0x88).find("vendor error 0x88"),
              std::string::npos);
}

TEST(Explain, AVerbsErrorNamesTheVerbAndErrno) {
    const auto text = explain_errno("ibv_post_send", ENOMEM);
    EXPECT_NE(text.find("ibv_post_send: "), std::string::npos);
    EXPECT_NE(text.find("errno 12"), std::string::npos);
    EXPECT_NE(text.find("queue is full"), std::string::npos);
}

}  // namespace
}  // namespace rdma_bench
