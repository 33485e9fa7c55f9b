// SPDX-License-Identifier: BSD-2-Clause
// Table of memory kinds, defined in memory/kinds.cpp: a new kind needs one file and one row.
#pragma once
#include <span>

#include "memory/buffer.h"

namespace rdma_bench {

struct MemoryKind {
    std::string_view name;      ///< text before the colon of --mem
    std::string_view argument;  ///< argument as shown by --help: "", "[:n]", ":PATH"
    std::string_view help;      ///< one line: description and requirements
    std::unique_ptr<Buffer> (*make)(std::string_view argument, const BufferRequest& request);
};

std::span<const MemoryKind> memory_kind_table();

}  // namespace rdma_bench
