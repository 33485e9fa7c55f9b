// SPDX-License-Identifier: BSD-2-Clause
#include "compare/interleave.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "compare/json.h"
#include "compare/read_output.h"
#include "memory/descriptor.h"
#include "run/repeats.h"

extern char** environ;

namespace rdma_bench {
namespace {

using Json = nlohmann::ordered_json;

/// Limit of a command's output in bytes; tables are much shorter.
constexpr std::size_t kMostOutput = std::size_t{64} << 20U;

std::string line_of(const std::vector<std::string>& command) {
    std::string line;
    for (const auto& word : command) {
        line += (line.empty() ? "" : " ") + word;
    }
    return line;
}

[[noreturn]] void fail(const std::vector<std::string>& command, const std::string& why) {
    throw std::runtime_error("`" + line_of(command) + "`: " + why);
}

std::string read_all(int fd) {
    std::string text;
    std::array<char, 65536> part;
    for (;;) {
        const ssize_t count = read(fd, part.data(), part.size());
        if (count > 0) {
            text.append(part.data(),
                        std::min<std::size_t>(static_cast<std::size_t>(count),
                                              kMostOutput - std::min(kMostOutput, text.size())));
        } else if (count == 0 || errno != EINTR) {
            return text;
        }
    }
}

/// Runs a command and returns its standard output; standard error is inherited.
std::string output_of(const std::vector<std::string>& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail(command, std::strerror(errno));
    }
    Descriptor from(ends[0]), to(ends[1]);
    std::vector<char*> words;
    for (const auto& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));  // NOLINT: posix_spawn does not write
    }
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        fail(command, std::strerror(error));
    }
    to.reset();
    std::string text = read_all(from.get());
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        fail(command, std::string("ended by the signal ") + strsignal(WTERMSIG(status)));
    }
    if (WEXITSTATUS(status) != 0) {
        fail(command, "exit status " + std::to_string(WEXITSTATUS(status)));
    }
    return text;
}

/// Adds the figures of one run as a Repeat to those of earlier runs.
void add_round(Result& sum, const Result& one, const std::vector<std::string>& command,
               unsigned round) {
    if (round == 0) {
        sum = one;
        for (Entry& entry : sum.entries) {
            entry.repeats.clear();
            entry.latency.reset();
            entry.series.clear();
        }
    }
    if (one.entries.size() != sum.entries.size() || !(one.test == sum.test)) {
        fail(command, "printed other rows than in its first run");
    }
    for (std::size_t i = 0; i < one.entries.size(); ++i) {
        const Entry& entry = one.entries[i];
        if (entry.size != sum.entries[i].size || entry.qps != sum.entries[i].qps) {
            fail(command, "printed other rows than in its first run");
        }
        Repeat repeat = repeat_of(entry);
        if (!(entry.latency && entry.latency->count() > 0) && !entry.repeats.empty()) {
            repeat.median = entry.repeats.front().median;
            repeat.tail = entry.repeats.front().tail;
        }
        sum.entries[i].repeats.push_back(repeat);
    }
}

void set_medians(Result& result) {
    for (Entry& entry : result.entries) {
        if (entry.bandwidth) {
            entry.bandwidth = Bandwidth{median_of(entry.repeats, &Repeat::bandwidth), 0,
                                        median_of(entry.repeats, &Repeat::message_rate)};
        }
    }
}

}  // namespace

Commands two_commands(std::span<const std::string> words) {
    Commands commands;
    if (!words.empty()) {
        const auto second = std::find(words.begin() + 1, words.end(), "--");
        commands.first.assign(words.begin() + 1, second);
        if (second != words.end()) {
            commands.second.assign(second + 1, words.end());
        }
    }
    if (commands.first.empty() || commands.second.empty()) {
        throw std::invalid_argument("--interleave N -- COMMAND... -- COMMAND...: two commands");
    }
    return commands;
}

std::vector<report::Run> interleave(const Commands& commands, unsigned rounds) {
    std::vector<report::Run> runs{{"first", {}}, {"second", {}}};
    const std::vector<std::string>* both[] = {&commands.first, &commands.second};
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned turn = 0; turn < 2; ++turn) {
            // Alternate which command is first in a pair.
            const unsigned which = (turn + round) % 2;
            const auto& command = *both[which];
            add_round(runs[which].result, read_output(output_of(command), line_of(command)),
                      command, round);
        }
        if (isatty(STDERR_FILENO)) {
            std::fprintf(stderr, "\r\033[Kround %u of %u%s", round + 1, rounds,
                         round + 1 == rounds ? "\r\033[K" : "");
        }
    }
    for (report::Run& run : runs) {
        set_medians(run.result);
    }
    return runs;
}

std::string to_json(const std::vector<report::Run>& runs, const Comparison& comparison,
                    const CompareOptions& options) {
    Json rounds = Json::array();
    const auto& first = runs[0].result.entries;
    const auto& second = runs[1].result.entries;
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
        for (std::size_t r = 0; r < std::min(first[i].repeats.size(), second[i].repeats.size());
             ++r) {
            const Repeat &a = first[i].repeats[r], &b = second[i].repeats[r];
            const bool latency = a.median > 0;
            rounds.push_back({{"size_bytes", first[i].size},
                              {"qps", first[i].qps},
                              {"round", r + 1},
                              {"first", latency ? a.median / 1e3 : a.bandwidth},
                              {"second", latency ? b.median / 1e3 : b.bandwidth}});
        }
    }
    Json out = {
        {"schema", "rdma-bench-compare"}, {"schema_version", 1}, {"threshold", options.threshold}};
    out.update(comparison_json(comparison));
    out["rounds"] = rounds;
    return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rdma_bench
