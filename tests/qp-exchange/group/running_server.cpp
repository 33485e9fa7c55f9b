// SPDX-License-Identifier: BSD-2-Clause
#include "running_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/un.h>

#include <cstring>
#include <vector>

namespace qpx::service {
namespace {

std::string drain(int fd, size_t least) {
    std::string all;
    char buffer[4096];
    pollfd ready{fd, POLLIN, 0};
    while (all.size() < least && ::poll(&ready, 1, 10'000) == 1) {
        const ssize_t count = ::read(fd, buffer, sizeof buffer);
        if (count <= 0) {
            break;
        }
        all.append(buffer, static_cast<size_t>(count));
    }
    return all;
}

}  // namespace

std::string RunningServer::http(const std::string& request) const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, metrics_path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer = drain(fd, SIZE_MAX);
    ::close(fd);
    return answer;
}

RawClient::RawClient(uint16_t port, int receive_buffer)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer != 0) {
        setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

RawClient::~RawClient() {
    ::close(fd_);
}

void RawClient::send(std::string_view bytes) {
    // The other side may have closed already; read_all() detects that.
    while (!bytes.empty()) {
        const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) {
            return;
        }
        bytes.remove_prefix(static_cast<size_t>(count));
    }
}

std::string RawClient::read_all() {
    return drain(fd_, SIZE_MAX);
}

std::string RawClient::read(size_t bytes) {
    return drain(fd_, bytes);
}

void for_each_rank(uint32_t size, const std::function<void(uint32_t)>& body) {
    std::vector<std::thread> threads;
    threads.reserve(size);
    for (uint32_t rank = 0; rank < size; ++rank) {
        threads.emplace_back([rank, &body] {
            try {
                body(rank);
            } catch (const std::exception& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
}

}  // namespace qpx::service
