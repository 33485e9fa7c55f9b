// SPDX-License-Identifier: BSD-2-Clause
//
// verbs_promises: checks the promises of libibverbs' and librdmacm's man pages on one device.
// Prints a line for each: "PASS ibv_resize_cq.3: entries that wait are kept", FAIL or SKIP with the
// reason.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>

#include "pages.h"
#include "promise.h"

namespace {

constexpr const char* kUsage =
    "usage: verbs_promises [options]\n"
    "  -d NAME   device (the first)         -a ADDRESS  of the device, for rdma_cm (of its GIDs)\n"
    "  -m TEXT   only promises with TEXT    -l          list them, check nothing\n"
    "  -t N      seconds for each (60)\n"
    "Status 0: none is broken. 1: some are. 2: wrong usage.\n";

}  // namespace

int main(int argc, char** argv) {
    using namespace verbs_promises;
    std::string match;
    bool list = false;
    int option = 0;
    while ((option = getopt(argc, argv, "d:a:m:t:lh")) != -1) {
        switch (option) {
            case 'd':
                options().device = optarg;
                break;
            case 'a':
                options().address = optarg;
                break;
            case 'm':
                match = optarg;
                break;
            case 't':
                options().seconds = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
                break;
            case 'l':
                list = true;
                break;
            default:
                std::fputs(kUsage, option == 'h' ? stdout : stderr);
                return option == 'h' ? 0 : 2;
        }
    }
    if (optind != argc) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    bool kept = true;
    for (const Promise& promise : all_promises()) {
        if (promise.name().find(match) == std::string::npos) {
            continue;
        }
        if (list) {
            std::printf("%s\n", promise.name().c_str());
        } else {
            kept = run(promise) && kept;
        }
    }
    return kept ? 0 : 1;
}
