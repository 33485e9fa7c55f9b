/* SPDX-License-Identifier: BSD-2-Clause */
/* The uverbs descriptor: requests, events, copies, processes. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

static void echo(int fd) {
    uint64_t value[ROOM / 8] = {41, 7};

    errno = 77;
    CHECK(echo_at(fd, value, value) == 0);
    CHECK(value[0] == 42 && value[1] == 7 && errno == 77);
}

/* Sends `count` attributes `id`, each with room or input of `length` bytes. */
static int ioctl_with(int fd, unsigned count, uint16_t id, uint16_t length) {
    static char memory[65536];
    struct {
        struct ib_uverbs_ioctl_hdr head;
        struct ib_uverbs_attr attrs[100];
    } request;

    memset(&request, 0, sizeof(request));
    request.head.length = (uint16_t)(sizeof(request.head) + count * sizeof(request.attrs[0]));
    request.head.method_id = 99;
    request.head.num_attrs = (uint16_t)count;
    for (unsigned i = 0; i < count; i++) {
        request.attrs[i].attr_id = id;
        request.attrs[i].len = length;
        request.attrs[i].data = length ? (uintptr_t)memory : 0;
    }
    return ioctl(fd, RDMA_VERBS_IOCTL, &request);
}

/* A request that does not fit into a message is not sent: the card would close the connection. */
static void large_ioctls(int fd) {
    CHECK(ioctl_with(fd, 2, UVERBS_ATTR_UHW_OUT, 40900) < 0 && errno == EPROTONOSUPPORT);
    CHECK(ioctl_with(fd, 3, UVERBS_ATTR_UHW_OUT, 40900) < 0 && errno == ENOMEM);
    CHECK(ioctl_with(fd, 2, UVERBS_ATTR_UHW_IN, 40800) < 0 && errno == EPROTONOSUPPORT);
    CHECK(ioctl_with(fd, 2, UVERBS_ATTR_UHW_IN, 40900) < 0 && errno == ENOMEM);
    CHECK(ioctl_with(fd, 64, 0, 0) < 0 && errno == EPROTONOSUPPORT);
    CHECK(ioctl_with(fd, 65, 0, 0) < 0 && errno == ENOMEM);
}

/* Sends an ioctl whose last attribute is not mapped. */
static void cut_ioctl(int fd) {
    char* at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ib_uverbs_ioctl_hdr* head = (void*)(at + 4096 - sizeof(*head));

    CHECK(at != MAP_FAILED && munmap(at + 4096, 4096) == 0);
    head->length = sizeof(*head) + sizeof(head->attrs[0]);
    head->num_attrs = 1;
    CHECK(ioctl(fd, RDMA_VERBS_IOCTL, head) < 0 && errno == EFAULT);
    CHECK(ioctl(fd, RDMA_VERBS_IOCTL, at + 4096) < 0 && errno == EFAULT);
    munmap(at, 4096);
}

/* Checks what the library prints to stderr if the card has another version. */
static void other_version(int fd) {
    char text[200] = "";
    int kept = dup(2);
    int pipes[2];

    CHECK(pipe(pipes) == 0 && dup2(pipes[1], 2) == 2);
    CHECK(method(fd, VERSION, 99, 0, 0) < 0 && errno == EIO);
    CHECK(dup2(kept, 2) == 2 && read(pipes[0], text, sizeof(text) - 1) > 0);
    CHECK(strstr(text, "the card speaks protocol version 99"));
}

void client_ioctl(void) {
    static const uint64_t read_only[ROOM / 8] = {41};
    uint64_t value[ROOM / 8] = {41};
    int fd = open_card();

    echo(fd);
    CHECK(echo_at(fd, (void*)8, value) < 0 && errno == EFAULT);
    CHECK(echo_at(fd, value, (void*)8) < 0 && errno == EFAULT);
    CHECK(echo_at(fd, read_only, (void*)read_only) < 0 && errno == EFAULT);
    CHECK(method(fd, ECHOES, 0, 0, 0) == 1); /* a request whose answer would be lost is not
                                              * executed */
    echo(fd);
    large_ioctls(fd);
    echo(fd);
    cut_ioctl(fd);
    echo(fd);
    other_version(fd);
    CHECK(method(fd, 99, 0, 0, 0) < 0 && errno == EPROTONOSUPPORT);
    CHECK(ioctl(fd, 0xc0181b01, NULL) < 0 && errno == EFAULT);
    CHECK(method(0x7fffffff, ECHO, 8, 0, 0) < 0 && errno == EBADF);
    CHECK(method(fd, HELLOS, 0, 0, 0) == 1);
    close(fd);
    CHECK(method(fd, ECHO, 8, 0, 0) < 0 && errno == EBADF);
}

void client_write(void) {
    static char large[100000];
    int fd = open_card();

    CHECK(write(fd, "command", 7) == 7);
    CHECK(write(fd, NULL, 24) < 0 && errno == EFAULT);
    CHECK(write(fd, large, sizeof(large)) < 0 && errno == EINVAL);
    CHECK(read(fd, large, sizeof(large)) < 0 && errno == EINVAL);
    echo(fd);
}

void client_mmap(void) {
    int fd = open_card();
    char* page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0x7000);

    CHECK(page != MAP_FAILED && strcmp(page, "page two") == 0);
    CHECK(munmap(page, 4096) == 0);
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0x9000) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap64(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0x7000) != MAP_FAILED);
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0) != MAP_FAILED);
}

/* A descriptor received without interception, for example by SCM_RIGHTS, is recognised in
 * fstat(), which ibv_import_device() calls first. */
void client_adopt(void) {
    int fd = open_card();
    int copy = (int)syscall(SYS_dup, fd);
    int pair[2];
    struct stat st;

    CHECK(copy >= 0 && fstat(copy, &st) == 0 && S_ISCHR(st.st_mode));
    CHECK(st.st_rdev == makedev(231, 192));
    close(fd);
    echo(copy);
    CHECK(method(copy, HELLOS, 0, 0, 0) == 2);
    CHECK(fstat(copy, &st) == 0 && method(copy, HELLOS, 0, 0, 0) == 2);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    CHECK(fstat(pair[0], &st) == 0 && S_ISSOCK(st.st_mode));
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(fstat(pair[0], &st) == 0 && S_ISSOCK(st.st_mode));
    close(copy);
    CHECK(method(copy, ECHO, 8, 0, 0) < 0 && errno == EBADF);
}

static void make_channels(int fd, int* comp, int* async) {
    uint32_t number[ROOM / 4] = {0xffffffff};
    uint64_t number64[ROOM / 8] = {0xffffffffffffffff};

    CHECK(method_at(fd, CHANNELS, (uintptr_t)number, (uintptr_t)number64) == 0);
    *comp = (int)number[0];
    *async = (int)number64[0];
    CHECK(number[0] < 1000 && number64[0] < 1000);
    CHECK(fcntl(*comp, F_GETFD) == FD_CLOEXEC);
}

void client_channels(void) {
    struct ib_uverbs_comp_event_desc event;
    struct ib_uverbs_async_event_desc news;
    int fd = open_card();
    int comp, async;

    make_channels(fd, &comp, &async);
    CHECK(read(comp, &event, 4) < 0 && errno == EINVAL);
    CHECK(read(comp, &event, sizeof(event)) == sizeof(event) && event.cq_handle == 0x1234);
    CHECK(read(async, &news, sizeof(news)) == sizeof(news) && news.event_type == 9);
    CHECK(fcntl(comp, F_SETFL, fcntl(comp, F_GETFL) | O_NONBLOCK) == 0);
    CHECK(read(comp, &event, sizeof(event)) < 0 && errno == EAGAIN);
}

void client_dead_card(void) {
    struct ib_uverbs_comp_event_desc event;
    struct ib_uverbs_async_event_desc news;
    struct pollfd wait;
    int fd = open_card();
    int comp, async, copy;

    make_channels(fd, &comp, &async);
    CHECK(read(comp, &event, sizeof(event)) == sizeof(event));
    CHECK(read(async, &news, sizeof(news)) == sizeof(news));
    CHECK(method(fd, DIE, 0, 0, 0) < 0 && errno == EIO);
    CHECK(method(fd, ECHO, 0, 0, 0) < 0 && errno == EIO);
    CHECK(write(fd, "x", 1) < 0 && errno == EIO);
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0x7000) == MAP_FAILED && errno == EIO);
    wait.fd = async;
    wait.events = POLLIN;
    CHECK(poll(&wait, 1, 5000) == 1 && wait.revents & POLLIN);
    CHECK(read(async, &news, sizeof(news)) == sizeof(news));
    CHECK(news.event_type == 8 && news.element == 0);
    CHECK(read(async, &news, sizeof(news)) < 0 && errno == EIO);
    copy = dup(comp);
    CHECK(read(comp, &event, sizeof(event)) < 0 && errno == EIO);
    CHECK(read(copy, &event, sizeof(event)) < 0 && errno == EIO);
    CHECK(open("/dev/infiniband/uverbs0", O_RDWR) < 0 && errno == ENXIO);
}

void client_need_fd(void) {
    int fd = open_card();
    int file = memfd_create("x", 0);

    CHECK(ftruncate(file, 12345) == 0);
    CHECK(method(fd, NEED_FD, (uint64_t)file, 0, 0) == 12345);
    close(file);
    CHECK(method(fd, NEED_FD, (uint64_t)file, 0, 0) < 0 && errno == EBADF);
}

void client_dup_close(void) {
    int fd = open_card();
    int pipes[2];
    char text[8];
    int copy;

    copy = dup(fd);
    echo(copy);
    close(fd);
    echo(copy);
    CHECK(dup2(copy, 77) == 77);
    echo(77);
    CHECK(dup3(copy, 78, O_CLOEXEC) == 78);
    echo(78);
    CHECK(fcntl(copy, F_DUPFD, 100) == 100);
    echo(100);
    CHECK(fcntl(copy, F_DUPFD_CLOEXEC, 101) == 101);
    echo(101);
    CHECK(method(copy, HELLOS, 0, 0, 0) == 1);
    /* numbers reused for other files */
    CHECK(pipe(pipes) == 0);
    CHECK(dup2(pipes[0], 77) == 77);
    CHECK(write(pipes[1], "abc", 3) == 3 && read(77, text, sizeof(text)) == 3);
    CHECK(close_range(78, 100, 0) == 0);
    CHECK(dup2(pipes[1], 78) == 78 && write(78, "abc", 3) == 3);
    echo(101);
    closefrom(80);
    CHECK(method(101, ECHO, 0, 0, 0) < 0 && errno == EBADF);
    echo(copy);
    for (int i = 0; i < 1000; i++) {
        int other = open("/dev/null", O_RDONLY);

        CHECK(read(other, text, sizeof(text)) == 0);
        close(other);
        other = open_card();
        close(other);
    }
}

/* Makes `fd` a copy of `other` by a system call that is not intercepted. */
static void replace(int fd, int other) {
    CHECK(syscall(SYS_dup3, other, fd, 0) == fd);
}

static void is_socket(int fd) {
    struct statx stx;
    struct stat st;

    CHECK(fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode));
    CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 && S_ISSOCK(stx.stx_mode));
}

/* Returns the descriptor of the library's file of shared memory. */
static int arena(void) {
    char link[64];
    char path[32];

    for (int fd = 3; fd < 20000; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        memset(link, 0, sizeof(link));
        if (readlink(path, link, sizeof(link) - 1) > 0 && strstr(link, "memfd:dingo-mr")) {
            return fd;
        }
    }
    CHECK(!"arena");
    return -1;
}

/* Numbers of other files after a close that was not intercepted. */
void client_reused(void) {
    int fd = open_card();
    int kept = open_card();
    char* at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int pipes[2];
    int pair[2];
    int comp, async;
    char text[64];

    CHECK(pipe(pipes) == 0);
    replace(fd, pipes[0]);
    CHECK(write(pipes[1], "x", 1) == 1 && read(fd, text, 1) == 1);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);

    fd = open_card();
    replace(fd, pipes[1]);
    CHECK(write(fd, "abc", 3) == 3 && read(pipes[0], text, sizeof(text)) == 3);
    fd = open_card();
    replace(fd, pair[0]);
    CHECK(write(fd, "abc", 3) == 3 && read(pair[1], text, sizeof(text)) == 3);
    fd = open_card();
    replace(fd, pair[0]);
    is_socket(fd);
    fd = open_card();
    replace(fd, pair[0]);
    CHECK(method(fd, ECHO, 8, 0, 0) < 0 && errno == ENOTTY);

    make_channels(kept, &comp, &async);
    replace(comp, pipes[0]);
    replace(async, pair[1]);
    CHECK(write(pipes[1], "x", 1) == 1 && read(comp, text, 1) == 1);
    CHECK(write(pair[0], "x", 1) == 1 && read(async, text, 1) == 1);

    fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
    CHECK(fd >= 0);
    replace(fd, socket(AF_INET, SOCK_DGRAM, 0));
    CHECK(send(fd, "x", 1, 0) < 0 && errno == EDESTADDRREQ);

    CHECK(at != MAP_FAILED);
    share(kept, at, 8192, 8192);
    fd = arena();
    CHECK(close(fd) < 0 && errno == EBADF);
    replace(fd, pipes[0]);
    CHECK(write(pipes[1], "x", 1) == 1 && read(fd, text, 1) == 1);
    CHECK(close(fd) == 0 && fcntl(fd, F_GETFD) < 0);
    echo(kept);
}

static void wait_for(pid_t child) {
    int status;

    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

void client_fork(void) {
    int fd = open_card();
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        echo(fd);
        CHECK(method(fd, HELLOS, 0, 0, 0) == 2);
        child = fork();
        if (child == 0) {
            echo(fd);
            _exit(0);
        }
        wait_for(child);
        exit(0);
    }
    wait_for(child);
    echo(fd);
    CHECK(method(fd, HELLOS, 0, 0, 0) == 3);
}

static void* use(void* arg) {
    echo(*(int*)arg);
    return NULL;
}

enum user { COPY, CHILD, RAW_CHILD, USERS };

/* A copy of the descriptor, or a child, is used while another thread sends HELLO. */
static void use_twice(int fd, enum user user) {
    int other = open_card();
    int before = method(other, HELLOS, 0, 0, 0);
    pthread_t thread;
    pid_t child;

    alarm(30);
    CHECK(pthread_create(&thread, NULL, use, &fd) == 0);
    for (int i = 0; i < 10000 && method(other, HELLOS, 0, 0, 0) == before; i++) {
        usleep(1000);
    }
    if (user == COPY) {
        echo(dup(fd));
    } else {
        /* RAW_CHILD: without the handlers of pthread_atfork(), as _Fork() */
        child = user == CHILD ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        CHECK(child >= 0);
        if (child == 0) {
            alarm(30);
            echo(fd);
            _exit(0);
        }
        wait_for(child);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

void client_hello_in_flight(void) {
    for (enum user user = COPY; user < USERS; user++) {
        int fd = open_card();
        pid_t child;

        CHECK(method(fd, HOLD_HELLO, 0, 0, 0) == 0);
        child = fork(); /* its first use of `fd` sends HELLO */
        CHECK(child >= 0);
        if (child == 0) {
            use_twice(fd, user);
            exit(0);
        }
        wait_for(child);
        close(fd);
    }
}

/* A vfork() child closes its own descriptor, not its parent's. */
void client_vfork(void) {
    int fd = open_card();
    pid_t child = vfork();

    CHECK(child >= 0);
    if (child == 0) {
        close(fd);
        dup2(1, fd);
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    wait_for(child);
    echo(fd);
}

void client_exec(void) {
    char self[4096];
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        CHECK(readlink("/proc/self/exe", self, sizeof(self)) > 0);
        execl("/proc/self/exe", self, "ioctl", NULL);
        _exit(1);
    }
    wait_for(child);
}

static void* hammer(void* arg) {
    int fd = *(int*)arg;

    for (int i = 0; i < 300; i++) {
        int mine = open_card();
        int other = open("/dev/null", O_RDWR);

        echo(fd);
        echo(mine);
        CHECK(write(other, "x", 1) == 1);
        close(mine);
        CHECK(write(other, "x", 1) == 1);
        close(other);
    }
    return NULL;
}

void client_threads(void) {
    pthread_t threads[4];
    int fd = open_card();

    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, hammer, &fd) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}
