// SPDX-License-Identifier: BSD-2-Clause
// Which of the mutants in a program is the one that it has: see mutants_at_once.py.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

// What a mutant looks like is no error.
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-value"

namespace {

// A run of a test without a mutant gives a file; each mutant's byte in it then says whether the
// test reached it.
unsigned char g_dingo_unseen[1 << 16];
unsigned char* g_dingo_seen = g_dingo_unseen;
int g_dingo_chosen = -1;

// Before the constructors of all other objects.
__attribute__((constructor(101))) void dingo_choose_mutant() {
    if (const char* number = std::getenv("DINGO_MUTANT"))
        g_dingo_chosen = std::atoi(number);
    const char* file = std::getenv("DINGO_MUTANTS_SEEN");
    const int fd = file != nullptr ? ::open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void* seen = ::mmap(nullptr, sizeof g_dingo_unseen, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (seen != MAP_FAILED)
        g_dingo_seen = static_cast<unsigned char*>(seen);
}

// All threads only ever write the same 1.
[[maybe_unused]] inline bool dingo_mutant(int number) {
    g_dingo_seen[number] = 1;
    return number == g_dingo_chosen;
}

}  // namespace
