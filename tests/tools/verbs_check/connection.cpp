// SPDX-License-Identifier: BSD-2-Clause
#include "connection.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <stdexcept>

namespace verbs_check {
namespace {

constexpr auto kCompletionTimeout = std::chrono::seconds(120);

[[noreturn]] void fail(const std::string& step, int error = errno) {
    throw std::runtime_error(step + ": " + std::strerror(error));
}

addrinfo* resolve(const char* host, std::uint16_t port, int flags) {
    addrinfo hints{};
    hints.ai_family = host == nullptr ? AF_INET6 : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
    if (error != 0) {
        throw std::runtime_error(std::string(host != nullptr ? host : "any") + ": " +
                                 gai_strerror(error));
    }
    return found;
}

bool is_ipv4_mapped(const ibv_gid& gid) {
    static constexpr std::uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::memcmp(gid.raw, kPrefix, sizeof(kPrefix)) == 0;
}

bool is_link_local(const ibv_gid& gid) {
    return gid.raw[0] == 0xfe && gid.raw[1] == 0x80;
}

}  // namespace

Channel Channel::listen(std::uint16_t port) {
    addrinfo* address = resolve(nullptr, port, AI_PASSIVE);
    const int listener = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, address->ai_addr, address->ai_addrlen) != 0 || ::listen(listener, 1) != 0) {
        fail("listening on port " + std::to_string(port));
    }
    freeaddrinfo(address);
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
        fail("accept");
    }
    close(listener);
    return Channel(fd);
}

Channel Channel::connect(const std::string& host, std::uint16_t port) {
    addrinfo* address = resolve(host.c_str(), port, 0);
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        fail("connecting to " + host + " port " + std::to_string(port));
    }
    freeaddrinfo(address);
    return Channel(fd);
}

Channel::~Channel() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

void Channel::send_bytes(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t sent = ::send(fd_, at, bytes, MSG_NOSIGNAL);
        if (sent <= 0) {
            fail("sending to the peer");
        }
        at += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
}

void Channel::receive_bytes(void* data, std::size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = recv(fd_, at, bytes, 0);
        if (got == 0) {
            throw std::runtime_error("the peer closed the connection");
        }
        if (got < 0) {
            fail("receiving from the peer");
        }
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
}

Device::Device(const DeviceOptions& options) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ibv_device* chosen = nullptr;
    for (int i = 0; i < count && chosen == nullptr; ++i) {
        if (options.device.empty() || options.device == ibv_get_device_name(list[i])) {
            chosen = list[i];
        }
    }
    if (chosen == nullptr) {
        throw std::runtime_error(options.device.empty() ? "no RDMA device"
                                                        : "no RDMA device " + options.device);
    }
    context_ = ibv_open_device(chosen);
    ibv_free_device_list(list);
    ibv_port_attr port{};
    if (context_ == nullptr || ibv_query_port(context_, 1, &port) != 0) {
        fail("opening the device");
    }
    mtu_ = port.active_mtu;
    for (int bytes = 256, value = IBV_MTU_256; bytes <= 4096; bytes *= 2, ++value) {
        if (bytes == options.mtu) {
            mtu_ = static_cast<ibv_mtu>(value);
        }
    }
    gid_index_ = options.gid_index;
    for (int i = 0; gid_index_ < 0 && i < port.gid_tbl_len; ++i) {
        ibv_gid_entry entry{};
        if (ibv_query_gid_ex(context_, 1, static_cast<std::uint32_t>(i), &entry, 0) == 0 &&
            entry.gid_type == IBV_GID_TYPE_ROCE_V2 && !is_link_local(entry.gid) &&
            is_ipv4_mapped(entry.gid) != options.ipv6) {
            gid_index_ = i;
        }
    }
    if (gid_index_ < 0 || ibv_query_gid(context_, 1, gid_index_, &gid_) != 0) {
        throw std::runtime_error("no RoCE v2 GID of the wanted family");
    }
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 64, nullptr, nullptr, 0);
    if (pd_ == nullptr || cq_ == nullptr) {
        fail("creating PD and CQ");
    }
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {16, 16, 4, 4, 0};
    qp_ = ibv_create_qp(pd_, &init);
    if (qp_ == nullptr) {
        fail("ibv_create_qp");
    }
    psn_ = std::random_device{}() & 0xffffff;
}

Device::~Device() {
    ibv_destroy_qp(qp_);
    ibv_destroy_cq(cq_);
    ibv_dealloc_pd(pd_);
    ibv_close_device(context_);
}

bool Device::has_atomics() const {
    ibv_device_attr attr{};
    if (ibv_query_device(context_, &attr) != 0) {
        throw std::runtime_error("ibv_query_device failed");
    }
    return attr.atomic_cap != IBV_ATOMIC_NONE;
}

Endpoint Device::endpoint() const {
    Endpoint local;
    local.atomics = has_atomics() ? 1 : 0;
    local.qpn = qp_->qp_num;
    local.psn = psn_;
    local.gid = gid_;
    local.mtu = mtu_;
    return local;
}

void Device::connect(const Endpoint& remote) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    int error = ibv_modify_qp(qp_, &attr,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error != 0) {
        fail("modify to INIT", error);
    }
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = static_cast<ibv_mtu>(std::min<std::uint32_t>(mtu_, remote.mtu));
    attr.dest_qp_num = remote.qpn;
    attr.rq_psn = remote.psn;
    attr.max_dest_rd_atomic = 4;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = remote.gid;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
    attr.ah_attr.grh.hop_limit = 64;
    error = ibv_modify_qp(qp_, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error != 0) {
        fail("modify to RTR", error);
    }
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = psn_;
    attr.timeout = 16;  // 268 ms: a simulated peer on a busy machine may take so long
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 4;
    error = ibv_modify_qp(qp_, &attr,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error != 0) {
        fail("modify to RTS", error);
    }
}

ibv_wc Device::wait() const {
    const auto deadline = std::chrono::steady_clock::now() + kCompletionTimeout;
    ibv_wc wc{};
    int polled = 0;
    while ((polled = ibv_poll_cq(cq_, 1, &wc)) == 0) {
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::runtime_error("no completion within 120 s");
        }
    }
    if (polled < 0) {
        throw std::runtime_error("ibv_poll_cq failed");
    }
    if (wc.status != IBV_WC_SUCCESS) {
        throw std::runtime_error(std::string("completion: ") + ibv_wc_status_str(wc.status) +
                                 " (vendor error " + std::to_string(wc.vendor_err) + ")");
    }
    return wc;
}

}  // namespace verbs_check
