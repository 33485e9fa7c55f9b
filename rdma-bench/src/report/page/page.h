// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string_view>

namespace rdma_bench::report {

/// report.html with its style and scripts (embed.py). Still to be put in, in this order: @TESTS@
/// twice, @TEXT@, @DATA@.
extern const std::string_view kPage;

}  // namespace rdma_bench::report
