// SPDX-License-Identifier: BSD-2-Clause
#include "backend/redis/client.h"

#include <algorithm>
#include <cerrno>

#include "qpx/error.h"

namespace qpx::backend {
namespace {

constexpr int default_port = 6379;
constexpr std::chrono::milliseconds longest{std::chrono::hours(24)};

timeval as_timeval(std::chrono::milliseconds time) {
    time = std::clamp(time, std::chrono::milliseconds(1), longest);
    timeval value{};
    value.tv_sec = time.count() / 1000;
    value.tv_usec = time.count() % 1000 * 1000;
    return value;
}

}  // namespace

RedisClient::RedisClient(const Url& url, net::Deadline deadline) : who_(to_string(url)) {
    const int ms = deadline.poll_ms();
    const std::chrono::milliseconds left = ms < 0 ? longest : std::chrono::milliseconds(ms);
    context_.reset(redisConnectWithTimeout(
        url.host.c_str(), url.port == 0 ? default_port : url.port, as_timeval(left)));
    if (!context_) {
        throw Error(ErrorCode::Limit, "no memory for a Redis connection");
    }
    if (context_->err != 0) {
        const bool timeout = context_->err == REDIS_ERR_IO && errno == EINPROGRESS;
        throw Error(timeout ? ErrorCode::Timeout : ErrorCode::Refused,
                    "cannot connect to " + who_ + ": " + context_->errstr +
                        "; is the Redis server started, and is it this host and port?");
    }
    redisEnableKeepAlive(context_.get());
    try {
        if (!url.user.empty() && !url.password.empty()) {
            command({"AUTH", url.user, url.password}, left);
        } else if (!url.password.empty()) {
            command({"AUTH", url.password}, left);
        }
        command({"PING"}, left);
    } catch (const Error& error) {
        const std::string text = error.what();
        const bool auth = text.find("NOAUTH") != std::string::npos ||
                          text.find("WRONGPASS") != std::string::npos ||
                          text.find("AUTH") != std::string::npos;
        throw Error(auth ? ErrorCode::Auth : error.code(),
                    text + (auth ? " (redis://user:password@host)" : ""));
    }
}

void RedisClient::set_timeout(std::chrono::milliseconds timeout) {
    redisSetTimeout(context_.get(), as_timeval(timeout));
}

void RedisClient::append(const std::vector<std::string_view>& words) {
    std::vector<const char*> text;
    std::vector<size_t> length;
    for (std::string_view word : words) {
        text.push_back(word.data());
        length.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), text.data(),
                           length.data());
}

void RedisClient::broken(const std::string& command) {
    if (context_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        throw Error(ErrorCode::Timeout, who_ + ": the Redis server does not answer " + command);
    }
    throw Error(ErrorCode::PeerGone, who_ + ": " + command + ": " + context_->errstr);
}

Reply RedisClient::reply(const std::string& command) {
    void* raw = nullptr;
    if (redisGetReply(context_.get(), &raw) != REDIS_OK) {
        broken(command);
    }
    Reply reply(static_cast<redisReply*>(raw));
    if (reply->type == REDIS_REPLY_ERROR) {
        throw Error(ErrorCode::Refused,
                    who_ + ": " + command + ": " + std::string(reply->str, reply->len));
    }
    return reply;
}

Reply RedisClient::command(const std::vector<std::string_view>& words,
                           std::chrono::milliseconds timeout) {
    if (context_->err != 0) {
        broken(std::string(words.front()));
    }
    set_timeout(timeout);
    append(words);
    return reply(std::string(words.front()));
}

void RedisClient::commands(const std::vector<std::vector<std::string_view>>& all,
                           std::chrono::milliseconds timeout) {
    if (context_->err != 0) {
        broken("commands");
    }
    set_timeout(timeout);
    for (const auto& words : all) {
        append(words);
    }
    std::string first_error;
    for (const auto& words : all) {
        try {
            reply(std::string(words.front()));
        } catch (const Error& error) {
            // The other answers must be read all the same.
            if (error.code() != ErrorCode::Refused) {
                throw;
            }
            if (first_error.empty()) {
                first_error = error.what();
            }
        }
    }
    if (!first_error.empty()) {
        throw Error(ErrorCode::Refused, first_error);
    }
}

}  // namespace qpx::backend
