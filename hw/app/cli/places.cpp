// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/cli/error.h"
#include "base/run_dir.h"

namespace dingo::cli {
namespace {

namespace fs = std::filesystem;

Path own_dir() {
    std::error_code error;
    const Path self = fs::read_symlink("/proc/self/exe", error);
    if (error)
        throw Error("cannot read /proc/self/exe: is /proc mounted?");
    return self.parent_path();
}

/// Returns the library directories below the prefix, those of the build tree first.
std::vector<Path> library_dirs(const std::string& below) {
    const Path prefix = own_dir().parent_path();
    std::vector<Path> out;
    for (const char* lib : {"lib", "lib64", "lib/" DINGO_LIBRARY_ARCH})
        for (const std::string& sub : {below, std::string("dingo"), std::string()})
            out.push_back((prefix / lib / sub).lexically_normal());
    return out;
}

[[noreturn]] void not_found(const char* what, const Path& below) {
    throw Error(
        fmt::format("{} was not found below {}. Build it (cmake --preset release && cmake "
                    "--build build) or install it (cmake --install build)",
                    what, below.string()));
}

}  // namespace

std::string run_dir_problem(const Path& dir) {
    struct stat st {};
    if (::lstat(dir.c_str(), &st) != 0)
        return errno == ENOENT ? ""
                               : fmt::format("{}: {}; set DINGO_RUN to a directory of yours",
                                             dir.string(), std::strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fmt::format("{} is no directory: remove it, or set DINGO_RUN", dir.string());
    if (st.st_uid != ::geteuid())
        return fmt::format("{} belongs to user {}: set DINGO_RUN to a directory of yours",
                           dir.string(), st.st_uid);
    if ((st.st_mode & 022) != 0)
        return fmt::format("other users may write to {}: chmod go-w {}", dir.string(),
                           dir.string());
    const Path above = std::filesystem::absolute(dir).lexically_normal().parent_path();
    if (::stat(above.c_str(), &st) == 0 && (st.st_mode & S_IWOTH) != 0 &&
        (st.st_mode & S_ISVTX) == 0)
        return fmt::format(
            "other users could replace {}, as everybody may write to {}: chmod +t {}", dir.string(),
            above.string(), above.string());
    return "";
}

Path make_run_dir() {
    Path dir = run_dir();
    if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
        throw Error(fmt::format("cannot make the directory {}: {}; set DINGO_RUN to another one",
                                dir.string(), std::strerror(errno)));
    if (const std::string problem = run_dir_problem(dir); !problem.empty())
        throw Error(problem);
    return dir;
}

Path find_card_program() {
    const Path dir = own_dir();
    Path program = dir / "dingo-card";
    if (::access(program.c_str(), X_OK) != 0)
        not_found("dingo-card", dir);
    return program;
}

Path find_preload() {
    const auto dirs = library_dirs("dingo");
    for (const Path& dir : dirs)
        if (Path file = dir / "libdingo-preload.so"; fs::exists(file))
            return file;
    not_found("libdingo-preload.so", own_dir().parent_path() / "lib");
}

Path find_provider() {
    const auto dirs = library_dirs("libibverbs");
    for (const Path& dir : dirs) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(dir, error)) {
            const std::string name = entry.path().filename();
            if (name.starts_with("libdingo-rdmav") && name.ends_with(".so"))
                return entry.path();
        }
    }
    not_found("the libibverbs provider (libdingo-rdmav34.so)", own_dir().parent_path() / "lib");
}

std::string driver_name(const Path& provider) {
    const std::string path = provider;
    return path.substr(0, path.rfind("-rdmav"));
}

}  // namespace dingo::cli
