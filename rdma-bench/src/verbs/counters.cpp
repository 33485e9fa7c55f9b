// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/counters.h"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "exit.h"

namespace rdma_bench {
namespace {

std::string port_directory(const std::string& root, const std::string& device, unsigned port) {
    return root + "/" + device + "/ports/" + std::to_string(port) + "/";
}

bool read_number(const std::string& path, std::uint64_t& value) {
    std::ifstream file(path);
    return static_cast<bool>(file >> value);
}

// Uses opendir(), not std::filesystem: preloaded libraries that redirect sysfs interpose the
// former.
std::vector<std::string> files_of(const std::string& directory) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(directory.c_str()), closedir);
    while (const dirent* entry = dir ? readdir(dir.get()) : nullptr) {
        if (entry->d_name[0] != '.') {
            names.emplace_back(entry->d_name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

[[noreturn]] void no_such_counter(const std::string& name, const std::string& device, unsigned port,
                                  const std::vector<std::string>& there) {
    std::string text = "-W " + name + ": port " + std::to_string(port) + " of " + device +
                       (there.empty() ? " has no counters" : " has no such counter; there are:");
    for (const auto& other : there) {
        text.append(" ").append(other);
    }
    throw RunError(Exit::kDevice, text);
}

}  // namespace

std::vector<std::string> find_counters(const std::string& device, unsigned port,
                                       const std::vector<std::string>& wanted,
                                       const std::string& root) {
    if (wanted.empty()) {
        return {};
    }
    const auto directory = port_directory(root, device, port);
    std::vector<std::string> there;
    for (const std::string group : {"counters", "hw_counters"}) {
        for (const auto& name : files_of(directory + group)) {
            std::uint64_t value = 0;
            const auto counter = std::string(group).append("/").append(name);
            // "lifespan" and the like are settings; write-only files cannot be read.
            if (name != "lifespan" && read_number(std::string(directory).append(counter), value)) {
                there.push_back(counter);
            }
        }
    }
    if (wanted == std::vector<std::string>{"all"}) {
        return there;
    }
    for (const auto& name : wanted) {
        if (std::find(there.begin(), there.end(), name) == there.end()) {
            no_such_counter(name, device, port, there);
        }
    }
    return wanted;
}

std::vector<Counter> read_counters(const std::string& device, unsigned port,
                                   const std::vector<std::string>& names, const std::string& root) {
    std::vector<Counter> counters;
    for (const auto& name : names) {
        std::uint64_t value = 0;
        read_number(port_directory(root, device, port) + name, value);
        counters.push_back({name, value, value});
    }
    return counters;
}

void read_again(std::vector<Counter>& counters, const std::string& device, unsigned port,
                const std::string& root) {
    for (auto& counter : counters) {
        read_number(port_directory(root, device, port) + counter.name, counter.after);
    }
}

}  // namespace rdma_bench
