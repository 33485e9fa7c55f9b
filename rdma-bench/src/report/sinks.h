// SPDX-License-Identifier: BSD-2-Clause
// The sinks that there are. A file is written whole and moved into place, or std::runtime_error
// says why it cannot be.
#pragma once
#include <memory>
#include <string>

#include "report/result.h"

namespace rdma_bench {

/// perftest's table on standard output; errors go to stderr elsewhere.
std::unique_ptr<Sink> make_table_sink(const Options& options);
/// A line on stderr while a run takes longer than a second.
std::unique_ptr<Sink> make_progress_sink(bool gbits);
/// @param file "-": standard output, at done()
std::unique_ptr<Sink> make_json_sink(const std::string& file);
std::unique_ptr<Sink> make_csv_sink(const std::string& file);
/// perftest's --out_json, valid; as make_json_sink otherwise.
std::unique_ptr<Sink> make_perftest_json_sink(const std::string& file, bool gbits);
/// @param compare JSON of an earlier run to show beside this one; empty: none
std::unique_ptr<Sink> make_html_sink(const std::string& file, const std::string& compare);

}  // namespace rdma_bench
