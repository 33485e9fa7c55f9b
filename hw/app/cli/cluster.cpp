// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/cluster.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "app/cli/error.h"
#include "app/cli/launch.h"
#include "app/cli/processes.h"
#include "app/cli/started_cards.h"
#include "app/cli/view.h"
#include "base/run_dir.h"

namespace dingo::cli {

int run_cluster(unsigned cards, const std::string& prefix, const StartOptions& start,
                const std::vector<std::string>& command) {
    if (!start.ips.empty() || !start.pcap.empty())
        throw Error(
            "--ip and --pcap apply to one card only: start the cards first, as NAME0, NAME1 ..., "
            "then give --card NAME",
            kUsage);
    const Libraries libraries = find_libraries();
    StartedCards all;
    Path view;
    {
        const UniqueFd lock = lock_run_dir();
        std::vector<CardEntry> members;
        for (unsigned rank = 0; rank < cards; rank++)
            members.push_back(all.bring(prefix + std::to_string(rank), start));
        view = make_view(members);
    }
    Family family;
    try {
        const auto environment = [&] {
            set_environment(libraries, view);
            ::setenv("DINGO_CLUSTER", (run_dir() / prefix).c_str(), 1);
            ::setenv("DINGO_CLUSTER_SIZE", std::to_string(cards).c_str(), 1);
        };
        const pid_t launcher = family.start(command, {environment, -1, false});
        family.wait_for([&] { return family.status(launcher).has_value(); }, kForever);
        return *family.status(launcher);
    } catch (const Interrupted& interrupted) {
        return 128 + interrupted.signal;
    }
}

}  // namespace dingo::cli
