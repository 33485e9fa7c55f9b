// SPDX-License-Identifier: BSD-2-Clause
//
// A whole kernel-less card with the model as its engine: its loop runs in a thread of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "card_loop.h"
#include "client.h"
#include "dingo-abi.h"
#include "dingo/model.h"
#include "unix_socket.h"
#include "uverbs/attachment.h"

namespace dingo::card::uverbs::test {

inline std::string fresh_directory() {
    static std::atomic<int> number{0};
    const auto dir =
        std::filesystem::temp_directory_path() /
        ("dingo-uverbs-test." + std::to_string(::getpid()) + "." + std::to_string(++number));
    std::filesystem::create_directories(dir);
    return dir.string();
}

class RunningCard {
  public:
    explicit RunningCard(unsigned max_clients = 1024)
        : directory(fresh_directory()), driver_(driver_config()) {
        model::register_model_engine();
        auto ends = make_loop_pair();
        wire_ = wrap_wire(std::move(ends.first), {});
        peer_ = std::move(ends.second);
        EngineConfig config;
        config.memory_doorbells = true;
        card_.emplace("model", config, driver_, *wire_);
        driver_.start(*card_);
        attachment_.emplace(
            Attachment::Options{
                .directory = directory, .share = false, .number = 3, .max_clients = max_clients},
            driver_);
        attachment_->set_sysfs([](const std::string& path) {
            return path == "class/known" ? std::optional<std::string>("42\n") : std::nullopt;
        });
        stop_.reset(::eventfd(0, EFD_CLOEXEC));
        CardLoop::Options options;
        options.control = directory + "/control";
        loop_.emplace(options, *card_, *attachment_, *wire_, stop_.get());
        thread_ = std::thread([this] { loop_->run(); });
    }
    ~RunningCard() {
        stop();
        loop_.reset();
        attachment_.reset();
        std::filesystem::remove_all(directory);
    }
    /// As SIGTERM does.
    void stop() {
        if (thread_.joinable()) {
            const std::uint64_t one = 1;
            EXPECT_EQ(::write(stop_.get(), &one, sizeof one), 8);
            thread_.join();
        }
    }

    nlohmann::json control(const std::string& line) const {
        const UniqueFd fd = connect_unix(directory + "/control");
        const std::string text = line + "\n";
        EXPECT_EQ(::send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        std::string reply;
        char c = 0;
        while (::recv(fd.get(), &c, 1, 0) == 1 && c != '\n') {
            reply += c;
        }
        return nlohmann::json::parse(reply, nullptr, false);
    }
    nlohmann::json stats() const { return control(R"({"cmd":"stats"})"); }
    /// Number of objects of all clients.
    int objects(const char* type) const {
        int n = 0;
        const auto all = stats();
        for (const auto& client : all["clients"]) {
            n += client["objects"].value(type, 0);
        }
        return n;
    }
    /// Waits until this many clients are there; false: they are not.
    bool wait_for_clients(std::size_t n) const {
        for (int i = 0; i < 3000; ++i) {
            if (stats()["clients"].size() == n) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return false;
    }

    const std::string directory;

  private:
    static DriverConfig driver_config() {
        DriverConfig config;
        config.addresses = {"10.77.0.1/24"};
        return config;
    }

    Driver driver_;
    std::unique_ptr<Wire> wire_;
    std::unique_ptr<Wire> peer_;
    std::optional<Card> card_;
    std::optional<Attachment> attachment_;
    UniqueFd stop_;
    std::optional<CardLoop> loop_;
    std::thread thread_;
};

/// Verbs through a client, as libibverbs and the provider ask for them.
class Verbs {
  public:
    explicit Verbs(Client& c) : client(c) {}

    int get_context() {
        Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
        dingo_alloc_ucontext_req request{};
        request.kick_modes = 1U << DINGO_KICK_NONE | 1U << DINGO_KICK_FD;
        io.in(UVERBS_ATTR_UHW_IN, request).out(UVERBS_ATTR_UHW_OUT, context);
        io.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors);
        return client.ioctl(io);
    }
    /// A descriptor, or -errno.
    int async_fd() {
        Ioctl io(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
        io.object(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
        const int r = client.ioctl(io);
        return r != 0 ? r
                      : static_cast<int>(io.attr(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE).data_s64);
    }
    int channel() {
        ib_uverbs_create_comp_channel_resp resp{};
        const int r = client.command(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
                                     ib_uverbs_create_comp_channel{}, resp);
        return r < 0 ? r : static_cast<int>(resp.fd);
    }
    // These return 0 or -errno, and the handle in `handle`.
    int alloc_pd() {
        struct {
            std::uint32_t handle;
            dingo_alloc_pd_resp driver;
        } resp{};
        const int r =
            client.command(IB_USER_VERBS_CMD_ALLOC_PD, zeroed<ib_uverbs_alloc_pd>(), resp);
        handle = resp.handle;
        return std::min(r, 0);
    }
    int create_cq(int channel_fd = -1, std::uint64_t user = 1, std::uint32_t cqe = 64,
                  int async = -1) {
        std::uint32_t entries = 0;
        dingo_create_cq_resp driver{};
        Ioctl io(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
        io.object(UVERBS_ATTR_CREATE_CQ_HANDLE)
            .in(UVERBS_ATTR_CREATE_CQ_CQE, cqe)
            .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, user)
            .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
            .out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries)
            .in(UVERBS_ATTR_UHW_IN, dingo_create_cq_req{})
            .out(UVERBS_ATTR_UHW_OUT, driver);
        if (channel_fd >= 0) {
            io.object(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel_fd);
        }
        if (async >= 0) {
            io.object(UVERBS_ATTR_CREATE_CQ_EVENT_FD, async);
        }
        const int r = client.ioctl(io);
        handle = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_CREATE_CQ_HANDLE).data);
        return r;
    }
    int create_srq(std::uint32_t pd) {
        std::uint32_t max_wr = 0;
        std::uint32_t max_sge = 0;
        dingo_create_srq_req request{};
        request.log_size = 6;
        request.log_stride = 6;
        dingo_create_srq_resp driver{};
        Ioctl io(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
        io.object(UVERBS_ATTR_CREATE_SRQ_HANDLE)
            .object(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd)
            .constant(UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC)
            .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{7})
            .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, std::uint32_t{64})
            .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
            .in(UVERBS_ATTR_CREATE_SRQ_LIMIT, std::uint32_t{0})
            .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, max_wr)
            .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, max_sge)
            .in(UVERBS_ATTR_UHW_IN, request)
            .out(UVERBS_ATTR_UHW_OUT, driver);
        const int r = client.ioctl(io);
        handle = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_CREATE_SRQ_HANDLE).data);
        return r;
    }
    int create_qp(std::uint32_t pd, std::uint32_t cq, int srq = -1, std::uint64_t type = 2) {
        ib_uverbs_qp_cap cap{64, srq >= 0 ? 0U : 64U, 1, srq >= 0 ? 0U : 1U, 0};
        ib_uverbs_qp_cap got{};
        dingo_create_qp_req request{};
        request.log_sq = 6;
        request.log_rq = srq >= 0 ? 0 : 6;
        request.log_rq_stride = srq >= 0 ? 0 : 6;
        dingo_create_qp_resp driver{};
        Ioctl io(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
        io.object(UVERBS_ATTR_CREATE_QP_HANDLE)
            .object(UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd)
            .object(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq)
            .object(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq)
            .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, std::uint64_t{9})
            .in(UVERBS_ATTR_CREATE_QP_CAP, cap)
            .constant(UVERBS_ATTR_CREATE_QP_TYPE, type)
            .out(UVERBS_ATTR_CREATE_QP_RESP_CAP, got)
            .out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn)
            .in(UVERBS_ATTR_UHW_IN, request)
            .out(UVERBS_ATTR_UHW_OUT, driver);
        if (srq >= 0) {
            io.object(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq);
        }
        const int r = client.ioctl(io);
        handle = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_CREATE_QP_HANDLE).data);
        return r;
    }
    int reg_mr(std::uint32_t pd, void* at, std::size_t length, std::uint32_t access = 1) {
        auto cmd = zeroed<ib_uverbs_reg_mr>();
        cmd.start = cmd.hca_va = reinterpret_cast<std::uintptr_t>(at);
        cmd.length = length;
        cmd.pd_handle = pd;
        cmd.access_flags = access;
        std::array<std::uint32_t, 3> resp{};
        const int r = client.command(IB_USER_VERBS_CMD_REG_MR, cmd, resp);
        handle = resp[0];
        key = resp[1];
        return std::min(r, 0);
    }
    /// By ioctl; `attribute` is 0 for all of them.
    int destroy(std::uint16_t object, std::uint16_t method, std::uint32_t number) {
        std::array<std::uint32_t, 2> resp{};
        std::uint32_t small = 0;
        Ioctl io(object, method);
        io.object(0, number);
        if (object == UVERBS_OBJECT_CQ) {
            io.out(1, resp);
        } else if (object == UVERBS_OBJECT_QP || object == UVERBS_OBJECT_SRQ) {
            io.out(1, small);
        }
        const int r = client.ioctl(io);
        reported = object == UVERBS_OBJECT_CQ ? resp : std::array<std::uint32_t, 2>{0, small};
        return r;
    }
    int destroy_pd(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, n);
    }
    int destroy_cq(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, n);
    }
    int destroy_qp(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, n);
    }
    int destroy_srq(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, n);
    }
    int destroy_mr(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, n);
    }

    template <typename T>
    static T zeroed() {
        T value;
        std::memset(&value, 0, sizeof value);
        return value;
    }

    Client& client;
    dingo_alloc_ucontext_resp context{};
    std::uint32_t vectors = 0;
    std::uint32_t handle = 0;
    std::uint32_t qpn = 0;
    std::uint32_t key = 0;
    std::array<std::uint32_t, 2> reported{};  ///< of the last destroy: completion, async events
};

/// Once the control connections that are being closed are gone: the least of many looks.
inline std::size_t open_descriptors() {
    std::size_t least = SIZE_MAX;
    for (int i = 0; i < 20; ++i) {
        std::size_t n = 0;
        for ([[maybe_unused]] const auto& entry :
             std::filesystem::directory_iterator("/proc/self/fd")) {
            ++n;
        }
        least = std::min(least, n);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return least;
}

}  // namespace dingo::card::uverbs::test
