// SPDX-License-Identifier: BSD-2-Clause
#include <memory>
#include <utility>

#include "report/csv.h"
#include "report/file.h"
#include "report/html.h"
#include "report/json.h"
#include "report/sinks.h"

namespace rdma_bench {
namespace {

/// Writes the whole run when it is done. That the file can be written is known before the run, not
/// after it.
template <typename Format>
class FileSink final : public Sink {
  public:
    FileSink(std::string file, Format format) : file_(std::move(file)), format_(std::move(format)) {
        report::check_writable(file_);
    }
    void done(const Result& result) override { report::write_file(file_, format_(result)); }

  private:
    std::string file_;
    Format format_;
};

template <typename Format>
std::unique_ptr<Sink> file_sink(const std::string& file, Format format) {
    return std::make_unique<FileSink<Format>>(file, std::move(format));
}

}  // namespace

std::unique_ptr<Sink> make_json_sink(const std::string& file) {
    return file_sink(file, [](const Result& result) { return report::to_json(result); });
}

std::unique_ptr<Sink> make_csv_sink(const std::string& file) {
    return file_sink(file, [](const Result& result) { return report::to_csv(result); });
}

std::unique_ptr<Sink> make_perftest_json_sink(const std::string& file, bool gbits) {
    return file_sink(
        file, [gbits](const Result& result) { return report::to_perftest_json(result, gbits); });
}

std::unique_ptr<Sink> make_html_sink(const std::string& file, const std::string& compare) {
    std::vector<report::Run> earlier;
    if (!compare.empty()) {
        earlier.push_back({compare, report::from_json(report::read_file(compare), compare)});
    }
    return file_sink(file, [earlier](const Result& result) {
        auto runs = earlier;
        runs.push_back({"this run", result});
        return report::to_html(runs);
    });
}

}  // namespace rdma_bench
