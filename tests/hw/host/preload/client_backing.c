/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions in files that the application has mapped, for example in /dev/shm. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define PAGE 4096UL
#define PAGES 8UL

static char name[64];

static int make_file(void) {
    int fd;

    snprintf(name, sizeof(name), "/dingo-backing-%d", (int)getpid());
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && ftruncate(fd, PAGES * PAGE) == 0);
    return fd;
}

static char* map_file(int fd, int prot) {
    char* at = mmap(NULL, PAGES * PAGE, prot, MAP_SHARED, fd, 0);

    CHECK(at != MAP_FAILED);
    return at;
}

static int open_descriptors(void) {
    DIR* dir = opendir("/proc/self/fd");
    int count = 0;

    CHECK(dir);
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

/* Checks that the card can write to the region after its mapping was removed and the address
 * reused. */
static void check_outlives(int card, int fd, char* at) {
    char* copy = map_file(fd, PROT_READ);

    memset(at, 7, PAGES * PAGE);
    share(card, at + PAGE + 10, 3 * PAGE, 4 * PAGE);
    CHECK(munmap(at, PAGES * PAGE) == 0);
    CHECK(mmap(at, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
               -1, 0) == at);
    CHECK(method(card, PEEK, (uintptr_t)at + 2 * PAGE, 0, 0) == 7);
    CHECK(method(card, POKE, (uintptr_t)at + 2 * PAGE, 55, 0) == 0);
    CHECK(copy[2 * PAGE] == 55 && at[2 * PAGE] == 0);
    CHECK(munmap(copy, PAGES * PAGE) == 0);
}

void client_share_file(void) {
    int card = open_card();
    int fd = make_file();
    int before;
    char* at = map_file(fd, PROT_READ | PROT_WRITE);

    /* with the descriptor closed the file is found by name */
    share(card, at, 64, PAGE);
    before = open_descriptors();
    close(fd);
    share(card, at, 64, PAGE);
    CHECK(open_descriptors() == before - 1);
    fd = shm_open(name, O_RDWR, 0);
    check_outlives(card, fd, at);
    /* without a name it is found among the descriptors */
    CHECK(shm_unlink(name) == 0);
    check_outlives(card, fd, map_file(fd, PROT_READ | PROT_WRITE));
    /* access rights are those of the mapping */
    at = map_file(fd, PROT_READ);
    CHECK(method(card, SHARE, (uintptr_t)at, PAGE, 1) < 0 && errno == EFAULT);
    CHECK(method(card, SHARE, (uintptr_t)at, PAGE, 0) == (int)PAGE);
    CHECK(open_descriptors() == before);
}

/* As a program without privileges, which cannot open /proc/self/map_files. */
void client_share_file_unprivileged(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    CHECK(syscall(SYS_capget, &head, data) == 0);
    data[0].effective &= ~(1u << CAP_SYS_ADMIN);
    data[1].effective &= ~(1u << (40 - 32)); /* CAP_CHECKPOINT_RESTORE */
    CHECK(syscall(SYS_capset, &head, data) == 0);
    client_share_file();
}

/* Closing any descriptor of a file releases all record locks that the process has on it. */
void client_share_file_locks(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int card = open_card();
    int fd = make_file();
    char* at = map_file(fd, PROT_READ | PROT_WRITE);
    int before;
    int status;
    pid_t child;

    CHECK(fcntl(fd, F_SETLK, &lock) == 0);
    share(card, at, PAGE, PAGE);
    before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        share(card, at, PAGE, PAGE);
    }
    CHECK(open_descriptors() == before);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(shm_unlink(name) == 0);
}
