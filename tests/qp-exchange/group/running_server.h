// SPDX-License-Identifier: BSD-2-Clause
// A qpxd inside the test process, on any free port of the loopback interface.
#pragma once
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "qpx/group.h"
#include "service/server.h"

namespace qpx::service {

class RunningServer {
  public:
    explicit RunningServer(ServerOptions options = {}) {
        options.address = "127.0.0.1";
        if (options.port == 18516) {
            options.port = 0;
        }
        metrics_path_ = "/tmp/qpxd-test-" + std::to_string(getpid()) + "-" +
                        std::to_string(reinterpret_cast<uintptr_t>(this)) + ".sock";
        options.metrics = "unix:" + metrics_path_;
        server_ = std::make_unique<Server>(std::move(options));
        thread_ = std::thread([this] { server_->run(); });
    }
    ~RunningServer() { stop(); }

    void stop() {
        if (thread_.joinable()) {
            server_->stop();
            thread_.join();
            server_.reset();
        }
    }
    uint16_t port() const { return server_->port(); }
    std::string url(const std::string& job = "job") const {
        return "qpxd://127.0.0.1:" + std::to_string(port()) + "/" + job;
    }

    /// Sends one HTTP request and returns the answer.
    std::string http(const std::string& request) const;
    /// Returns the value of one metric.
    uint64_t metric(const std::string& name) const {
        const std::string text = http("GET /metrics HTTP/1.0\r\n\r\n");
        const size_t at = text.find("\nqpxd_" + name + " ");
        return at == std::string::npos ? UINT64_MAX
                                       : std::stoull(text.substr(at + name.size() + 7));
    }
    /// Waits for at most ten seconds until a metric has that value.
    ::testing::AssertionResult reaches(const std::string& name, uint64_t value) const {
        uint64_t now = 0;
        for (int i = 0; i < 1000; ++i) {
            now = metric(name);
            if (now == value) {
                return ::testing::AssertionSuccess();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return ::testing::AssertionFailure() << name << " is " << now << ", not " << value;
    }

  private:
    std::string metrics_path_;
    std::unique_ptr<Server> server_;
    std::thread thread_;
};

/// A TCP client that sends arbitrary bytes.
class RawClient {
  public:
    /// @param receive_buffer size (SO_RCVBUF); 0: the kernel's
    explicit RawClient(uint16_t port, int receive_buffer = 0);
    ~RawClient();
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    void send(std::string_view bytes);
    /// Reads until the other side closes, for at most ten seconds.
    std::string read_all();
    /// Reads at least that many bytes.
    std::string read(size_t bytes);
    int fd() const { return fd_; }

  private:
    int fd_;
};

/// Runs `body` in one thread per rank; an exception fails the test.
void for_each_rank(uint32_t size, const std::function<void(uint32_t)>& body);

}  // namespace qpx::service
