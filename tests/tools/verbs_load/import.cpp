// SPDX-License-Identifier: BSD-2-Clause
//
// Tests ibv_import_device(3), ibv_import_pd(3) and ibv_import_mr(3). The importer is forked before
// the device is opened, so it has only the descriptor, received by SCM_RIGHTS, and two handles.
#include "modes.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "self_link.h"

namespace verbs_load {
namespace {

constexpr std::size_t kBytes = 1 << 16;
constexpr std::uint32_t kNobody = 0x7fffff;

struct Handles {
    std::uint32_t pd;
    std::uint32_t mr;
    std::uint32_t lkey;
};

void need(bool good, const char* what) {
    if (!good)
        throw std::runtime_error(std::string(what) + " (errno " + std::to_string(errno) + ")");
}

void send_device(int to, int fd, Handles handles) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
    iovec iov{&handles, sizeof handles};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.data();
    msg.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
    need(::sendmsg(to, &msg, 0) == sizeof handles, "sendmsg");
}

int receive_device(int from, Handles& handles) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec iov{&handles, sizeof handles};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.data();
    msg.msg_controllen = control.size();
    need(::recvmsg(from, &msg, 0) == sizeof handles, "recvmsg");
    int fd = -1;
    const cmsghdr* c = CMSG_FIRSTHDR(&msg);
    need(c != nullptr, "a descriptor came");
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

void refusals(ibv_context* context, ibv_pd* pd, const Handles& handles) {
    errno = 0;
    need(ibv_import_pd(context, kNobody) == nullptr && errno == ENOENT, "a PD that nobody has");
    errno = 0;
    need(ibv_import_mr(pd, kNobody) == nullptr && errno == ENOENT, "an MR that nobody has");
    errno = 0;
    need(ibv_import_pd(context, handles.mr) == nullptr && errno != 0, "an MR is no PD");
}

void importer(int from, std::uint8_t* buffer) {
    std::array<int, 2> pipe{};
    need(::pipe(pipe.data()) == 0, "pipe");
    errno = 0;
    need(ibv_import_device(pipe[0]) == nullptr && errno == EINVAL, "a pipe is no device");
    Handles handles{};
    const int fd = receive_device(from, handles);
    ibv_context* const context = ibv_import_device(fd);
    need(context != nullptr, "ibv_import_device");
    ibv_pd* const pd = ibv_import_pd(context, handles.pd);
    need(pd != nullptr, "ibv_import_pd");
    refusals(context, pd, handles);
    ibv_mr* const mr = ibv_import_mr(pd, handles.mr);
    need(mr != nullptr, "ibv_import_mr");
    need(mr->lkey == handles.lkey && mr->length == kBytes && mr->addr == nullptr,
         "key and length of the region");
    {
        SelfLink link({context, pd, mr, buffer}, 2, kBytes);
        for (unsigned i = 0; i < 50; ++i)
            link.check(i % 2, static_cast<std::uint8_t>(i));
    }
    ibv_unimport_mr(mr);
    ibv_unimport_pd(pd);
    need(ibv_close_device(context) == 0, "ibv_close_device");
}

void owner(int to, std::uint8_t* buffer, pid_t child) {
    SelfLink link("", 1, 8192);
    ibv_mr* const mr =
        ibv_reg_mr(link.pd(), buffer, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    need(mr != nullptr, "ibv_reg_mr");
    send_device(to, link.context()->cmd_fd, {link.pd()->handle, mr->handle, mr->lkey});
    int status = 0;
    ::waitpid(child, &status, 0);
    need(status == 0, "the importer is content");
    // The importer has closed only its own copies.
    link.check(0, 9);
    SelfLink({link.context(), link.pd(), mr, buffer}, 1, kBytes).check(0, 3);
    need(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
}

}  // namespace

void import_test() {
    std::array<int, 2> pair{};
    need(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair.data()) == 0, "socketpair");
    void* const memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            importer(pair[1], static_cast<std::uint8_t*>(memory));
        } catch (const std::exception& e) {
            std::fprintf(stderr, "importer: %s\n", e.what());
            ::_exit(1);
        }
        ::_exit(0);
    }
    ::close(pair[1]);
    owner(pair[0], static_cast<std::uint8_t*>(memory), child);
    ::munmap(memory, kBytes);
}

}  // namespace verbs_load
