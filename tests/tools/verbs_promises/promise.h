// SPDX-License-Identifier: BSD-2-Clause
//
// Cases, named by a man page and a promise of it. Each runs in its own process, which opens the
// device, so that a crash or hang does not affect other cases.
#pragma once

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace verbs_promises {

/// Thrown if the promise is broken.
class Broken : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Thrown if the device lacks the feature of the promise; the case is skipped.
class Lacking : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Promise {
    std::string page;
    std::string text;
    std::function<void()> check;

    std::string name() const { return page + ": " + text; }
};
using Promises = std::vector<Promise>;

/// Adds promises of one page.
class Page {
  public:
    Page(Promises& all, std::string page) : all_(all), page_(std::move(page)) {}
    void operator()(std::string text, std::function<void()> check) {
        all_.push_back({page_, std::move(text), std::move(check)});
    }

  private:
    Promises& all_;
    std::string page_;
};

struct Options {
    std::string device;     ///< empty: the first
    std::string address;    ///< the device's, for rdma_cm; empty: from its GIDs
    unsigned seconds = 60;  ///< timeout of a case
};
Options& options();

/// Runs the case in a child and prints PASS, FAIL or SKIP. Returns false if it failed.
bool run(const Promise& promise);

/// Returns text and number: "Device or resource busy (16)".
std::string error_text(int error);

[[noreturn]] void broken(const char* file, int line, const std::string& what);

}  // namespace verbs_promises

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            ::verbs_promises::broken(__FILE__, __LINE__, "not true: " #condition); \
        }                                                                          \
    } while (0)

/// Checks a call that returns 0 or an errno value.
#define CHECK_RETURNS(value, call)                                                            \
    do {                                                                                      \
        const int check_rc_ = (call);                                                         \
        if (check_rc_ != (value)) {                                                           \
            ::verbs_promises::broken(__FILE__, __LINE__,                                      \
                                     #call " returned " +                                     \
                                         ::verbs_promises::error_text(check_rc_) + ", not " + \
                                         ::verbs_promises::error_text(value));                \
        }                                                                                     \
    } while (0)

/// Checks that a call returns `bad` (NULL, -1, false ...) with this errno.
#define CHECK_FAILS(bad, value, call)                                                            \
    do {                                                                                         \
        errno = 0;                                                                               \
        if ((call) != (bad)) {                                                                   \
            ::verbs_promises::broken(__FILE__, __LINE__, #call " succeeded");                    \
        }                                                                                        \
        if (errno != (value)) {                                                                  \
            ::verbs_promises::broken(__FILE__, __LINE__,                                         \
                                     #call ": errno is " + ::verbs_promises::error_text(errno) + \
                                         ", not " + ::verbs_promises::error_text(value));        \
        }                                                                                        \
    } while (0)
#define CHECK_NULL(value, call) CHECK_FAILS(nullptr, value, call)
