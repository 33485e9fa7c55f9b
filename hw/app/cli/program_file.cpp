// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/program_file.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "app/cli/error.h"

namespace dingo::cli {
namespace {

constexpr std::streamoff kSymbolNames = 1 << 20;  ///< linkers put the names near the beginning
constexpr int kMaxScripts = 5;  ///< maximum nesting of scripts as interpreters, as in Linux

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_NONE;  // any
#endif

/// Returns why the dynamic linker will ignore LD_PRELOAD (the program gains privileges when
/// executed); "" if it will not.
std::string gained_rights(const Path& program) {
    struct stat st {};
    struct statvfs fs {};
    if (::stat(program.c_str(), &st) != 0 ||
        (::statvfs(program.c_str(), &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0))
        return "";
    if ((st.st_mode & S_ISUID) != 0 && st.st_uid != ::getuid())
        return fmt::format("is setuid (user {})", st.st_uid);
    if ((st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IXGRP) != 0 && st.st_gid != ::getgid())
        return fmt::format("is setgid (group {})", st.st_gid);
    if (::getuid() != 0 && ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
        return "has file capabilities (getcap shows them)";
    return "";
}

/// Returns the interpreter of a script and its argument; empty if the file is no script.
std::vector<std::string> interpreter_of(std::ifstream& file) {
    std::string line;
    std::getline(file, line);
    if (!line.starts_with("#!"))
        return {};
    std::istringstream words(line.substr(2));
    std::vector<std::string> out;
    for (std::string word; words >> word;)
        out.push_back(word);
    return out;
}

/// Returns the program that env(1) executes: the first word that is neither an option nor a
/// variable.
Path run_by_env(const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); i++)
        if (!words[i].starts_with('-') && words[i].find('=') == std::string::npos)
            return find_program(words[i]);
    return {};
}

/// Returns true if the program contains this text in its first `limit` bytes; 0: anywhere.
bool contains(std::ifstream& file, std::string_view text, std::streamoff limit = 0) {
    std::array<char, 1 << 16> block;
    std::string kept;  // the end of the previous block
    file.clear();
    file.seekg(0);
    while ((limit == 0 || file.tellg() < limit) &&
           (file.read(block.data(), block.size()), file.gcount() > 0)) {
        kept.append(block.data(), static_cast<std::size_t>(file.gcount()));
        if (kept.find(text) != kept.npos)
            return true;
        kept.erase(0, kept.size() - std::min(kept.size(), text.size() - 1));
    }
    return false;
}

/// A statically linked program makes system calls that the preload library cannot intercept. If it
/// is a shell or launcher, the programs that it starts may still work. If it contains the device
/// names, it uses the devices itself.
Obstacle obstacle_of_static(std::ifstream& file, const std::string& name) {
    constexpr const char* kMend =
        "link it dynamically (cc without -static; Go: CGO_ENABLED=1, and no -extldflags=-static)";
    if (contains(file, "/dev/infiniband") || contains(file, "/sys/class/infiniband"))
        return {true,
                fmt::format(
                    "{} is linked statically, so the preload library cannot lead it to a card: {}",
                    name, kMend)};
    return {false,
            fmt::format("{} is linked statically (most Go programs are), so it cannot see the "
                        "card, but programs that it starts can. If it uses RDMA itself, {}",
                        name, kMend)};
}

std::optional<Obstacle> obstacle_of_elf(std::ifstream& file, const std::string& name) {
    Elf64_Ehdr head{};
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(&head), sizeof head) &&
        file.gcount() < static_cast<std::streamsize>(sizeof(Elf32_Ehdr)))
        return std::nullopt;
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return std::nullopt;
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return Obstacle{true, fmt::format("{} is a 32-bit program, but Dingo's libraries are "
                                          "64-bit: use a 64-bit build of it",
                                          name)};
    if (kMachine != EM_NONE && head.e_machine != kMachine)
        return Obstacle{true, fmt::format("{} is a program for another processor", name)};
    std::string loader;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part{};
        file.clear();
        file.seekg(static_cast<std::streamoff>(head.e_phoff + std::uint64_t{i} * head.e_phentsize));
        if (!file.read(reinterpret_cast<char*>(&part), sizeof part))
            return std::nullopt;
        if (part.p_type != PT_INTERP || part.p_filesz > 4096)
            continue;
        loader.resize(part.p_filesz);
        file.seekg(static_cast<std::streamoff>(part.p_offset));
        file.read(loader.data(), static_cast<std::streamsize>(loader.size()));
    }
    if (loader.empty())
        return obstacle_of_static(file, name);
    if (loader.find("ld-musl") != std::string::npos)
        return Obstacle{true, fmt::format("{} uses the C library musl, but Dingo's libraries need "
                                          "glibc: use a program built for glibc",
                                          name)};
    // Concatenated at run time, as dingo's own file must not contain the searched name.
    if (contains(file, std::string("__interceptor_") + "mmap", kSymbolNames))
        return Obstacle{
            false, fmt::format("{} has a sanitizer's runtime linked statically, and that runtime's "
                               "mmap() bypasses Dingo's preload library, so ibv_open_device() "
                               "fails (ENODEV): link it with gcc, or with clang -shared-libsan",
                               name)};
    return std::nullopt;
}

/// Returns true if the arguments of su or runuser request a login, which has a new environment.
bool asks_for_login(const std::vector<std::string>& command) {
    for (std::size_t i = 1; i < command.size() && command[i] != "--"; i++) {
        if (command[i] == "-c" || command[i] == "--command")
            i++;  // skip the command
        else if (command[i] == "-" || command[i] == "-l" || command[i] == "--login")
            return true;
    }
    return false;
}

/// Returns an obstacle for commands that start another program without the environment that leads
/// to the card, even for root.
std::optional<Obstacle> obstacle_of_command(const std::vector<std::string>& command) {
    const std::string name = Path(command[0]).filename();
    if (name == "sudo" || name == "doas" || name == "pkexec" ||
        ((name == "su" || name == "runuser") && asks_for_login(command)))
        return Obstacle{true, fmt::format("{} gives its program a new environment, without the "
                                          "card. Swap the two commands: {}",
                                          name,
                                          name == "su" || name == "runuser"
                                              ? "su USER -c 'dingo run -- COMMAND'"
                                              : name + " dingo run -- COMMAND")};
    if (name != "chroot")
        return std::nullopt;
    const auto root = std::find_if(command.begin() + 1, command.end(),
                                   [](const auto& word) { return !word.starts_with('-'); });
    std::error_code error;
    if (root == command.end() || *root == "/" ||
        std::filesystem::exists(*root + find_preload().string(), error))
        return std::nullopt;
    return Obstacle{true, fmt::format("{} has no {}: install Dingo in it and swap the two "
                                      "commands: chroot {} dingo run -- COMMAND",
                                      *root, find_preload().string(), *root)};
}

}  // namespace

Path find_program(const std::string& name) {
    if (name.find('/') != std::string::npos)
        return name;
    const char* const path = std::getenv("PATH");
    std::istringstream dirs(path != nullptr ? path : "/bin:/usr/bin");
    for (std::string dir; std::getline(dirs, dir, ':');) {
        Path file = Path(dir.empty() ? "." : dir) / name;
        struct stat st {};
        if (::access(file.c_str(), X_OK) == 0 && ::stat(file.c_str(), &st) == 0 &&
            S_ISREG(st.st_mode))
            return file;
    }
    return {};
}

std::optional<Obstacle> obstacle_of(const Path& program) {
    Path at = program;
    for (int depth = 0; depth <= kMaxScripts && !at.empty(); depth++) {
        std::ifstream file(at, std::ios::binary);
        const auto words = interpreter_of(file);
        if (words.empty()) {
            // The kernel ignores set-user-ID bits of scripts: only those of the interpreter count.
            if (const std::string rights = gained_rights(at); !rights.empty())
                return Obstacle{
                    true, fmt::format("{} {}: the dynamic linker preloads no library into it, "
                                      "so it cannot see the card. With sudo and the like swap the "
                                      "two commands: sudo dingo run -- COMMAND",
                                      at.string(), rights)};
            if (!file)
                return std::nullopt;  // the file may be executable but not readable
            return obstacle_of_elf(file, at.string());
        }
        at = Path(words[0]).filename() == "env" ? run_by_env(words) : Path(words[0]);
    }
    return std::nullopt;
}

void check_program(const std::vector<std::string>& command, bool force) {
    const Path program = find_program(command.at(0));
    auto obstacle = program.empty() ? std::nullopt : obstacle_of(program);
    if (!program.empty() && !obstacle)
        obstacle = obstacle_of_command(command);
    if (!obstacle)
        return;
    if (obstacle->certain && !force)
        throw Error(obstacle->text + " (--force starts it anyway)", kCannotExecute);
    fmt::print(stderr, "dingo: warning: {}\n", obstacle->text);
}

}  // namespace dingo::cli
