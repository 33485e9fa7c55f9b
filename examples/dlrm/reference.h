// SPDX-License-Identifier: BSD-2-Clause
//
// What the compute kernel dlrm makes of records, on the CPU: written from its definition
// (docs/reference/compute.md), not from the model, so that the two can be compared bit for bit.
#pragma once

#include <cstdint>
#include <span>

#include "dlrm/record.h"

namespace dlrm {

/// ln(max(x, 0) + 1) as the bits of a single.
std::uint32_t log_bits(std::int32_t x);

void preprocess(Record& record, std::uint32_t modulus);
void preprocess(std::span<Record> records, std::uint32_t modulus);

}  // namespace dlrm
