// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/cli/cards.h"
#include "app/cli/checks.h"
#include "app/cli/error.h"
#include "app/cli/places.h"
#include "base/run_dir.h"
#include "base/unique_fd.h"

namespace dingo::cli {
namespace {

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

Finding run_directory() {
    const Path dir = run_dir();
    if (const std::string problem = run_dir_problem(dir); !problem.empty()) {
        const std::size_t colon = problem.find(": ");
        return {Verdict::kFail, "run directory", problem.substr(0, colon),
                problem.substr(colon + 2)};
    }
    std::error_code error;
    const bool exists = std::filesystem::exists(dir, error);
    const Path parent = exists ? dir : dir.parent_path();
    if (::access(parent.c_str(), W_OK | X_OK) != 0)
        return {Verdict::kFail, "run directory",
                fmt::format("{}: {}", parent.string(), std::strerror(errno)),
                "set DINGO_RUN to a directory that you may write, on a local file system"};
    // The sockets of the card with the longest name must still fit.
    if (dir.string().size() + std::strlen("/dingo0/uverbs.sock") >= sizeof(sockaddr_un::sun_path))
        return {Verdict::kFail, "run directory",
                fmt::format("{}: the path is too long", dir.string()),
                "set DINGO_RUN to a shorter one, e.g. /tmp/dingo"};
    return {Verdict::kOk, "run directory",
            fmt::format("{}{}", dir.string(), exists ? "" : " (made when the first card starts)"),
            ""};
}

Finding proc_mem() {
    volatile int there = 0x44494e47;
    int seen = 0;
    const UniqueFd mem(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(&there));
    if (mem && ::pread(mem.get(), &seen, sizeof seen, at) == sizeof seen && seen == there)
        return {Verdict::kOk, "/proc/self/mem", "readable and writable", ""};
    return {Verdict::kFail, "/proc/self/mem", std::strerror(errno),
            "cards read the arguments of verbs calls through it: mount /proc read-write in the "
            "container (docker: without --security-opt systempaths=...) and without hidepid for "
            "your user"};
}

Finding userfault() {
    const UniqueFd fd(
        static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
    if (fd)
        return {Verdict::kOk, "userfaultfd", "allowed", ""};
    return {Verdict::kWarn, "userfaultfd", std::strerror(errno),
            "without it ibv_reg_mr cannot stop other threads from writing to the buffer meanwhile: "
            "do not write to a buffer during ibv_reg_mr, or (docker) use a seccomp profile that "
            "allows userfaultfd"};
}

Finding memfd() {
    const UniqueFd fd(::memfd_create("dingo-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd && ::ftruncate(fd.get(), 1 << 20) == 0 &&
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        return {Verdict::kOk, "shared memory", "memfd with seals", ""};
    return {
        Verdict::kFail, "shared memory", fmt::format("memfd: {}", std::strerror(errno)),
        "cards need memfd_create and F_ADD_SEALS (Linux 5.4 or newer, no seccomp filter against "
        "them)"};
}

/// Reports on a system call that clients of a card need.
Finding call(const char* name, const UniqueFd& fd) {
    if (fd)
        return {Verdict::kOk, name, "allowed", ""};
    const int error = errno;
    if (error == EMFILE || error == ENFILE)
        return {Verdict::kFail, name, std::strerror(error),
                "close descriptors, or allow more: ulimit -n 1024"};
    return {
        Verdict::kFail, name, fmt::format("{} is denied: {}", name, std::strerror(error)),
        "a seccomp filter forbids this call, and no program can open an RDMA device without it; "
        "docker, podman: use --security-opt seccomp=unconfined, or a profile that allows the call"};
}

Finding memlock() {
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    const std::string text = limit.rlim_cur == RLIM_INFINITY
                                 ? "unlimited"
                                 : fmt::format("{} KiB", limit.rlim_cur / 1024);
    return {Verdict::kOk, "memlock limit", text + "; a kernel-less card locks no memory", ""};
}

Finding open_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= 1024)
        return {Verdict::kOk, "open files", fmt::format("{} per process", limit.rlim_cur), ""};
    return {Verdict::kWarn, "open files", fmt::format("only {} per process", limit.rlim_cur),
            "each queue needs a file descriptor in the card's process: ulimit -n 1024 or more"};
}

Finding cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int count = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    double quota = 0;
    std::istringstream limit(first_line("/sys/fs/cgroup/cpu.max"));
    std::string max;
    double period = 0;
    if (limit >> max >> period && max != "max" && period > 0)
        quota = std::stod(max) / period;
    const std::string text =
        quota > 0 ? fmt::format("{}, limited to {:.1f} by the control group", count, quota)
                  : std::to_string(count);
    if (count < 2 || (quota > 0 && quota < 1.5))
        return {Verdict::kWarn, "cores", text,
                "card and program take turns on one core: everything works, latency is poor"};
    return {Verdict::kOk, "cores", text, ""};
}

Finding container() {
    std::ifstream status("/proc/self/status");
    std::string seccomp = "0";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Seccomp:"))
            seccomp = line.substr(line.find_last_of(" \t") + 1);
    std::error_code error;
    const bool docker = std::filesystem::exists("/.dockerenv", error);
    const bool other = std::filesystem::exists("/run/.containerenv", error);
    std::string text = docker ? "Docker" : other ? "Podman" : "none seen";
    if (seccomp != "0")
        text += ", with a seccomp filter";
    return {Verdict::kOk, "container", text, ""};
}

}  // namespace

std::vector<Finding> check_calls() {
    return {call("eventfd2", UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
            call("epoll_create1", UniqueFd(::epoll_create1(EPOLL_CLOEXEC))),
            call("socket (UNIX)", UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)))};
}

void require_calls() {
    if (const Finding memory = proc_mem(); memory.verdict == Verdict::kFail)
        throw Error(fmt::format("{}: {}: {}", memory.what, memory.text, memory.mend));
    for (const Finding& finding : check_calls())
        if (finding.verdict == Verdict::kFail)
            throw Error(fmt::format("{}: {}", finding.text, finding.mend));
}

void check_system(std::vector<Finding>& out) {
    out.push_back(run_directory());
    out.push_back(memfd());
    out.push_back(proc_mem());
    for (const Finding& finding : check_calls())
        out.push_back(finding);
    out.push_back(userfault());
    out.push_back(memlock());
    out.push_back(open_files());
    out.push_back(cores());
    out.push_back(container());
}

std::vector<Finding> examine() {
    std::vector<Finding> out;
    check_system(out);
    check_libraries(out);
    check_network(out);
    return out;
}

}  // namespace dingo::cli
