// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "app/cli/checks.h"
#include "app/cli/error.h"
#include "app/cli/places.h"

namespace dingo::cli {
namespace {

struct Loaded {
    bool ok = false;
    std::string text;  ///< file that was loaded, or the error
};

/// Loads a library with all its symbols in a child process, as loading may crash.
Loaded try_load(const std::string& library) {
    int pipe[2];
    if (::pipe(pipe) != 0)
        return {false, "pipe failed"};
    const pid_t child = ::fork();
    if (child == 0) {
        void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        std::string text;
        if (handle == nullptr) {
            const char* const error = ::dlerror();
            text = error != nullptr ? error : "unknown error";
        } else {
            link_map* map = nullptr;
            ::dlinfo(handle, RTLD_DI_LINKMAP, &map);
            std::error_code error;
            text =
                std::filesystem::canonical(map != nullptr ? map->l_name : library.c_str(), error);
        }
        [[maybe_unused]] const auto n = ::write(pipe[1], text.data(), text.size());
        ::_exit(handle != nullptr ? 0 : 1);
    }
    ::close(pipe[1]);
    Loaded out;
    char buffer[1024];
    for (ssize_t n; (n = ::read(pipe[0], buffer, sizeof buffer)) > 0;)
        out.text.append(buffer, static_cast<std::size_t>(n));
    ::close(pipe[0]);
    int status = 0;
    out.ok = child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
    if (!out.ok && out.text.empty())
        out.text = "loading it crashed";
    return out;
}

/// Returns rdma-core's release from "libibverbs.so.1.14.44.0"; "" if the name has none.
std::string release_of(const std::string& file) {
    const std::string name = Path(file).filename();
    constexpr std::string_view kStem = "libibverbs.so.1.";
    if (!name.starts_with(kStem))
        return "";
    const std::size_t dot = name.find('.', kStem.size());
    return dot == std::string::npos ? "" : name.substr(dot + 1);
}

void check_file(std::vector<Finding>& out, const char* what, Path (*find)(),
                const std::string& when_unloadable) {
    try {
        const Path file = find();
        const Loaded loaded = try_load(file);
        if (loaded.ok)
            out.push_back({Verdict::kOk, what, file, ""});
        else
            out.push_back({Verdict::kFail, what, loaded.text, when_unloadable});
    } catch (const Error& e) {
        const std::string text = e.what();
        const std::size_t dot = text.rfind(". ");
        out.push_back({Verdict::kFail, what, text.substr(0, dot), text.substr(dot + 2)});
    }
}

}  // namespace

void check_libraries(std::vector<Finding>& out) {
    const Loaded verbs = try_load("libibverbs.so.1");
    const std::string release = release_of(verbs.text);
    if (!verbs.ok)
        out.push_back({Verdict::kFail, "libibverbs", verbs.text,
                       "install it: apt install libibverbs1 (or rdma-core's libibverbs)"});
    else
        out.push_back(
            {Verdict::kOk, "libibverbs",
             release.empty() ? verbs.text : fmt::format("rdma-core {} ({})", release, verbs.text),
             ""});
    check_file(out, "provider", find_provider,
               "it was built for another libibverbs or C library: build Dingo on this machine");
    check_file(out, "preload library", find_preload,
               "it was built for another C library: build Dingo on this machine");
    try {
        out.push_back({Verdict::kOk, "dingo-card", find_card_program(), ""});
    } catch (const Error& e) {
        out.push_back({Verdict::kFail, "dingo-card", e.what(), ""});
    }
}

}  // namespace dingo::cli
