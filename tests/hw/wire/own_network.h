// SPDX-License-Identifier: BSD-2-Clause
//
// A network namespace of a test's own: tests that run beside it have the same ports.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace dingo::test {

/// While it lives the calling thread is in a new namespace, whose loopback interface is down.
class OwnNetwork {
  public:
    OwnNetwork() : home_(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {
        if (::unshare(CLONE_NEWNET) != 0)
            problem_ = std::string("cannot make a network namespace: ") + std::strerror(errno);
    }
    ~OwnNetwork() {
        if (problem_.empty())
            ::setns(home_.get(), CLONE_NEWNET);
    }
    OwnNetwork(const OwnNetwork&) = delete;
    OwnNetwork& operator=(const OwnNetwork&) = delete;

    /// Why there is none; empty: there is one.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Whether the shell command ended well; its output is thrown away.
    static bool run(const std::string& command) {
        return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
    }

  private:
    UniqueFd home_;
    std::string problem_;
};

/// A test that runs in a namespace of its own, or is skipped.
template <typename Base>
class InOwnNetwork : public Base {
  protected:
    void SetUp() override {
        if (!network_.problem().empty())
            GTEST_SKIP() << network_.problem();
    }
    static bool run(const std::string& command) { return OwnNetwork::run(command); }

  private:
    OwnNetwork network_;
};

}  // namespace dingo::test
