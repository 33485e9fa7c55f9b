// SPDX-License-Identifier: BSD-2-Clause
#include "program.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <cstdio>
#include <exception>

#include "card.h"
#include "card_loop.h"
#include "control.h"
#include "options.h"
#include "uverbs/host.h"
#include "vfio_user/attachment.h"
#include "vfio_user/dma_table.h"
#include "vfio_user/server.h"

namespace dingo::card {
namespace {

/// A descriptor that becomes readable at SIGINT or SIGTERM, instead of their killing us.
UniqueFd stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void log_start(const Options& options, const Card& card, const Wire& wire) {
    spdlog::info("engine {}, MAC {:012x}, seed {}, wire: {}", card.engine_name(),
                 options.config.mac, options.config.seed, wire.describe());
}

void run_for_qemu(const Options& options, Wire& wire, int stop) {
    vfio_user::DmaTable::install_fault_handler();
    vfio_user::Server server;
    Card card(options.engine, options.config, server, wire);
    server.bind(card, card.identity());
    vfio_user::Attachment attachment(options.vfio_user, server);
    CardLoop loop(options.loop, card, attachment, wire, stop);
    log_start(options, card, wire);
    spdlog::info("waiting for QEMU at {}", options.vfio_user);
    loop.run();
}

void run_for_applications(const Options& options, Wire& wire, int stop) {
    uverbs::raise_descriptor_limit();
    uverbs::CardDirectory directory(options.uverbs.directory, options.uverbs.share);
    uverbs::Driver driver(uverbs::driver_config(options.uverbs));
    Card card(options.engine, options.config, driver, wire);
    driver.start(card);
    uverbs::Host host(options.uverbs, directory, driver, card, options.engine);
    CardLoop loop(options.loop, card, host.attachment(), wire, stop);
    log_start(options, card, wire);
    host.publish();
    spdlog::info("RDMA device {}, uverbs{}: serving in {}", options.uverbs.name, directory.number(),
                 directory.path().string());
    loop.run();
}

void run_card(const Options& options) {
    ::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default of 50 us delays every protocol timer
    const UniqueFd stop = stop_signals();
    const auto wire = make_wire(options.wire);
    if (options.uverbs.directory.empty()) {
        run_for_qemu(options, *wire, stop.get());
    } else {
        run_for_applications(options, *wire, stop.get());
    }
}

}  // namespace

int run_program(int argc, char** argv) {
    Exit exit;
    const auto options = parse_options(argc, argv, exit);
    if (!options) {
        return exit.status;
    }
    if (options->ctl) {
        return run_control_client(options->ctl_path, options->ctl_words);
    }
    spdlog::set_default_logger(spdlog::stderr_color_st("dingo-card"));
    spdlog::set_level(spdlog::level::from_str(options->log_level));
    try {
        run_card(*options);
    } catch (const std::exception& e) {
        fmt::print(stderr, "dingo-card: {}\n", e.what());
        return 1;
    }
    return 0;
}

}  // namespace dingo::card
