/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths: all functions that open or query files by name. */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "client.h"

#define NODE "/sys/class/infiniband/fake0/node_type"

static void reads(int fd, const char* text) {
    char got[128] = "";

    CHECK(fd >= 0);
    CHECK(read(fd, got, sizeof(got) - 1) >= 0);
    if (strcmp(got, text) != 0) {
        fprintf(stderr, "read '%s', not '%s'\n", got, text);
        exit(1);
    }
    close(fd);
}

void client_paths(void) {
    static const char* const same[] = {
        NODE,
        "//sys/class//infiniband/fake0/node_type",
        "/sys/./class/infiniband/./fake0/node_type",
        "/sys/class/infiniband/fake0/../fake0/node_type",
    };
    static const char* const others[] = {
        "/sys/class/infinibandx", "/sys/classes/infiniband", "/sys/class/../class/infiniband/fake0",
        "/dev/infinibandx",       "/sysclass/infiniband",    ""};
    char target[PATH_MAX];
    struct dirent** list;
    glob_t found;
    FILE* file;
    DIR* dir;
    int count;

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        char text[32] = "";

        reads(open(same[i], O_RDONLY), "1: CA\n");
        reads(open64(same[i], O_RDONLY), "1: CA\n");
        file = fopen(same[i], "r");
        CHECK(file && fgets(text, sizeof(text), file) && strcmp(text, "1: CA\n") == 0);
        CHECK(freopen(same[i], "r", file) == file && fgetc(file) == '1');
        fclose(file);
        file = fopen64(same[i], "re");
        CHECK(file && fgetc(file) == '1');
        fclose(file);
        CHECK(access(same[i], R_OK) == 0);
        CHECK(euidaccess(same[i], R_OK) == 0);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        errno = 0;
        CHECK(open(others[i], O_RDONLY) < 0 && errno == ENOENT);
    }
    CHECK(open(NULL, O_RDONLY) < 0 && errno == EFAULT);
    CHECK(open("/sys/class/infiniband/none", O_RDONLY) < 0 && errno == ENOENT);
    CHECK(open("/dev/infiniband/rdma_cm", O_RDWR) < 0 && errno == ENOENT);

    dir = opendir("/sys/class/infiniband");
    CHECK(dir);
    for (count = 0; readdir(dir); count++) {
    }
    closedir(dir);
    CHECK(count == 3);
    CHECK(scandir("/sys/class/infiniband_verbs", &list, NULL, alphasort) == 4);
    CHECK(strcmp(list[3]->d_name, "uverbs0") == 0);
    CHECK(glob("/sys/class/infiniband/*/node_type", 0, NULL, &found) == 0 && found.gl_pathc == 1);
    reads(open(found.gl_pathv[0], O_RDONLY), "1: CA\n");

    CHECK(realpath("/sys/class/infiniband/fake0/device", target));
    CHECK(strstr(target, "/sys/devices/pci0000:00/0000:c0:00.0"));
    CHECK(strncmp(target, getenv("DINGO_VIEW"), strlen(getenv("DINGO_VIEW"))) == 0);
    CHECK(readlink("/sys/class/infiniband/fake0", target, sizeof(target)) > 0);
    CHECK(readlink(NODE, target, sizeof(target)) < 0 && errno == EINVAL);

    CHECK(chdir("/sys/class/infiniband/fake0") == 0);
    reads(open("node_type", O_RDONLY), "1: CA\n");
    CHECK(chdir("/") == 0);
    reads(open("/sys/class/infiniband_verbs/uverbs0/ibdev", O_RDONLY), "fake0\n");
    {
        int fd = open("/tmp/.dingo-preload-test", O_CREAT | O_RDWR | O_TRUNC, 0640);
        struct stat st;

        CHECK(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777 & ~0640U) == 0);
        CHECK(unlink("/tmp/.dingo-preload-test") == 0);
    }
}

void client_paths_at(void) {
    int root = open("/", O_RDONLY | O_DIRECTORY);
    int classes = open("/sys/class", O_RDONLY | O_DIRECTORY);
    int ours = open("/sys/class/infiniband", O_RDONLY | O_DIRECTORY);
    struct stat st;

    CHECK(root >= 0 && ours >= 0);
    reads(openat(AT_FDCWD, NODE, O_RDONLY), "1: CA\n");
    reads(openat(root, NODE + 1, O_RDONLY), "1: CA\n");
    reads(openat(classes, "infiniband/fake0/node_type", O_RDONLY), "1: CA\n");
    reads(openat64(ours, "fake0/node_type", O_RDONLY), "1: CA\n");
    CHECK(fstatat(root, NODE + 1, &st, 0) == 0 && S_ISREG(st.st_mode));
    CHECK(faccessat(root, NODE + 1, R_OK, 0) == 0);
    CHECK(openat(ours, NODE + 1, O_RDONLY) < 0 && errno == ENOENT);
}

static void is_device(const struct stat* st) {
    CHECK(S_ISCHR(st->st_mode));
    CHECK(st->st_rdev == makedev(231, 192));
}

int __xstat(int version, const char* path, struct stat* st);
int __fxstat(int version, int fd, struct stat* st);

void client_stat(void) {
    const char* path = "/dev/infiniband/uverbs0";
    int fd = open_card();
    int directory = open("/dev/infiniband", O_RDONLY | O_DIRECTORY);
    struct stat st;
    struct statx stx;

    CHECK(directory >= 0);
    CHECK(stat(path, &st) == 0);
    is_device(&st);
    CHECK(lstat(path, &st) == 0);
    is_device(&st);
    CHECK(fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0);
    is_device(&st);
    CHECK(__xstat(1, path, &st) == 0);
    is_device(&st);
    CHECK(fstat(fd, &st) == 0);
    is_device(&st);
    CHECK(__fxstat(1, fd, &st) == 0);
    is_device(&st);
    CHECK(fstatat(fd, "", &st, AT_EMPTY_PATH) == 0);
    is_device(&st);
    CHECK(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx) == 0);
    CHECK(S_ISCHR(stx.stx_mode) && stx.stx_rdev_major == 231 && stx.stx_rdev_minor == 192);
    CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0);
    CHECK(S_ISCHR(stx.stx_mode) && stx.stx_rdev_minor == 192);
    CHECK(stat("/dev/null", &st) == 0 && st.st_rdev == makedev(1, 3));
    CHECK(stat("/dev/infiniband/uverbs1", &st) < 0 && errno == ENOENT);
    CHECK(lstat("/sys/class/infiniband/fake0", &st) == 0 && S_ISLNK(st.st_mode));
    close(fd);
}

#define COUNTER "/sys/class/infiniband/fake0/ports/1/hw_counters/rdma_tx_bytes"
#define SAYS                                                              \
    "card says devices/pci0000:00/0000:c0:00.0/infiniband/fake0/ports/1/" \
    "hw_counters/rdma_tx_bytes"

void client_counters(void) {
    int ports = open("/sys/class/infiniband/fake0/ports/1", O_RDONLY | O_DIRECTORY);
    char text[128] = "";
    FILE* file;
    int fd;

    reads(open(COUNTER, O_RDONLY | O_CLOEXEC), SAYS);
    fd = open(COUNTER, O_RDONLY | O_CLOEXEC);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    fd = open(COUNTER, O_RDONLY);
    CHECK(fcntl(fd, F_GETFD) == 0);
    file = fopen(COUNTER, "r");
    CHECK(file && fgets(text, sizeof(text), file) && strcmp(text, SAYS) == 0);
    fclose(file);
    reads(openat(ports, "hw_counters/rdma_tx_bytes", O_RDONLY), SAYS);
    CHECK(chdir("/sys/class/infiniband/fake0/ports/1/hw_counters") == 0);
    reads(open("rdma_tx_bytes", O_RDONLY), SAYS);
    file = fopen("rdma_tx_bytes", "r");
    CHECK(file && fgets(text, sizeof(text), file) && strcmp(text, SAYS) == 0);
    fclose(file);
}

void client_gids(void) {
    char text[8];
    int fd;

    reads(open("/sys/class/infiniband/fake0/ports/1/gids/0", O_RDONLY),
          "fe80:0000:0000:0000:0000:0000:0000:0001\n");
    reads(open("/sys/class/infiniband/fake0/ports/1/gid_attrs/types/0", O_RDONLY), "RoCE v2\n");
    fd = open("/sys/class/infiniband/fake0/ports/1/gid_attrs/types/1", O_RDONLY);
    CHECK(fd >= 0 && read(fd, text, sizeof(text)) < 0 && errno == EINVAL);
}

/* Requests `count` messages from the fake card; flags: NLM_F_*. */
static void ask(int fd, uint32_t count, uint16_t flags) {
    struct nlmsghdr request = {.nlmsg_len = sizeof(request),
                               .nlmsg_type = 5 << 10 | 1,
                               .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
                               .nlmsg_seq = count};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    CHECK(sendto(fd, &request, sizeof(request), 0, (struct sockaddr*)&kernel, sizeof(kernel)) ==
          (ssize_t)sizeof(request));
}

/* Returns the next message and checks that its sender is the kernel. */
static struct nlmsghdr* next_message(int fd, void* buffer, size_t size) {
    struct sockaddr_nl from = {.nl_family = AF_UNSPEC, .nl_pid = 1};
    struct iovec part = {buffer, size};
    struct msghdr message = {
        .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part, .msg_iovlen = 1};
    ssize_t got = recvmsg(fd, &message, 0);
    struct nlmsghdr* head = buffer;

    CHECK(got >= (ssize_t)sizeof(*head) && head->nlmsg_len == (size_t)got);
    CHECK(message.msg_namelen == sizeof(from) && from.nl_family == AF_NETLINK && from.nl_pid == 0);
    return head;
}

void client_netlink(void) {
    static _Alignas(struct nlmsghdr) char buffer[8192];
    struct sockaddr_nl own = {.nl_family = AF_NETLINK};
    socklen_t length = sizeof(own);
    struct pollfd readable;
    struct nlmsghdr* message;
    int on = 1;
    int other = open("/dev/null", O_RDONLY);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr*)&own, sizeof(own)) == 0);
    CHECK(setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)) == 0);
    CHECK(getsockname(fd, (struct sockaddr*)&own, &length) == 0 && length == sizeof(own) &&
          own.nl_family == AF_NETLINK);
    readable = (struct pollfd){.fd = fd, .events = POLLIN};
    CHECK(poll(&readable, 1, 0) == 0);
    /* More messages than the socket's queue holds arrive in order, followed by the end. */
    ask(fd, 2000, NLM_F_DUMP);
    for (uint32_t i = 0; i < 2000; i++) {
        CHECK(poll(&readable, 1, 0) == 1);
        message = next_message(fd, buffer, sizeof(buffer));
        CHECK(message->nlmsg_type == 5 << 10 && message->nlmsg_seq == i);
    }
    message = next_message(fd, buffer, sizeof(buffer));
    CHECK(message->nlmsg_type == NLMSG_DONE && message->nlmsg_seq == 2000);
    /* One message without end; with NLM_F_ACK an error of 0; a refusal by the card is an error. */
    ask(fd, 1, 0);
    CHECK(next_message(fd, buffer, sizeof(buffer))->nlmsg_seq == 0);
    ask(fd, 1, NLM_F_ACK);
    CHECK(next_message(fd, buffer, sizeof(buffer))->nlmsg_seq == 0);
    message = next_message(fd, buffer, sizeof(buffer));
    CHECK(message->nlmsg_type == NLMSG_ERROR && *(int*)NLMSG_DATA(message) == 0);
    ask(fd, 0, 0);
    message = next_message(fd, buffer, sizeof(buffer));
    CHECK(message->nlmsg_type == NLMSG_ERROR && *(int*)NLMSG_DATA(message) == -EOPNOTSUPP);
    CHECK(recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) < 0 && errno == EAGAIN);
    CHECK(send(fd, "no message", 10, 0) == 10);
    CHECK(recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) < 0 && errno == EAGAIN);
    /* Peeking at a message or its length removes nothing and shows no bookmark. */
    ask(fd, 2, NLM_F_DUMP);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC) == 500);
        CHECK(recv(fd, buffer, sizeof(buffer), MSG_PEEK) == 500);
        CHECK(next_message(fd, buffer, sizeof(buffer))->nlmsg_seq == i);
    }
    CHECK(next_message(fd, buffer, sizeof(buffer))->nlmsg_type == NLMSG_DONE);
    CHECK(close(fd) == 0);
    /* Unread messages are freed with their socket and do not block others. */
    for (int i = 0; i < 200; i++) {
        fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
        CHECK(fd >= 0);
        ask(fd, 5000, NLM_F_DUMP);
        CHECK(next_message(fd, buffer, sizeof(buffer))->nlmsg_seq == 0);
        CHECK(dup2(other, fd) == fd && close(fd) == 0);
    }
    fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    CHECK(fd >= 0);
}
