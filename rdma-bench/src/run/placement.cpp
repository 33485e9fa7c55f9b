// SPDX-License-Identifier: BSD-2-Clause
#include "run/placement.h"

#include <dirent.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>

#include "exit.h"
#include "run/clock.h"

namespace rdma_bench {
namespace {

std::vector<unsigned> usable_processors() {
    cpu_set_t set;
    std::vector<unsigned> all;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &set)) {
                all.push_back(i);
            }
        }
    }
    return all;
}

/// Returns the NUMA node of a device; -1 if unknown.
int node_of_device(const std::string& name) {
    std::ifstream file("/sys/class/infiniband/" + name + "/device/numa_node");
    int node = -1;
    return file >> node ? node : -1;
}

/// Returns the NUMA node of a page; -1 if unknown or the page is not mapped yet.
int node_of_memory(const void* address) {
    int node = -1;
    const bool told = address && syscall(SYS_get_mempolicy, &node, nullptr, 0, address,
                                         MPOL_F_NODE | MPOL_F_ADDR) == 0;
    return told ? node : -1;
}

/// Returns the NUMA node of a processor, whose directory has a link "nodeN"; -1 without NUMA.
int node_of_processor(unsigned processor) {
    const auto path = "/sys/devices/system/cpu/cpu" + std::to_string(processor);
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
    while (const dirent* entry = dir ? readdir(dir.get()) : nullptr) {
        const std::string name = entry->d_name;
        if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == name.npos &&
            name.size() > 4) {
            return std::atoi(name.c_str() + 4);
        }
    }
    return -1;
}

std::string nodes_of(std::span<const unsigned> processors) {
    std::set<unsigned> nodes;
    for (const unsigned processor : processors) {
        if (const int node = node_of_processor(processor); node >= 0) {
            nodes.insert(static_cast<unsigned>(node));
        }
    }
    return ranges(std::vector<unsigned>(nodes.begin(), nodes.end()));
}

}  // namespace

std::string ranges(std::span<const unsigned> numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
            ++end;
        }
        text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
        if (end - i > 1) {
            text += (end - i > 2 ? "-" : ",") + std::to_string(numbers[end - 1]);
        }
        i = end;
    }
    return text;
}

void note_placement(HostFacts& facts, const void* memory, std::span<const unsigned> pin) {
    facts.clock = clock_text();
    facts.pinned = ranges(pin);
    facts.device_node = node_of_device(facts.device.name);
    facts.memory_node = node_of_memory(memory);
    facts.thread_nodes = pin.empty() ? nodes_of(usable_processors()) : nodes_of(pin);
}

void check_pin(std::span<const unsigned> pin) {
    const auto usable = usable_processors();
    for (const unsigned processor : pin) {
        if (std::find(usable.begin(), usable.end(), processor) == usable.end()) {
            throw RunError(Exit::kUsage, "--pin " + std::to_string(processor) +
                                             ": this process may use the processors " +
                                             ranges(usable));
        }
    }
}

void pin_thread(std::span<const unsigned> pin, std::size_t number) {
    if (pin.empty()) {
        return;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pin[number % pin.size()], &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        throw RunError(Exit::kUsage, "--pin " + std::to_string(pin[number % pin.size()]) +
                                         ": the kernel does not let a thread run there");
    }
}

}  // namespace rdma_bench
