// SPDX-License-Identifier: BSD-2-Clause
#include "report/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "memory/descriptor.h"

namespace rdma_bench::report {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& step, int error) {
    throw std::runtime_error(path + ": " + step + ": " + std::strerror(error));
}

void write_all(int fd, std::string_view content, const std::string& path) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno != EINTR) {
            fail(path, "write", errno);
        }
        content.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

/// The rights that open(O_CREAT, 0666) would have given.
mode_t usual_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

/// What a path leads to, and how content gets there.
struct Target {
    std::string path;
    bool in_place = false;  ///< a device or pipe
    mode_t mode = 0;
};

Target target_of(const std::string& path) {
    struct stat present {};
    if (::stat(path.c_str(), &present) != 0) {
        return {path, false, usual_mode()};
    }
    if (S_ISDIR(present.st_mode)) {
        fail(path, "write", EISDIR);
    }
    // Through a symbolic link the file behind it is replaced, not the link.
    Target target{path, !S_ISREG(present.st_mode), present.st_mode & 07777U};
    if (char* real = ::realpath(path.c_str(), nullptr); real != nullptr) {
        target.path = real;
        ::free(real);  // NOLINT: realpath() allocates with malloc()
    }
    return target;
}

/// A new file beside the target, which the caller renames or removes.
Descriptor create_beside(const std::string& path, std::string& name) {
    name = path + ".XXXXXX";
    Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (!file) {
        fail(path, "create", errno);
    }
    return file;
}

void replace(const Target& target, std::string_view content) {
    std::string temporary;
    const Descriptor file = create_beside(target.path, temporary);
    try {
        write_all(file.get(), content, target.path);
        if (::fchmod(file.get(), target.mode) != 0 || ::fsync(file.get()) != 0 ||
            ::rename(temporary.c_str(), target.path.c_str()) != 0) {
            fail(target.path, "replace", errno);
        }
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
    if (path == "-") {
        write_all(STDOUT_FILENO, content, "standard output");
        return;
    }
    const Target target = target_of(path);
    if (!target.in_place) {
        replace(target, content);
        return;
    }
    const Descriptor file(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) {
        fail(path, "open", errno);
    }
    write_all(file.get(), content, path);
}

void check_writable(const std::string& path) {
    if (path == "-") {
        return;
    }
    const Target target = target_of(path);
    if (target.in_place) {
        // A pipe's other end may not be there yet: opening it could wait.
        if (::access(target.path.c_str(), W_OK) != 0) {
            fail(path, "open", errno);
        }
        return;
    }
    std::string temporary;
    create_beside(target.path, temporary);
    ::unlink(temporary.c_str());
}

std::string read_file(const std::string& path, std::size_t most) {
    const bool standard = path == "-";
    const std::string name = standard ? "standard input" : path;
    Descriptor file;
    if (!standard) {
        file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!file) {
            fail(name, "open", errno);
        }
    }
    std::string content;
    std::array<char, 65536> piece;
    for (;;) {
        const ssize_t got =
            ::read(standard ? STDIN_FILENO : file.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            fail(name, "read", errno);
        }
        if (got == 0) {
            return content;
        }
        content.append(piece.data(), static_cast<std::size_t>(got));
        if (content.size() > most) {
            throw std::runtime_error(name + ": longer than " + std::to_string(most) + " bytes");
        }
    }
}

}  // namespace rdma_bench::report
