// SPDX-License-Identifier: BSD-2-Clause
//
// Who is turned away, again and again, does not fill the disk.
#include "host/uverbs/listener.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/errno_error.h"
#include "base/log.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

TEST(UverbsListener, AFloodOfClientsThatAreTurnedAwayIsAFewLinesInTheLog) {
    constexpr unsigned kMany = 500;
    const std::string directory = fresh_directory();
    Listener listener(directory + "/uverbs.sock", false);
    start_log("warning");
    const UniqueFd file(::memfd_create("log", MFD_CLOEXEC));
    set_log(file.get());
    unsigned refused = 0;
    for (unsigned i = 0; i < kMany; ++i) {
        const Client client(directory, false);
        refused += listener
                       .accept("uverbs", "too many clients",
                               [](const Listener::Newcomer&) { throw ErrnoError(EMFILE); })
                       .refused;
    }
    set_log(STDERR_FILENO);
    EXPECT_EQ(refused, kMany);
    std::vector<char> text(1 << 20);
    const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
    const auto lines = std::count(text.begin(), text.begin() + std::max<ssize_t>(got, 0), '\n');
    EXPECT_GE(lines, 1);
    EXPECT_LE(lines, 2 * ssize_t{log::Limit::kAtOnce});
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace dingo::uverbs::test
