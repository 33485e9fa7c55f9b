// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace rdma_bench::report {

/// Three significant digits and no trailing zeros: "0.5", "12.3", "1230".
std::string three_digits(double value);

/// "64 B", "1 KiB", "1.5 MiB".
std::string format_bytes(double bytes);
/// "850 ns", "12.3 µs", "4.56 ms", "2 s".
std::string format_microseconds(double microseconds);
/// "950", "12.3 k", "4.56 M".
std::string format_count(double count);

}  // namespace rdma_bench::report
