// SPDX-License-Identifier: BSD-2-Clause
// Reports as a browser shows them: node runs their script (page.js).
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

namespace rdma_bench::report {

class PageShown : public testing::Test {
  protected:
    void SetUp() override {
        if (output_of("command -v node").empty()) {
            GTEST_SKIP() << "needs node (Debian's package nodejs)";
        }
    }

    /// All elements when the page's script has run; a sentence with the error if it cannot.
    static std::string shown(const std::string& html) { return node(html, ""); }
    /// The value of an expression in the scope of the page's script, as JSON.
    static std::string value(const std::string& html, const std::string& expression) {
        return node(html, " '" + expression + "'");
    }

  private:
    static std::string output_of(const std::string& command) {
        std::string out;
        FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
        std::array<char, 65536> part;
        for (std::size_t n = 0; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) {
            out.append(part.data(), n);
        }
        const int status = pclose(pipe);
        EXPECT_TRUE(status == 0 || out.empty()) << command << ": " << out;
        return out;
    }

    static std::string node(const std::string& html, const std::string& arguments) {
        const std::string file = testing::TempDir() + "/page-" + std::to_string(getpid()) + ".html";
        std::ofstream(file) << html;
        const std::string out =
            output_of("node '" RDMA_BENCH_PAGE_JS "' '" + file + "'" + arguments);
        std::remove(file.c_str());
        return out;
    }
};

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

inline std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace rdma_bench::report
