// SPDX-License-Identifier: BSD-2-Clause
#include "coyote/command.h"

#include <cstdio>
#include <stdexcept>

#include "coyote/options.h"
#include "coyote/session.h"
#include "exit.h"
#include "qpx/error.h"

namespace rdma_bench {
namespace {

int say(const std::string& what, Exit status) {
    std::fflush(stdout);
    std::fprintf(stderr, "rdma-bench coyote: %s\n", what.c_str());
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

int run_coyote(std::span<const std::string> arguments) {
    try {
        coyote::run_session(coyote::parse_options(arguments));
        return static_cast<int>(Exit::kGood);
    } catch (const coyote::HelpWanted& help) {
        std::fputs(help.what(), stdout);
        return static_cast<int>(Exit::kGood);
    } catch (const RunError& error) {
        return say(error.what(), error.status());
    } catch (const qpx::Error& error) {
        return say(error.what(), status_of(error));
    } catch (const std::invalid_argument& error) {
        return say(std::string(error.what()) + "\nSee rdma-bench coyote --help.", Exit::kUsage);
    } catch (const std::exception& error) {
        return say(error.what(), Exit::kDevice);
    }
}

}  // namespace rdma_bench
