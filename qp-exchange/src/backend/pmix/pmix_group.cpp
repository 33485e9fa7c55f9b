// SPDX-License-Identifier: BSD-2-Clause
#include "backend/pmix/pmix_group.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "backend/pmix/session.h"

namespace qpx::backend {
namespace {

class PmixGroup final : public Group {
  public:
    PmixGroup(const Url& url, const GroupOptions& options)
        : url_(url),
          timeout_(options.timeout),
          shrink_(options.shrink),
          session_(PmixSession::get()) {
        if ((options.rank && *options.rank != session_->rank()) ||
            (options.size != 0 && options.size != session_->size())) {
            throw Error(ErrorCode::Argument, "pmix: the launcher says rank " +
                                                 std::to_string(session_->rank()) + " of " +
                                                 std::to_string(session_->size()) +
                                                 "; leave rank and size out");
        }
        prefix_ = "qpx." + (!url.path.empty() ? url.path : options.job) + ".";
    }

    using Group::all_gather;
    using Group::put;

    uint32_t rank() const override { return session_->rank(); }
    uint32_t size() const override { return session_->size(); }
    std::string url() const override { return to_string(url_); }
    Milliseconds timeout() const override { return timeout_; }

    void put(std::string_view key, std::span<const std::byte> value) override {
        // Servers differ in how they treat a second value of a key: remove the first.
        const std::string name = key_of(key);
        session_->unpublish(name);
        if (!session_->publish(name, value)) {
            throw Error(ErrorCode::Refused, "put: another member has put '" + std::string(key) +
                                                "', and PMIx lets only that one change it");
        }
    }
    bool put_once(std::string_view, std::span<const std::byte>) override {
        throw Error(ErrorCode::Unsupported,
                    "put_once: PMIx servers do not report a second value under the same key; use a "
                    "qpxd:// or tcp:// URL");
    }
    std::optional<std::vector<std::byte>> try_get(std::string_view key) override {
        return session_->lookup(key_of(key));
    }
    std::vector<std::byte> get(std::string_view key, Milliseconds timeout) override {
        std::optional<std::vector<std::byte>> value;
        poll(timeout, "get: nobody has put '" + std::string(key) + "'", [&] {
            value = try_get(key);
            return value.has_value();
        });
        return std::move(*value);
    }
    void wait(std::span<const std::string> keys, Milliseconds timeout) override {
        std::vector<std::string> missing(keys.begin(), keys.end());
        poll(timeout, "wait: not all keys have been put", [&] {
            std::erase_if(missing, [this](const std::string& key) { return try_get(key); });
            return missing.empty();
        });
    }
    int64_t add(std::string_view, int64_t) override {
        throw Error(ErrorCode::Unsupported,
                    "add: PMIx has no counters; use a qpxd:// or tcp:// URL");
    }
    bool erase(std::string_view key) override { return session_->unpublish(key_of(key)); }

    void barrier(Milliseconds timeout) override {
        need_all("barrier");
        session_->fence(false, time(timeout), "barrier", prefix_ + "b");
        need_all("barrier");
    }
    std::vector<RankBytes> all_gather(std::span<const std::byte> mine,
                                      Milliseconds timeout) override {
        const std::string key = prefix_ + "g" + std::to_string(gathers_);
        const std::string call = key + ":" + std::string(text(mine));
        need_all("all_gather");
        if (!session_->goes_on(call)) {
            session_->put(key, mine);
        }
        session_->fence(true, time(timeout), "all_gather", call);
        ++gathers_;
        need_all("all_gather");
        std::vector<RankBytes> all;
        for (uint32_t rank = 0; rank < size(); ++rank) {
            if (auto value = session_->value_of(rank, key)) {
                all.push_back({rank, std::move(*value)});
            } else if (session_->who_is_gone().empty()) {
                throw Error(ErrorCode::Protocol,
                            "all_gather: rank " + std::to_string(rank) +
                                " is in another call: all ranks must make the same calls in the "
                                "same order (or the launcher's PMIx fence does not work)");
            }
        }
        return all;
    }
    // All processes of the job must call it, whatever their peers: PMIx distributes values by a
    // fence.
    Exchanged exchange_bytes(std::span<const RankBytes> mine, Milliseconds timeout) override {
        const std::string prefix = prefix_ + "x" + std::to_string(exchanges_) + ".";
        std::string call = prefix;
        std::map<uint32_t, bool> named;
        for (const RankBytes& item : mine) {
            if (item.rank >= size() || !named.emplace(item.rank, true).second) {
                throw Error(ErrorCode::Argument,
                            "exchange: rank " + std::to_string(item.rank) +
                                (item.rank >= size() ? " is none of the job's"
                                                     : " is named twice in one exchange"));
            }
            call += std::to_string(item.rank) + ":" + std::string(text(item.bytes)) + ";";
        }
        if (!session_->goes_on(call)) {
            for (const RankBytes& item : mine) {
                session_->put(prefix + std::to_string(item.rank), item.bytes);
            }
        }
        session_->fence(true, time(timeout), "exchange", call);
        ++exchanges_;
        Exchanged result;
        for (const auto& [peer, _] : named) {
            if (auto value = session_->value_of(peer, prefix + std::to_string(rank()))) {
                result.items.push_back({peer, std::move(*value)});
            } else {
                result.gone.push_back(peer);
            }
        }
        return result;
    }

    std::vector<GroupMember> members() override {
        take_failures();
        std::vector<GroupMember> all;
        for (uint32_t rank = 0; rank < size(); ++rank) {
            all.push_back({.rank = rank,
                           .incarnation = 1,
                           .state = failed_.contains(rank) ? GroupMember::State::Failed
                                                           : GroupMember::State::Here});
        }
        return all;
    }
    std::optional<GroupEvent> poll_event() override {
        take_failures();
        if (events_.empty()) {
            return std::nullopt;
        }
        GroupEvent event = std::move(events_.front());
        events_.pop_front();
        return event;
    }
    int fd() const override { return session_->fd(); }
    void leave() override {}

    bool secure() const override { return false; }
    std::string security_text() const override { return "as the launcher protects PMIx"; }

  private:
    Milliseconds time(Milliseconds timeout) const {
        return timeout == default_timeout ? timeout_ : timeout;
    }
    std::string key_of(std::string_view key) const { return prefix_ + "k." + std::string(key); }
    static std::string_view text(std::span<const std::byte> bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    // Throws if a rank is gone and the group does not shrink: barriers and gatherings need all
    // ranks.
    void need_all(const std::string& what) const {
        if (const std::string gone = session_->who_is_gone(); !gone.empty() && !shrink_) {
            throw Error(ErrorCode::PeerGone, what + ": " + gone);
        }
    }

    template <typename Done>
    void poll(Milliseconds timeout, const std::string& what, Done done) {
        const net::Deadline deadline = net::Deadline::in(time(timeout));
        Milliseconds pause{1};
        while (!done()) {
            if (deadline.passed()) {
                throw Error(ErrorCode::Timeout, what);
            }
            std::this_thread::sleep_for(pause);
            pause = std::min(pause * 2, Milliseconds(100));
        }
    }

    void take_failures() {
        for (auto& failure : session_->failures(failed_.size())) {
            failed_.insert(failure.rank);
            events_.push_back({.kind = GroupEvent::Kind::Failed,
                               .rank = failure.rank,
                               .reason = std::move(failure.reason)});
        }
    }

    Url url_;
    Milliseconds timeout_;
    bool shrink_;
    std::shared_ptr<PmixSession> session_;
    std::string prefix_;
    uint64_t gathers_ = 0, exchanges_ = 0;
    std::set<uint32_t> failed_;
    std::deque<GroupEvent> events_;
};

}  // namespace

std::unique_ptr<Group> join_pmix(const Url& url, const GroupOptions& options) {
    if (options.security.on()) {
        throw Error(ErrorCode::Unsupported,
                    "pmix: is as safe as the launcher makes it, qp-exchange cannot encrypt it; use "
                    "qpxd:// or tcp:// when security is on");
    }
    return std::make_unique<PmixGroup>(url, options);
}

}  // namespace qpx::backend
