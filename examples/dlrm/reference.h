// SPDX-License-Identifier: BSD-2-Clause
//
// CPU implementation of the compute kernel dlrm, written from its definition
// (docs/reference/compute.md), not from the model, so that the two can be compared bit for bit.
#pragma once

#include <cstdint>
#include <span>

#include "dlrm/record.h"

namespace dlrm {

/// Returns ln(max(x, 0) + 1) as the bits of a single-precision float.
std::uint32_t log_bits(std::int32_t x);

void preprocess(Record& record, std::uint32_t modulus);
void preprocess(std::span<Record> records, std::uint32_t modulus);

}  // namespace dlrm
