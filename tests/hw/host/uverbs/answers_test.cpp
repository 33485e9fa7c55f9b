// SPDX-License-Identifier: BSD-2-Clause
//
// The preload library's list of answers must agree with the card's own tables.
#include "host/uverbs/answers.h"

#include <gtest/gtest.h>

#include <iterator>

#include "host/uverbs/ioctl.h"

namespace dingo::uverbs {
namespace {

TEST(UverbsAnswers, AreThoseOfTheMethods) {
    std::size_t listed = 0;
    for (auto* const methods : {device_methods, queue_methods, memory_methods, dm_methods}) {
        for (const IoctlMethod& method : methods()) {
            for (const AttributeSpec& spec : method.attributes) {
                if (spec.id == UVERBS_ATTR_UHW_OUT) {  // or the driver's attribute with that number
                    EXPECT_EQ(spec.kind, AttributeKind::kOut);
                    continue;
                }
                const bool is_answer = spec.kind == AttributeKind::kOut;
                const bool in_list = dingo_is_answer(method.object, method.method, spec.id);
                EXPECT_EQ(in_list, is_answer) << "object " << method.object << " method "
                                              << method.method << " attribute " << spec.id;
                listed += in_list ? 1 : 0;
            }
            EXPECT_TRUE(dingo_is_answer(method.object, method.method, UVERBS_ATTR_UHW_OUT));
        }
    }
    EXPECT_EQ(listed, std::size(dingo_uverbs_answers) + 1) << "CORE_OUT is not in the list";
}

}  // namespace
}  // namespace dingo::uverbs
