// SPDX-License-Identifier: BSD-2-Clause
// Chooses one of a program's mutants at run time, by DINGO_MUTANT: see mutants_at_once.py.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

// Mutants need not look sensible.
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-value"

namespace {

// One byte for each mutant: 1 if the run reached it. Mapped from the file DINGO_MUTANTS_SEEN if
// that is set, as for a test's run without a mutant.
unsigned char g_dingo_unseen[1 << 16];
unsigned char* g_dingo_seen = g_dingo_unseen;
int g_dingo_chosen = -1;

// Runs before the constructors of all other objects.
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

// The data race is harmless: all threads only write 1.
[[maybe_unused]] inline bool dingo_mutant(int number) {
    g_dingo_seen[number] = 1;
    return number == g_dingo_chosen;
}

}  // namespace
