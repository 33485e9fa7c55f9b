// SPDX-License-Identifier: BSD-2-Clause
// The table of memory kinds, in memory/kinds.cpp: a new kind is one file and one row.
#pragma once
#include <span>

#include "memory/buffer.h"

namespace rdma_bench {

struct MemoryKind {
    std::string_view name;      ///< what stands before the colon of --mem
    std::string_view argument;  ///< how --help writes the rest: "", "[:n]", ":PATH"
    std::string_view help;      ///< one line: what it is and needs
    std::unique_ptr<Buffer> (*make)(std::string_view argument, const BufferRequest& request);
};

std::span<const MemoryKind> memory_kind_table();

}  // namespace rdma_bench
