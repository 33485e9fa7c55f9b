// SPDX-License-Identifier: BSD-2-Clause
// qpxd: options, signals, log. Server implements the service.
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/completion.h"
#include "group/channel.h"
#include "qpx/security.h"
#include "qpx/url.h"
#include "service/authorize.h"
#include "service/server.h"

namespace {

using qpx::service::Server;
using qpx::service::ServerOptions;

// Exit statuses, documented in --help.
constexpr int exit_usage = 2;
constexpr int exit_cannot_start = 3;
constexpr int exit_no_status = 4;

Server* running = nullptr;

void on_signal(int) {
    running->stop();
}

// Each member needs a descriptor.
void raise_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

spdlog::level::level_enum level_of(qpx::service::LogLevel level) {
    switch (level) {
        case qpx::service::LogLevel::Debug:
            return spdlog::level::debug;
        case qpx::service::LogLevel::Info:
            return spdlog::level::info;
        case qpx::service::LogLevel::Warning:
            return spdlog::level::warn;
        default:
            return spdlog::level::err;
    }
}

// 0: any free port, which is logged.
uint16_t port_number(const std::string& digits) {
    const unsigned long number = digits.size() > 5 ? 65536 : std::stoul(digits);
    if (number > 65535) {
        throw qpx::Error(qpx::ErrorCode::Argument, "port " + digits + " is none of 0 to 65535");
    }
    return static_cast<uint16_t>(number);
}

int show_status(const std::string& url, const qpx::Security& security) {
    try {
        std::fputs(qpx::service::fetch_status(qpx::parse_url(url), security).c_str(), stdout);
        return 0;
    } catch (const qpx::Error& error) {
        std::fprintf(stderr, "qpxd: %s\n", error.what());
        return exit_no_status;
    }
}

struct Arguments {
    ServerOptions server;
    std::string listen, security = "none", rules, status, log_level = "info";
    double handshake_timeout = 10, join_timeout = 30, message_timeout = 30;
    int keepalive = 10;
};

void add_options(CLI::App& app, Arguments& a) {
    auto& limits = a.server.limits;
    app.add_option("-l,--listen", a.listen,
                   "Where to listen: PORT, HOST:PORT or [V6]:PORT (default: port 18516 of all "
                   "addresses)");
    app.add_option("-s,--security", a.security,
                   "none, psk:FILE (lines \"identity:hexkey\") or tls:CERT,KEY,CA[,ALLOWED...]")
        ->capture_default_str();
    app.add_option("-a,--authorize", a.rules,
                   "File with lines \"IDENTITY JOB\" (* and ? allowed): who may join which job; "
                   "needs security");
    app.add_option("-m,--metrics", a.server.metrics,
                   "Serve GET /metrics (Prometheus text) and GET /status (JSON) by HTTP at "
                   "HOST:PORT or unix:PATH");
    app.add_option("--status", a.status,
                   "Print the status of the qpxd at this URL (qpxd://host:port) as JSON and exit; "
                   "use its --security");
    app.add_option("--log-level", a.log_level, "debug, info, warning or error")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
        ->capture_default_str();
    app.add_option("--handshake-timeout", a.handshake_timeout,
                   "Seconds for TLS and HELLO of a new connection")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    app.add_option("--join-timeout", a.join_timeout,
                   "Seconds within which a connection must join a job")
        ->check(CLI::Range(0.1, 86400.0))
        ->capture_default_str();
    app.add_option("--message-timeout", a.message_timeout,
                   "Seconds from the first to the last byte of a message")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    app.add_option("--keepalive", a.keepalive,
                   "Seconds of silence after which a member's host is probed; it "
                   "has failed after twice that")
        ->check(CLI::Range(1, 3600))
        ->capture_default_str();
    app.add_option("--max-clients", limits.max_clients, "Connections at a time")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--max-clients-per-address", limits.max_clients_per_address,
                   "Connections of one IPv4 address, or of the /64 of an IPv6 one, at a time")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--max-jobs", limits.max_jobs, "Jobs at a time")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--max-ranks", limits.max_ranks, "Ranks of one job")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--max-keys", limits.max_keys, "Keys of one job")
        ->check(CLI::Range(1, 1 << 24))
        ->capture_default_str();
    app.add_option("--max-value", limits.max_value, "Bytes of one value or endpoint, e.g. 1MiB")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(1024, 256 << 20))
        ->capture_default_str();
    app.add_option("--job-store", limits.job_store, "Bytes of keys and values of one job")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--job-exchange", limits.job_exchange, "Bytes of endpoints of one job in flight")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--total", limits.total, "Bytes of all jobs: values, endpoints in flight, ranks")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--client-exchange", limits.client_exchange,
                   "Bytes of endpoints of one member in flight")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--client-output", limits.client_output,
                   "Bytes of answers that a member may leave unread")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--client-waits", limits.client_waits, "Bytes of keys that a member waits for")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--total-output", limits.total_output,
                   "Bytes of answers that all clients together may leave unread")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.set_version_flag("-V,--version", "qpxd " QPXD_VERSION);
    app.footer(
        "Members find qpxd by a URL: qpxd://HOST:PORT/JOB. A job begins with its first member and "
        "ends with its last.\n"
        "SIGTERM and SIGINT end qpxd; its members see the connection end. State is kept in memory "
        "only.\n"
        "Exit status: 0 ended by a signal, 2 wrong option, 3 cannot start, 4 --status got no "
        "answer.");
}

const CLI::App* add_completion(CLI::App& app, std::string& shell) {
    auto* const command = app.add_subcommand("completion", "Print a completion script for a shell");
    cli::add_shell(*command, shell);
    return command;
}

void print_completion(const CLI::App& app, const std::string& shell) {
    const std::vector<cli::Values> values{
        {"-s --security", "none psk: tls:", ""},
        {"-m --metrics", "unix: 127.0.0.1:", ""},
        {"--status", "qpxd://", ""},
        {"-a --authorize", "", "FILES"},
    };
    std::fputs(cli::completion(app, shell, values).c_str(), stdout);
}

int serve(Arguments& a) {
    auto logger = spdlog::stderr_logger_st("qpxd");
    // systemd's journal adds the time itself.
    logger->set_pattern(getenv("JOURNAL_STREAM") ? "%l: %v" : "%Y-%m-%dT%H:%M:%S.%e %l: %v");
    logger->set_level(spdlog::level::from_str(a.log_level));
    a.server.log = [logger](qpx::service::LogLevel level, const std::string& text) {
        logger->log(level_of(level), text);
    };
    const auto milliseconds = [](double seconds) {
        return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
    };
    a.server.handshake_timeout = milliseconds(a.handshake_timeout);
    a.server.join_timeout = milliseconds(a.join_timeout);
    a.server.frame_timeout = milliseconds(a.message_timeout);
    a.server.keepalive = std::chrono::seconds(a.keepalive);
    raise_descriptors();
    try {
        a.server.security = qpx::parse_security(a.security);
        if (!a.rules.empty()) {
            if (!a.server.security.on()) {
                throw qpx::Error(
                    qpx::ErrorCode::Argument,
                    "--authorize needs --security: without it clients have no identity");
            }
            a.server.authorize = qpx::service::read_rules(a.rules);
        }
        Server server(a.server);
        running = &server;
        struct sigaction action {};
        action.sa_handler = on_signal;
        sigaction(SIGTERM, &action, nullptr);
        sigaction(SIGINT, &action, nullptr);
        if (!a.server.security.on()) {
            logger->warn(
                "no security: every client of this port may join any job, and rkeys and addresses "
                "cross the network in clear (--security)");
        }
        logger->info("listening on port {}{}", server.port(),
                     a.server.metrics.empty() ? "" : ", metrics at " + a.server.metrics);
        server.run();
        logger->info("ended by a signal");
        return 0;
    } catch (const qpx::Error& error) {
        logger->error("{}", error.what());
        return error.code() == qpx::ErrorCode::Argument ? exit_usage : exit_cannot_start;
    }
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    CLI::App app(
        "Rendezvous service for RDMA programs: processes of a job meet here, exchange what their "
        "queue pairs need to be connected, and are told of members that fail.",
        "qpxd");
    app.get_formatter()->column_width(32);
    add_options(app, arguments);
    std::string shell;
    const auto* const completion = add_completion(app, shell);
    try {
        app.parse(argc, argv);
        if (completion->parsed()) {
            print_completion(app, shell);
            return 0;
        }
        if (!arguments.listen.empty()) {
            const bool digits =
                arguments.listen.find_first_not_of("0123456789") == std::string::npos;
            if (digits) {
                arguments.server.port = port_number(arguments.listen);
            } else {
                const qpx::Url url = qpx::parse_host_port(arguments.listen, arguments.server.port);
                arguments.server.address = url.host;
                arguments.server.port = url.port;
            }
        }
        if (!arguments.status.empty()) {
            return show_status(arguments.status, qpx::parse_security(arguments.security));
        }
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    } catch (const qpx::Error& error) {
        std::fprintf(stderr, "qpxd: %s\n", error.what());
        return exit_usage;
    }
    return serve(arguments);
}
