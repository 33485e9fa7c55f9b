// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/cli/error.h"
#include "app/cli/launch.h"

namespace dingo::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kTick{20};
constexpr milliseconds kGrace{2000};

sigset_t ending_signals() {
    sigset_t out;
    sigemptyset(&out);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&out, signal);
    return out;
}

/// Returns each visible process of the machine with its parent.
std::multimap<pid_t, pid_t> children_by_parent() {
    std::multimap<pid_t, pid_t> out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != name.npos)
            continue;
        std::ifstream file(entry.path() / "stat");
        std::string line;
        std::getline(file, line);
        const std::size_t end = line.rfind(')');  // the program's name may contain any characters
        if (end == line.npos)
            continue;
        std::istringstream rest(line.substr(end + 1));
        char state = 0;
        pid_t parent = 0;
        if (rest >> state >> parent && state != 'Z')
            out.emplace(parent, static_cast<pid_t>(std::stol(name)));
    }
    return out;
}

/// Returns "socket:[1234]" of each listening TCP socket in the network namespace of the process.
std::set<std::string> listening_sockets(pid_t pid) {
    constexpr const char* kListen = "0A";
    std::set<std::string> out;
    for (const char* table : {"tcp", "tcp6"}) {
        std::ifstream file(fmt::format("/proc/{}/net/{}", pid, table));
        std::string line;
        std::getline(file, line);
        while (std::getline(file, line)) {
            std::istringstream words(line);
            std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
            words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
                timeout >> inode;
            if (state == kListen)
                out.insert("socket:[" + inode + "]");
        }
    }
    return out;
}

bool has_one_of(pid_t pid, const std::set<std::string>& sockets) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
        std::error_code gone;
        if (sockets.count(fs::read_symlink(entry.path(), gone)) != 0)
            return true;
    }
    return false;
}

int shell_status(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Runs in the child: executes the program.
[[noreturn]] void become_program(const std::vector<std::string>& command,
                                 const Family::Start& how) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // if this process is killed, no orphan keeps a port
    if (how.background) {
        ::setpgid(0, 0);
        const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::dup2(null, STDIN_FILENO);
    }
    if (how.output >= 0) {
        ::dup2(how.output, STDOUT_FILENO);
        ::dup2(how.output, STDERR_FILENO);
    }
    const sigset_t ending = ending_signals();
    ::sigprocmask(SIG_UNBLOCK, &ending, nullptr);
    try {
        how.prepare();
        become(command);
    } catch (const Error& e) {
        ::dprintf(STDERR_FILENO, "dingo: %s\n", e.what());
        ::_exit(e.status());
    }
}

}  // namespace

Family::Family() {
    const auto all = children_by_parent();
    for (auto [at, end] = all.equal_range(::getpid()); at != end; ++at)
        strangers_.insert(at->second);
    const sigset_t ending = ending_signals();
    ::sigprocmask(SIG_BLOCK, &ending, nullptr);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Family::~Family() {
    end_all();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

pid_t Family::start(const std::vector<std::string>& command, const Start& how) {
    const pid_t child = ::fork();
    if (child < 0)
        throw Error(fmt::format("fork: {}", std::strerror(errno)));
    if (child == 0)
        become_program(command, how);
    started_[child] = std::nullopt;
    return child;
}

std::optional<int> Family::status(pid_t child) const {
    return started_.at(child);
}

std::vector<pid_t> Family::members() const {
    const auto all = children_by_parent();
    std::vector<pid_t> out{::getpid()};
    for (std::size_t i = 0; i < out.size(); i++)
        for (auto [at, end] = all.equal_range(out[i]); at != end; ++at)
            if (strangers_.count(at->second) == 0)
                out.push_back(at->second);
    out.erase(out.begin());
    return out;
}

bool Family::listens() const {
    std::map<fs::path, std::set<std::string>> by_network;
    for (const pid_t pid : members()) {
        std::error_code error;
        const fs::path network = fs::read_symlink(fmt::format("/proc/{}/ns/net", pid), error);
        const auto [at, fresh] = by_network.try_emplace(network);
        if (fresh)
            at->second = listening_sockets(pid);
        if (!at->second.empty() && has_one_of(pid, at->second))
            return true;
    }
    return false;
}

void Family::reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
        if (const auto at = started_.find(pid); at != started_.end())
            at->second = shell_status(status);
}

bool Family::wait_for(const std::function<bool()>& done, milliseconds at_most) {
    const auto until = Clock::now() + at_most;
    const sigset_t ending = ending_signals();
    const timespec look{0, std::chrono::nanoseconds(kTick).count()};
    for (;;) {
        reap();
        if (done())
            return true;
        if (Clock::now() >= until)
            return false;
        if (const int signal = ::sigtimedwait(&ending, nullptr, &look); signal > 0)
            throw Interrupted{signal};
    }
}

void Family::end_all() {
    for (const int signal : {SIGTERM, SIGKILL}) {
        const auto until = Clock::now() + kGrace;
        for (const pid_t pid : members())
            ::kill(pid, signal);
        do {
            reap();
            if (members().empty())
                return;
            const timespec look{0, std::chrono::nanoseconds(kTick).count()};
            ::nanosleep(&look, nullptr);
        } while (Clock::now() < until);
    }
}

}  // namespace dingo::cli
