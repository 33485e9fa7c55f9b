// SPDX-License-Identifier: BSD-2-Clause
#include "service/http.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "qpx/url.h"

namespace qpx::service {
namespace {

constexpr size_t largest_request = 8192;

net::Fd listen_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        throw Error(ErrorCode::Argument, "a unix socket's path has 1 to " +
                                             std::to_string(sizeof address.sun_path - 1) +
                                             " bytes: '" + path + "'");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    net::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // Remove a socket file left by a killed process: no process listens there.
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
        const net::Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (connect(probe.get(), generic, sizeof address) == 0) {
            throw Error(ErrorCode::Refused, "another program serves at " + path);
        }
        unlink(path.c_str());
    }
    if (fd.get() < 0 || bind(fd.get(), generic, sizeof address) != 0 || listen(fd.get(), 16) != 0) {
        throw Error(ErrorCode::Refused,
                    "cannot listen at unix:" + path + ": " + std::strerror(errno));
    }
    return fd;
}

std::string response(const char* status, const char* type, const std::string& body) {
    return std::string("HTTP/1.0 ") + status + "\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
           body;
}

}  // namespace

net::Fd listen_http(const std::string& where) {
    if (where.rfind("unix:", 0) == 0) {
        return listen_unix(where.substr(5));
    }
    const Url url = parse_host_port(where, 0);
    if (url.port == 0) {
        throw Error(ErrorCode::Argument, "metrics at '" + where + "': a port is missing");
    }
    return net::listen_tcp(url.host, url.port, 0, 16);
}

bool HttpLink::step() {
    if (!answer_.empty()) {
        return write();
    }
    char buffer[2048];
    while (true) {
        const ssize_t count = recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return true;
        }
        if (count <= 0) {
            return false;
        }
        request_.append(buffer, static_cast<size_t>(count));
        if (request_.find("\r\n\r\n") != std::string::npos ||
            request_.find("\n\n") != std::string::npos) {
            answer_ = respond();
            return write();
        }
        if (request_.size() > largest_request) {
            ++registry_.counters().http_refused;
            return false;
        }
    }
}

std::string HttpLink::respond() {
    const std::string line = request_.substr(0, request_.find_first_of("\r\n"));
    const size_t first = line.find(' ');
    const size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
    if (second == std::string::npos || line.substr(0, first) != "GET" ||
        line.compare(second + 1, 5, "HTTP/") != 0) {
        ++registry_.counters().http_refused;
        return response("400 Bad Request", "text/plain", "GET /metrics or GET /status\n");
    }
    ++registry_.counters().http_requests;
    const std::string path = line.substr(first + 1, second - first - 1);
    if (path == "/metrics") {
        return response("200 OK", "text/plain; version=0.0.4; charset=utf-8",
                        metrics_text(registry_));
    }
    if (path == "/status") {
        return response("200 OK", "application/json", registry_.status_json());
    }
    return response("404 Not Found", "text/plain", "there are /metrics and /status\n");
}

bool HttpLink::write() {
    while (sent_ < answer_.size()) {
        const ssize_t count = send(fd_.get(), answer_.data() + sent_, answer_.size() - sent_,
                                   MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) {
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
        sent_ += static_cast<size_t>(count);
    }
    shutdown(fd_.get(), SHUT_WR);
    return false;
}

std::string metrics_text(Registry& registry) {
    std::string text;
    const auto add = [&text](const std::string& name, const char* type, const char* help,
                             uint64_t value) {
        text += "# HELP qpxd_" + name + " " + help + "\n# TYPE qpxd_" + name + " " + type +
                "\nqpxd_" + name + " " + std::to_string(value) + "\n";
    };
    add("clients", "gauge", "Connections after their handshake", registry.clients());
    add("members", "gauge", "Members of all jobs", registry.members());
    add("jobs", "gauge", "Jobs", registry.jobs());
    add("job_bytes", "gauge", "Values, endpoints on their way and ranks of all jobs",
        registry.bytes());
    long pages = 0;
    if (std::ifstream statm("/proc/self/statm"); statm >> pages >> pages) {
        add("resident_bytes", "gauge", "Memory of the process",
            static_cast<uint64_t>(pages) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    add("cpu_microseconds_total", "counter", "Processor time of the process",
        static_cast<uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
            static_cast<uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
    const Counters& counters = registry.counters();
#define QPXD_METRIC(name, help) add(#name "_total", "counter", help, counters.name);
    QPXD_COUNTERS(QPXD_METRIC)
#undef QPXD_METRIC
    return text;
}

}  // namespace qpx::service
