// SPDX-License-Identifier: BSD-2-Clause
#include "program.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "base/log.h"
#include "card.h"
#include "card_loop.h"
#include "card_process.h"
#include "control.h"
#include "driver_faults.h"
#include "host/uverbs/uverbs_host.h"
#include "host/vfio_user/attachment.h"
#include "host/vfio_user/dma_table.h"
#include "host/vfio_user/server.h"
#include "options.h"
#include "served_card.h"
#include "wire/wire_system_error.h"

namespace dingo {
namespace {

/// Returns a descriptor that becomes readable at SIGINT or SIGTERM, which no longer kill the
/// process.
UniqueFd stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void run_for_qemu(const Options& options, Wire& wire, int stop) {
    vfio_user::DmaTable::install_fault_handler();
    vfio_user::Server server;
    AdminFaults faults = options.admin_faults;
    EngineConfig config = options.config;
    config.admin_faults = options.engine == "model" ? &faults : nullptr;
    Card card(options.engine, config, server, wire, std::make_shared<Gate>(), options.memory);
    server.bind(card, card.identity());
    vfio_user::VfioUserAttachment attachment(options.vfio_user, server);
    ServedCard served(options.control, card, attachment, wire,
                      driver_fault_hooks(card, config.admin_faults, server));
    CardLoop loop(options.idle, stop);
    loop.add(served);
    log::info("engine {}, MAC {:012x}, seed {}, wire: {}", card.engine_name(), options.config.mac,
              options.config.seed, wire.describe());
    log::info("waiting for QEMU at {}", options.vfio_user);
    loop.run();
}

void run_for_applications(const Options& options, int stop) {
    uverbs::raise_descriptor_limit();
    CardProcess process(options.idle, stop);
    process.start(options);
    process.run();
}

void run_card(const Options& options) {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // under ulimit -f, writing a file, ours or a client's, then gives
                                 // an error
    ::prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default of 50 us delays every protocol timer
    const UniqueFd stop = stop_signals();
    if (options.uverbs.directory.empty()) {
        const auto wire = make_wire(options.wire);
        run_for_qemu(options, *wire, stop.get());
    } else {
        run_for_applications(options, stop.get());
    }
}

int failed(const std::exception& why, int status) {
    fmt::print(stderr, "dingo-card: {}\n", why.what());
    return status;
}

}  // namespace

int run_program(int argc, char** argv) {
    Exit exit;
    const auto options = parse_options(argc, argv, exit);
    if (!options) {
        fmt::print("{}", exit.text);
        fmt::print(stderr, "{}", exit.error);
        return exit.status == 0 ? 0 : 2;  // CLI11's own codes denote its exceptions
    }
    if (options->ctl) {
        return run_control_client(options->ctl_path, options->ctl_words);
    }
    start_log(options->log_level);
    try {
        run_card(*options);
    } catch (const WireSystemError& e) {
        return failed(e, 1);
    } catch (const std::invalid_argument& e) {  // the options are inconsistent
        return failed(e, 2);
    } catch (const std::exception& e) {
        return failed(e, 1);
    }
    return 0;
}

}  // namespace dingo
