// SPDX-License-Identifier: BSD-2-Clause
#include "run/cost.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdma_bench {
namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

int open_instruction_counter() {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_HARDWARE;
    attr.size = sizeof attr;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

ThreadCost::ThreadCost(bool instructions) : fd_(instructions ? open_instruction_counter() : -1) {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    user_ = seconds(usage.ru_utime);
    system_ = seconds(usage.ru_stime);
    if (fd_ >= 0) {
        ioctl(fd_, PERF_EVENT_IOC_RESET, 0);
    }
}

ThreadCost::~ThreadCost() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

CpuCost ThreadCost::stop() {
    CpuCost cost;
    std::uint64_t count = 0;
    if (fd_ >= 0 && read(fd_, &count, sizeof count) == sizeof count) {
        cost.instructions = count;
    }
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    cost.user_seconds = seconds(usage.ru_utime) - user_;
    cost.system_seconds = seconds(usage.ru_stime) - system_;
    return cost;
}

void add_cost(CpuCost& sum, const CpuCost& more) {
    sum.user_seconds += more.user_seconds;
    sum.system_seconds += more.system_seconds;
    sum.messages += more.messages;
    if (more.instructions) {
        sum.instructions = sum.instructions.value_or(0) + *more.instructions;
    }
}

}  // namespace rdma_bench
