// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <sstream>
#include <thread>

#include "app/cli/error.h"
#include "base/local_address.h"
#include "base/processors.h"
#include "base/regular_file.h"

namespace dingo::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kStartTime{15'000};
constexpr milliseconds kStopTime{10'000};
constexpr milliseconds kLook{5};

/// Returns the smallest uverbs number that no running card has.
int free_number() {
    std::vector<int> used;
    for (const CardEntry& card : all_cards())
        if (card.running())
            used.push_back(card.number());
    int number = 0;
    while (std::find(used.begin(), used.end(), number) != used.end())
        number++;
    return number;
}

bool is_roce(const std::string& wire) {
    return wire == "roce" || wire.starts_with("roce:");
}

/// Returns the addresses of this host to which the wire `roce` binds.
std::vector<LocalAddress> roce_addresses(const std::string& wire) {
    const std::string bind = wire.substr(std::min<std::size_t>(5, wire.size()));
    std::string address = bind.substr(0, bind.find_first_of("%,"));
    std::erase_if(address, [](char c) { return c == '[' || c == ']'; });
    std::vector<LocalAddress> out = local_addresses();
    std::erase_if(out, [&](const LocalAddress& a) {
        return address.empty() ? a.loopback : a.address != address;
    });
    if (out.empty() && address.starts_with("127."))
        out.push_back({address, 8, "lo", true, 0});
    if (out.empty())
        throw Error(fmt::format("--wire {}: this host has no such address; it has: {}", wire,
                                local_addresses_text()));
    return out;
}

/// Returns a card's default addresses: on the wire `roce` those of this host; else addresses of one
/// subnet, so that cards reach each other.
std::vector<std::string> default_ips(const std::string& wire, int number) {
    if (!is_roce(wire))
        return {fmt::format("10.77.0.{}/24", number + 1), fmt::format("fd77::{:x}/64", number + 1)};
    std::vector<std::string> out;
    for (const LocalAddress& a : roce_addresses(wire))
        out.push_back(fmt::format("{}/{}", a.address, a.prefix));
    return out;
}

/// Returns the largest path MTU whose packets fit the interfaces; 0: dingo-card's default fits.
unsigned fitting_mtu(const std::string& wire) {
    unsigned out = 0;
    if (!is_roce(wire))
        return out;
    constexpr int kHeaders = 40 + 8 + 12 + 28 + 4;  // IPv6, UDP, BTH, the longest extension, ICRC
    for (const LocalAddress& a : roce_addresses(wire)) {
        unsigned fits = 4096;
        while (fits > 256 && a.mtu != 0 && static_cast<int>(fits) + kHeaders > a.mtu)
            fits /= 2;
        if (fits != 4096 && (out == 0 || fits < out))
            out = fits;
    }
    return out;
}

std::vector<std::string> command_of(const StartOptions& o, const CardEntry& card, int number) {
    std::vector<std::string> out{
        find_card_program(), "--uverbs", card.dir, "--name", o.name, "--wire", o.wire};
    const auto add = [&](const char* option, const std::string& value) {
        if (!value.empty())
            out.insert(out.end(), {option, value});
    };
    for (const std::string& ip : o.ips.empty() ? default_ips(o.wire, number) : o.ips)
        add("--ip", ip);
    add("--faults", o.faults);
    add("--pcap", o.pcap.empty() ? "" : fs::absolute(o.pcap).string());
    add("--engine", o.engine);
    add("--mac", o.mac);
    if (const unsigned mtu = o.mtu != 0 ? o.mtu : fitting_mtu(o.wire); mtu != 0)
        add("--mtu", std::to_string(mtu));
    add("--device-memory", o.device_memory);
    if (o.share)
        out.emplace_back("--share");
    return out;
}

/// Returns why dingo-card would not let this card share a process (needs_own_process()), "" if it
/// would.
std::string needs_own_process(const StartOptions& o) {
    if (o.wire != "shm" && !o.wire.starts_with("shm:") && !is_roce(o.wire))
        return fmt::format("--wire {} is neither shm nor roce", o.wire);
    if (!o.engine.empty() && o.engine != "model")
        return fmt::format("--engine {} is not the model", o.engine);
    return o.share ? "--share opens it to other users" : "";
}

/// Returns true if the card is to share a process with others.
bool shares_process(const StartOptions& o) {
    const std::string why = needs_own_process(o);
    if (o.process == ProcessChoice::kOne && !why.empty())
        throw Error("--one-process: this card needs a process of its own: " + why, kUsage);
    const bool wanted = o.process == ProcessChoice::kByMachine ? few_processors()
                                                               : o.process == ProcessChoice::kOne;
    return wanted && why.empty();
}

/// Returns the network namespace of a process.
Path network_of(const std::string& process) {
    std::error_code error;
    return fs::read_symlink(fmt::format("/proc/{}/ns/net", process), error);
}

/// Returns a running card whose process accepts further cards: it runs the same build of the
/// program and is in the network namespace that the new card's wire needs.
std::optional<CardEntry> adopter() {
    const Path program = fs::canonical(find_card_program());
    const Path network = network_of("self");
    for (const CardEntry& card : all_cards()) {
        std::error_code error;
        if (card.running() && card.info.value("adopts", Json(false)) == true &&
            fs::read_symlink(fmt::format("/proc/{}/exe", card.pid), error) == program &&
            network_of(std::to_string(card.pid)) == network)
            return card;
    }
    return std::nullopt;
}

/// Runs in the child: becomes a daemon that executes `command` and ends with `starter` until it is
/// told to stay. Does not return.
[[noreturn]] void become_daemon(const std::vector<char*>& command, const std::string& log,
                                pid_t starter) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != starter)
        ::_exit(kFailed);
    ::setsid();
    const int out = open_regular(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND).release();
    const int in = ::open("/dev/null", O_RDONLY);
    if (out < 0 || in < 0 || ::chdir("/") != 0)
        ::_exit(kFailed);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::syscall(SYS_close_range, 3U, ~0U, 0U);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::umask(077);
    for (const char* name : {"LD_PRELOAD", "DINGO_VIEW", "DINGO_CLUSTER", "RDMAV_DRIVERS"})
        ::unsetenv(name);  // a card must not be a client of a card
    ::execv(command[0], command.data());
    ::dprintf(2, "cannot execute %s: %s\n", command[0], std::strerror(errno));
    ::_exit(kCannotExecute);
}

/// Returns the last eight lines that a dead card logged.
std::string last_words(const Path& log) {
    std::istringstream file(text_of(log));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    std::string out;
    for (std::size_t i = lines.size() > 8 ? lines.size() - 8 : 0; i < lines.size(); i++)
        out += "\n  " + lines[i];
    return out.empty() ? " (the log is empty)" : out;
}

bool serves(CardEntry& card) {
    card = look_at(card.name);
    return card.running() && fs::exists(card.dir / "uverbs.sock") && !card.info.empty();
}

/// Starts the card in a process that serves others.
void start_in(const CardEntry& adopter, CardEntry& card, std::vector<std::string> words) {
    words.erase(words.begin());  // the program's name
    try {
        ask(adopter, {{"cmd", "adopt"}, {"args", words}});
    } catch (const Error& error) {
        fs::remove_all(card.dir);
        throw Error(fmt::format("card {} did not start:\n  {}", card.name, error.what()),
                    error.status());
    }
    if (!serves(card))
        throw Error(fmt::format("card {} stopped right after its start. Its log: {}", card.name,
                                (card.dir / "log").string()));
}

/// Starts a process for the card.
void start_process(CardEntry& card, const std::vector<std::string>& words) {
    std::vector<char*> command;
    command.reserve(words.size() + 1);
    for (const std::string& word : words)
        command.push_back(const_cast<char*>(word.c_str()));
    command.push_back(nullptr);
    const std::string log = card.dir / "log";
    const pid_t starter = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        throw Error(fmt::format("fork: {}", std::strerror(errno)));
    if (child == 0)
        become_daemon(command, log, starter);
    const auto end_child = [child] {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    };
    const auto until = std::chrono::steady_clock::now() + kStartTime;
    while (!serves(card)) {
        if (int status = 0; ::waitpid(child, &status, WNOHANG) == child) {
            const std::string words_of_it = last_words(log);
            fs::remove_all(card.dir);
            const bool usage = WIFEXITED(status) && WEXITSTATUS(status) == kUsage;
            throw Error(fmt::format("card {} did not start:{}", card.name, words_of_it),
                        usage ? kUsage : kFailed);
        }
        if (std::chrono::steady_clock::now() > until) {
            end_child();
            throw Error(fmt::format("card {} is not ready after {} s. The end of its log, {}:{}",
                                    card.name, kStartTime.count() / 1000, log, last_words(log)));
        }
        std::this_thread::sleep_for(kLook);
    }
    try {
        ask(card, {{"cmd", "stay"}});
    } catch (...) {
        end_child();  // it would end with this process
        throw;
    }
}

void send_term(const CardEntry& card, const UniqueFd& process) {
    const int sent =
        process
            ? static_cast<int>(::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0))
            : ::kill(card.pid, SIGTERM);
    if (sent != 0 && errno != ESRCH)
        throw Error(fmt::format("cannot stop card {} (pid {}): {}", card.name, card.pid,
                                std::strerror(errno)));
}

/// Returns true if the process's main thread has exited. Threads held by a client may remain; the
/// next card of that name can start anyway.
bool has_exited(pid_t pid) {
    const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
    const std::size_t name_end = stat.rfind(") ");
    return name_end != std::string::npos && stat.compare(name_end + 2, 1, "Z") == 0;
}

}  // namespace

CardEntry start_card(const StartOptions& options) {
    const bool shares = shares_process(options);
    CardEntry card = look_at(options.name);
    auto words = command_of(options, card, free_number());
    const auto other = shares ? adopter() : std::nullopt;
    if (shares)
        words.emplace_back("--adopt");

    fs::remove_all(card.dir);  // left by a killed card
    const mode_t mode = options.share ? 0755 : 0700;
    if (::mkdir(card.dir.c_str(), 0700) != 0 || ::chmod(card.dir.c_str(), mode) != 0)
        throw Error(fmt::format("cannot make {}: {}", card.dir.string(), std::strerror(errno)));
    if (options.share)
        ::chmod(card.dir.parent_path().c_str(), 0711);  // others may search the directory, but not
                                                        // list it
    if (other)
        start_in(*other, card, words);
    else
        start_process(card, words);
    return card;
}

void stop_card(const CardEntry& card) {
    // The pidfd refers to the process that is checked next, even if the PID is reused later.
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, card.pid, 0)));
    if (look_at(card.name).pid != card.pid)
        return;        // exited, or replaced by another
    bool ends = true;  // the process ends
    if (card.info.value("adopts", Json(false)) == true)
        ends = ask(card, {{"cmd", "stop"}}).value("last", false);
    else
        send_term(card, process);
    const auto until = std::chrono::steady_clock::now() + kStopTime;
    const auto gone = [&] {
        if (!ends) {
            std::this_thread::sleep_for(kLook);
            return !fs::exists(card.dir / "card.json") && !look_at(card.name).running();
        }
        if (process) {
            pollfd p{process.get(), POLLIN, 0};
            return ::poll(&p, 1, static_cast<int>(kLook.count())) > 0 || has_exited(card.pid);
        }
        std::this_thread::sleep_for(kLook);
        return ::kill(card.pid, 0) != 0 || has_exited(card.pid);
    };
    while (!gone())
        if (std::chrono::steady_clock::now() > until)
            throw Error(fmt::format("card {} does not stop; to kill it{}: kill -9 {}", card.name,
                                    ends ? "" : " and the other cards of its process", card.pid));
    if (!look_at(card.name).running())
        fs::remove_all(card.dir);
}

}  // namespace dingo::cli
