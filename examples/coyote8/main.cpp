// SPDX-License-Identifier: BSD-2-Clause
// Measures latency and throughput like Coyote's example 8, as client or server.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "coyote8/options.h"
#include "coyote8/session.h"
#include "exit.h"
#include "qpx/error.h"

namespace {

using rdma_bench::Exit;

int say(const std::string& what, Exit status) {
    std::fflush(stdout);
    std::fprintf(stderr, "coyote8: %s\n", what.c_str());
    return static_cast<int>(status);
}

Exit status_of(const qpx::Error& error) {
    switch (error.code()) {
        case qpx::ErrorCode::Argument:
            return Exit::kUsage;
        case qpx::ErrorCode::Device:
        case qpx::ErrorCode::Unsupported:
            return Exit::kDevice;
        default:
            return Exit::kPeer;
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        coyote8::run_session(coyote8::parse_options(arguments));
        return static_cast<int>(Exit::kGood);
    } catch (const coyote8::HelpWanted& help) {
        std::fputs(help.what(), stdout);
        return static_cast<int>(Exit::kGood);
    } catch (const rdma_bench::RunError& error) {
        return say(error.what(), error.status());
    } catch (const qpx::Error& error) {
        return say(error.what(), status_of(error));
    } catch (const std::invalid_argument& error) {
        return say(std::string(error.what()) + "\nSee coyote8 --help.", Exit::kUsage);
    } catch (const std::exception& error) {
        return say(error.what(), Exit::kDevice);
    }
}
