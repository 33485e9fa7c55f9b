// SPDX-License-Identifier: BSD-2-Clause
// A line on stderr that is written over again and again, and gone before a row of the table comes.
#include <cstdio>

#include "report/sinks.h"

namespace rdma_bench {
namespace {

class ProgressSink final : public Sink {
  public:
    explicit ProgressSink(bool gbits) : gbits_(gbits) {}

    void progress(const Progress& p) override {
        // Short runs need none.
        if (p.seconds < 1 && !shown_) {
            return;
        }
        const double rate = p.seconds > 0 ? static_cast<double>(p.bytes) / p.seconds : 0;
        std::fprintf(
            stderr,
            "\r\033[K%zu of %zu: %llu B, %u QP%s, %.0f %%, %.0f s, %.4g %s, %.4g messages/s",
            p.entry + 1, p.entries, static_cast<unsigned long long>(p.size), p.qps,
            p.qps > 1 ? "s" : "", p.done * 100, p.seconds, rate / (gbits_ ? 1e9 / 8 : 1048576.0),
            gbits_ ? "Gb/s" : "MiB/s",
            p.seconds > 0 ? static_cast<double>(p.messages) / p.seconds : 0);
        std::fflush(stderr);
        shown_ = true;
    }
    void entry(const Result& /*result*/, const Entry& /*entry*/) override { clear(); }
    void done(const Result& /*result*/) override { clear(); }

  private:
    void clear() {
        if (shown_) {
            std::fprintf(stderr, "\r\033[K");
            std::fflush(stderr);
            shown_ = false;
        }
    }
    bool gbits_;
    bool shown_ = false;
};

}  // namespace

std::unique_ptr<Sink> make_progress_sink(bool gbits) {
    return std::make_unique<ProgressSink>(gbits);
}

}  // namespace rdma_bench
