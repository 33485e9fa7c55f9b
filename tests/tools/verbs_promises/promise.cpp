// SPDX-License-Identifier: BSD-2-Clause
#include "promise.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace verbs_promises {
namespace {

enum Verdict : int { kKept, kBroken, kLacking };

/// Runs the check in the child, which writes its message to `out`.
Verdict check(const Promise& promise, std::FILE* out) {
    try {
        promise.check();
        return kKept;
    } catch (const Lacking& lack) {
        std::fprintf(out, "%s", lack.what());
        return kLacking;
    } catch (const std::exception& error) {
        std::fprintf(out, "%s", error.what());
        return kBroken;
    }
}

std::string read_all(int fd) {
    std::string text;
    char part[256];
    ssize_t n = 0;
    while ((n = ::read(fd, part, sizeof part)) > 0) {
        text.append(part, static_cast<std::size_t>(n));
    }
    return text;
}

}  // namespace

Options& options() {
    static Options instance;
    return instance;
}

std::string error_text(int error) {
    return error == 0 ? "0"
                      : std::string(std::strerror(error)) + " (" + std::to_string(error) + ")";
}

void broken(const char* file, int line, const std::string& what) {
    const char* slash = std::strrchr(file, '/');
    throw Broken(std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(line) +
                 ": " + what);
}

bool run(const Promise& promise) {
    int fds[2];
    if (::pipe(fds) != 0) {
        std::perror("verbs_promises: pipe");
        std::exit(2);
    }
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child < 0) {
        std::perror("verbs_promises: fork");
        std::exit(2);
    }
    if (child == 0) {
        ::close(fds[0]);
        ::alarm(options().seconds);
        std::FILE* const out = ::fdopen(fds[1], "w");
        const Verdict verdict = check(promise, out);
        std::fflush(out);
        ::_exit(verdict);
    }
    ::close(fds[1]);
    const std::string why = read_all(fds[0]);
    ::close(fds[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    const std::string name = promise.name();
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        std::printf("FAIL %s: %s\n", name.c_str(),
                    signal == SIGALRM ? "it hangs" : ::strsignal(signal));
        return false;
    }
    switch (WEXITSTATUS(status)) {
        case kKept:
            std::printf("PASS %s\n", name.c_str());
            return true;
        case kLacking:
            std::printf("SKIP %s: %s\n", name.c_str(), why.c_str());
            return true;
        default:
            std::printf("FAIL %s: %s\n", name.c_str(), why.c_str());
            return false;
    }
}

}  // namespace verbs_promises
