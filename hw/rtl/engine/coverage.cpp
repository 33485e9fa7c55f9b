// SPDX-License-Identifier: BSD-2-Clause
#include "coverage.h"

#if VM_COVERAGE

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unordered_map>

#include "verilated_cov.h"

namespace dingo::rtl {
namespace {

class Sum {
  public:
    explicit Sum(const char* path) : path_(std::string(path) + "." + std::to_string(getpid())) {}
    ~Sum() {
        std::ofstream out(path_);
        out << header_ << '\n';
        for (const auto& [point, count] : counts_)
            out << "C " << point << ' ' << count << '\n';
    }
    Sum(const Sum&) = delete;
    Sum& operator=(const Sum&) = delete;

    void add(VerilatedContext& context) {
        const std::string part = path_ + ".part";
        context.coveragep()->write(part.c_str());
        std::ifstream in(part);
        std::string line;
        std::getline(in, header_);
        while (std::getline(in, line)) {
            // C 'key' count; a key may have blanks
            const auto last = line.rfind(' ');
            if (line.compare(0, 2, "C ") == 0 && last > 2)
                counts_[line.substr(2, last - 2)] +=
                    std::strtoull(line.c_str() + last, nullptr, 10);
        }
        std::remove(part.c_str());
        context.coveragep()->clear();
    }

  private:
    std::string path_, header_;
    std::unordered_map<std::string, std::uint64_t> counts_;
};

}  // namespace

void save_coverage(VerilatedContext& context) {
    static const char* const path = std::getenv("DINGO_RTL_COVERAGE");
    if (path == nullptr)
        return;
    static Sum sum(path);
    sum.add(context);
}

}  // namespace dingo::rtl

#else

namespace dingo::rtl {

void save_coverage(VerilatedContext& /*context*/) {}

}  // namespace dingo::rtl

#endif
