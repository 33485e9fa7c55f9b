// SPDX-License-Identifier: BSD-2-Clause
// Keys of a job, all below qpx:{JOB}: -- members and conf (hashes), and below RUN: k:KEY values,
// x:RANK endpoints for a rank (list), g:N contributions to gathering N (hash), n:RANK completed
// gatherings (list). RUN is the first member's token.
#include "backend/redis/redis_group.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "backend/redis/client.h"
#include "backend/redis/scripts.h"
#include "group/messages.h"
#include "random.h"

namespace qpx::backend {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Milliseconds = Group::Milliseconds;

constexpr const char* keep_seconds = "604800";  // what a killed job leaves is gone in a week
constexpr Milliseconds slice = 500ms;           // of a wait, between looks at the members
constexpr uint32_t most_ranks = 65536;

struct Record {
    GroupMember::State state = GroupMember::State::Here;
    uint32_t incarnation = 0;
    std::string token, name;
};

uint32_t to_number(std::string_view text) {
    uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string_view view(const redisReply& reply) {
    return reply.str ? std::string_view(reply.str, reply.len) : std::string_view();
}

// "H|2|0123abcd|name"
Record parse(std::string_view text) {
    Record record;
    const size_t a = text.find('|'), b = text.find('|', a + 1), c = text.find('|', b + 1);
    if (a != 1 || c == std::string_view::npos) {
        throw Error(ErrorCode::Protocol, "another program uses this job's keys in Redis");
    }
    record.state = text[0] == 'H'   ? GroupMember::State::Here
                   : text[0] == 'L' ? GroupMember::State::Left
                                    : GroupMember::State::Failed;
    record.incarnation = to_number(text.substr(a + 1, b - a - 1));
    record.token = text.substr(b + 1, c - b - 1);
    record.name = text.substr(c + 1);
    return record;
}

class RedisGroup final : public Group {
  public:
    RedisGroup(const Url& url, const GroupOptions& options)
        : url_(url),
          timeout_(options.timeout),
          deadline_(net::Deadline::in(options.timeout)),
          redis_(url, deadline_) {
        const std::string job = !url.path.empty()      ? url.path
                                : !options.job.empty() ? options.job
                                                       : "default";
        job_prefix_ = "qpx:{" + job + "}:";
        members_key_ = job_prefix_ + "members";
        conf_key_ = job_prefix_ + "conf";
        token_ = random_token();
        run({"CLIENT", "SETNAME", "qpx:" + token_});
        // Members of a run that was killed are found dead; a job of the dead alone is no job.
        const Reply run_before = run({"HGET", conf_key_, "run"});
        look_at_members();
        if (here() == 0 && run_before->type == REDIS_REPLY_STRING) {
            purge(job_prefix_ + std::string(view(*run_before)) + ":");
        }
        enter(options);
        look_at_members();
        events_.clear();
    }

    ~RedisGroup() override {
        try {
            leave();
        } catch (const Error&) {
            // The others find out by this connection's end.
            left_ = true;
        }
    }

    using Group::all_gather;
    using Group::put;

    uint32_t rank() const override { return rank_; }
    uint32_t size() const override { return size_; }
    std::string url() const override { return to_string(url_); }
    Milliseconds timeout() const override { return timeout_; }

    void put(std::string_view key, std::span<const std::byte> value) override {
        run({"SET", value_key(key), std::string(text_of(value)), "EX", keep_seconds});
    }
    bool put_once(std::string_view key, std::span<const std::byte> value) override {
        return run({"SET", value_key(key), std::string(text_of(value)), "NX", "EX", keep_seconds})
                   ->type != REDIS_REPLY_NIL;
    }
    std::optional<std::vector<std::byte>> try_get(std::string_view key) override {
        const Reply reply = run({"GET", value_key(key)});
        if (reply->type == REDIS_REPLY_NIL) {
            return std::nullopt;
        }
        const auto bytes = bytes_of(*reply);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    std::vector<std::byte> get(std::string_view key, Milliseconds timeout) override {
        std::optional<std::vector<std::byte>> value;
        poll(timeout, "get: nobody has put '" + std::string(key) + "'",
             [&] { return (value = try_get(key)).has_value(); });
        return std::move(*value);
    }
    void wait(std::span<const std::string> keys, Milliseconds timeout) override {
        std::set<std::string> missing;
        for (const std::string& key : keys) {
            missing.insert(value_key(key));
        }
        poll(timeout, "wait: not all keys have been put", [&] {
            std::erase_if(missing, [this](const std::string& key) {
                return run({"EXISTS", key})->integer != 0;
            });
            return missing.empty();
        });
    }
    int64_t add(std::string_view key, int64_t delta) override {
        const std::string name = value_key(key);
        const int64_t sum = run({"INCRBY", name, std::to_string(delta)})->integer;
        run({"EXPIRE", name, keep_seconds});
        return sum;
    }
    bool erase(std::string_view key) override { return run({"DEL", value_key(key)})->integer != 0; }

    void barrier(Milliseconds timeout) override { gather({}, timeout, "barrier"); }
    std::vector<RankBytes> all_gather(std::span<const std::byte> mine,
                                      Milliseconds timeout) override {
        return gather(mine, timeout, "all_gather");
    }
    Exchanged exchange_bytes(std::span<const RankBytes> mine, Milliseconds timeout) override;

    std::vector<GroupMember> members() override {
        look_at_members();
        std::vector<GroupMember> all;
        for (const auto& [rank, record] : known_) {
            all.push_back({rank, record.incarnation, record.state, record.name, {}});
        }
        return all;
    }
    std::optional<GroupEvent> poll_event() override {
        if (events_.empty() && Clock::now() >= next_look_) {
            look_at_members();
        }
        if (events_.empty()) {
            return std::nullopt;
        }
        GroupEvent event = std::move(events_.front());
        events_.pop_front();
        return event;
    }
    int fd() const override { return -1; }

    void leave() override {
        if (std::exchange(left_, true)) {
            return;
        }
        if (eval(scripts::vacate, {std::to_string(rank_), token_, "L"})->element[1]->integer == 0) {
            purge(prefix_);
        }
    }
    bool secure() const override { return false; }
    std::string security_text() const override { return "not encrypted"; }

  private:
    static std::string random_token() {
        std::string text;
        for (int i = 0; i < 4; ++i) {
            char part[9];
            std::snprintf(part, sizeof part, "%08x", random_u32());
            text += part;
        }
        return text;
    }
    std::string value_key(std::string_view key) const { return prefix_ + "k:" + std::string(key); }
    Milliseconds time(Milliseconds timeout) const {
        return timeout == default_timeout ? timeout_ : timeout;
    }
    // The server itself answers in a moment; what the caller's timeout is for is other members.
    Milliseconds patience() const {
        return timeout_.count() < 0 ? 60s : std::max(timeout_, 1000ms);
    }

    Reply run(const std::vector<std::string>& words) {
        return redis_.command({words.begin(), words.end()}, patience());
    }
    Reply eval(const std::string& script, const std::vector<std::string>& arguments) {
        std::vector<std::string> words = {"EVAL",       script,    "2",
                                          members_key_, conf_key_, job_prefix_};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return run(words);
    }

    template <typename Done>
    void poll(Milliseconds timeout, const std::string& what, Done done) {
        const net::Deadline deadline = net::Deadline::in(time(timeout));
        Milliseconds pause = 1ms;
        while (!done()) {
            if (deadline.passed()) {
                throw Error(ErrorCode::Timeout, what);
            }
            std::this_thread::sleep_for(pause);
            pause = std::min(pause * 2, Milliseconds(100));
        }
    }

    void enter(const GroupOptions& options);
    void purge(const std::string& prefix);
    void look_at_members();
    std::set<std::string> live_tokens();
    size_t here() const {
        return static_cast<size_t>(std::count_if(known_.begin(), known_.end(), [](const auto& m) {
            return m.second.state == GroupMember::State::Here;
        }));
    }
    std::string failed_ranks() const {
        std::string list;
        for (const auto& [rank, record] : known_) {
            if (record.state == GroupMember::State::Failed) {
                list += (list.empty() ? "" : ", ") + std::to_string(rank);
            }
        }
        return list;
    }
    std::vector<RankBytes> gather(std::span<const std::byte> mine, Milliseconds timeout,
                                  const std::string& what);
    void take(std::string_view item);
    void receive(Milliseconds wait);

    Url url_;
    Milliseconds timeout_;
    net::Deadline deadline_;
    RedisClient redis_;
    std::string job_prefix_, prefix_, members_key_, conf_key_, token_;
    uint32_t rank_ = 0, size_ = 0, incarnation_ = 0;
    bool shrink_ = false;
    bool left_ = true;
    std::map<uint32_t, Record> known_;
    std::deque<GroupEvent> events_;
    Clock::time_point next_look_{};
    /// Endpoints that came and are not taken, with the sender's incarnation.
    std::map<uint32_t, std::deque<std::pair<uint32_t, std::vector<std::byte>>>> inbox_;
};

void RedisGroup::enter(const GroupOptions& options) {
    const Reply reply =
        eval(scripts::join,
             {options.rank ? std::to_string(*options.rank) : "-", std::to_string(options.size),
              options.name, token_, options.shrink ? "1" : "0", std::to_string(most_ranks)});
    const std::string_view verdict = view(*reply->element[0]);
    const std::string detail(view(*reply->element[1]));
    if (verdict == "size") {
        throw Error(ErrorCode::Argument, "join: the job " +
                                             (detail == "0" ? "is open, it was begun without a size"
                                                            : "has " + detail + " ranks") +
                                             "; this member says " + std::to_string(options.size));
    }
    if (verdict == "full") {
        throw Error(ErrorCode::Limit, "join: all " + detail + " ranks are taken");
    }
    if (verdict == "range") {
        throw Error(ErrorCode::Argument,
                    "join: rank " + std::to_string(*options.rank) + " is not below " + detail);
    }
    if (verdict == "taken") {
        throw Error(ErrorCode::Refused,
                    "join: rank " + detail +
                        " is taken by a living process; is the job running twice under one name?");
    }
    if (verdict == "name") {
        throw Error(ErrorCode::Refused,
                    "join: rank " + detail + " has the name '" + options.name + "' already");
    }
    rank_ = to_number(detail);
    incarnation_ = to_number(view(*reply->element[2]));
    size_ = to_number(view(*reply->element[3]));
    shrink_ = view(*reply->element[4]) == "1";
    prefix_ = job_prefix_ + std::string(view(*reply->element[5])) + ":";
    left_ = false;
}

// The values and lists of a run; its hashes have gone with its last member.
void RedisGroup::purge(const std::string& prefix) {
    std::string cursor = "0";
    std::string pattern;
    for (char c : prefix) {
        if (std::strchr("*?[]\\", c)) {
            pattern += '\\';
        }
        pattern += c;
    }
    do {
        const Reply reply = run({"SCAN", cursor, "MATCH", pattern + "*", "COUNT", "1000"});
        cursor = view(*reply->element[0]);
        std::vector<std::string> words = {"DEL"};
        for (size_t i = 0; i < reply->element[1]->elements; ++i) {
            words.emplace_back(view(*reply->element[1]->element[i]));
        }
        if (words.size() > 1) {
            run(words);
        }
    } while (cursor != "0");
    known_.clear();
}

// Every member names its connection; Redis knows which connections live.
std::set<std::string> RedisGroup::live_tokens() {
    const Reply reply = run({"CLIENT", "LIST"});
    std::set<std::string> tokens;
    const std::string_view list = view(*reply);
    constexpr std::string_view mark = " name=qpx:";
    for (size_t at = list.find(mark); at != std::string_view::npos; at = list.find(mark, at + 1)) {
        const size_t begin = at + mark.size();
        tokens.emplace(list.substr(begin, list.find(' ', begin) - begin));
    }
    return tokens;
}

// Reads the members, marks those whose connection has ended as failed, notes what changed.
void RedisGroup::look_at_members() {
    const Reply reply = run({"HGETALL", members_key_});
    std::map<uint32_t, Record> now;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        now.emplace(to_number(view(*reply->element[i])), parse(view(*reply->element[i + 1])));
    }
    const std::set<std::string> live = live_tokens();
    for (auto& [rank, record] : now) {
        if (record.state == GroupMember::State::Here && !live.contains(record.token)) {
            const Reply changed = eval(scripts::vacate, {std::to_string(rank), record.token, "F"});
            // It may have left, or another member found it first, since the list was read.
            const Reply current = run({"HGET", members_key_, std::to_string(rank)});
            if (changed->element[0]->integer == 0 && current->type == REDIS_REPLY_STRING) {
                record = parse(view(*current));
            } else {
                record.state = GroupMember::State::Failed;
            }
        }
        const auto before = known_.find(rank);
        const bool fresh =
            before == known_.end() || before->second.incarnation != record.incarnation;
        if (!fresh && before->second.state == record.state) {
            continue;
        }
        if (fresh) {
            events_.push_back({GroupEvent::Kind::Joined, rank, record.name, {}});
        }
        if (record.state == GroupMember::State::Left) {
            events_.push_back({GroupEvent::Kind::Left, rank, record.name, "left"});
        } else if (record.state == GroupMember::State::Failed) {
            events_.push_back(
                {GroupEvent::Kind::Failed, rank, record.name, "its connection to Redis ended"});
        }
    }
    known_ = std::move(now);
    // The list of connections grows with the members: large groups look less often.
    next_look_ = Clock::now() + std::max<Milliseconds>(slice, Milliseconds(5 * known_.size()));
}

std::vector<RankBytes> RedisGroup::gather(std::span<const std::byte> mine, Milliseconds timeout,
                                          const std::string& what) {
    const Milliseconds limit = time(timeout);
    const net::Deadline deadline = net::Deadline::in(limit);
    const std::string rank = std::to_string(rank_);
    const auto check_failed = [&] {
        if (const std::string failed = failed_ranks(); !failed.empty() && !shrink_) {
            throw Error(ErrorCode::PeerGone, what + ": rank " + failed + " failed");
        }
    };
    const int64_t number = eval(scripts::gather, {rank, std::string(text_of(mine))})->integer;
    if (number < 0) {
        look_at_members();
        check_failed();
        throw Error(ErrorCode::PeerGone, what + ": a member failed");
    }
    const std::string notes = prefix_ + "n:" + rank;
    while (true) {
        // A gathering that was given up may have left its note.
        const Reply note = redis_.command({"BLPOP", notes, "0.5"}, slice + patience());
        if (note->type == REDIS_REPLY_ARRAY && note->elements == 2) {
            if (to_number(view(*note->element[1])) == static_cast<uint32_t>(number)) {
                break;
            }
            continue;
        }
        if (Clock::now() >= next_look_) {
            look_at_members();
        }
        const bool broken = !shrink_ && !failed_ranks().empty();
        if (broken || deadline.passed()) {
            if (eval(scripts::withdraw, {rank, std::to_string(number)})->integer == 0) {
                continue;  // it has completed meanwhile
            }
            check_failed();
            throw Error(ErrorCode::Timeout,
                        what + ": not done after " + std::to_string(limit.count()) + " ms; " +
                            std::to_string(here()) + " members are here" +
                            (size_ ? " of " + std::to_string(size_) : std::string()));
        }
    }
    const Reply all = run({"HGETALL", prefix_ + "g:" + std::to_string(number)});
    std::vector<RankBytes> values;
    for (size_t i = 0; i + 1 < all->elements; i += 2) {
        const auto bytes = bytes_of(*all->element[i + 1]);
        values.push_back({to_number(view(*all->element[i])), {bytes.begin(), bytes.end()}});
    }
    std::sort(values.begin(), values.end(),
              [](const RankBytes& a, const RankBytes& b) { return a.rank < b.rank; });
    return values;
}

// Item: u32 rank, u32 incarnation of the sender, bytes; packed as one item of the service.
void RedisGroup::take(std::string_view text) {
    service::Items items(service::view_of(text));
    while (items.next()) {
        const auto bytes = items.bytes();
        if (bytes.size() < 4) {
            throw Error(ErrorCode::Protocol, "exchange: another program uses this job's keys");
        }
        const uint32_t incarnation = service::read_ranks(bytes.first(4)).front();
        const auto rest = bytes.subspan(4);
        inbox_[items.rank()].push_back({incarnation, {rest.begin(), rest.end()}});
    }
}

// What has come, waiting for the first; in Redis 6.2 and later many at a time.
void RedisGroup::receive(Milliseconds wait) {
    const std::string key = prefix_ + "x:" + std::to_string(rank_);
    const Reply first =
        redis_.command({"BLPOP", key, std::to_string(static_cast<double>(wait.count()) / 1000)},
                       wait + patience());
    if (first->type != REDIS_REPLY_ARRAY || first->elements != 2) {
        return;
    }
    take(view(*first->element[1]));
    while (true) {
        const Reply more = run({"LPOP", key, "512"});
        if (more->type != REDIS_REPLY_ARRAY) {
            return;
        }
        for (size_t i = 0; i < more->elements; ++i) {
            take(view(*more->element[i]));
        }
    }
}

Exchanged RedisGroup::exchange_bytes(std::span<const RankBytes> mine, Milliseconds timeout) {
    const Milliseconds limit = time(timeout);
    const net::Deadline deadline = net::Deadline::in(limit);
    std::set<uint32_t> missing;
    std::vector<std::string> keys, items;
    for (const RankBytes& item : mine) {
        if (size_ != 0 ? item.rank >= size_ : !known_.contains(item.rank)) {
            look_at_members();
            if (size_ != 0 || !known_.contains(item.rank)) {
                throw Error(ErrorCode::Argument,
                            "exchange: there is no rank " + std::to_string(item.rank));
            }
        }
        if (!missing.insert(item.rank).second) {
            throw Error(ErrorCode::Argument, "exchange: rank " + std::to_string(item.rank) +
                                                 " is named twice in one exchange");
        }
        std::vector<std::byte> tagged, packed;
        service::append_rank(tagged, incarnation_);
        tagged.insert(tagged.end(), item.bytes.begin(), item.bytes.end());
        service::append_item(packed, rank_, tagged);
        keys.push_back(prefix_ + "x:" + std::to_string(item.rank));
        items.emplace_back(text_of(packed));
    }
    std::vector<std::vector<std::string_view>> commands;
    for (size_t i = 0; i < keys.size(); ++i) {
        commands.push_back({"RPUSH", keys[i], items[i]});
        commands.push_back({"EXPIRE", keys[i], keep_seconds});
    }
    redis_.commands(commands, patience());

    Exchanged result;
    const auto pick = [&] {
        std::erase_if(missing, [&](uint32_t rank) {
            auto& waiting = inbox_[rank];
            const auto known = known_.find(rank);
            // Of a sender that failed, or one that another has replaced, nothing is of use.
            while (!waiting.empty() && known != known_.end() &&
                   (known->second.incarnation > waiting.front().first ||
                    (known->second.incarnation == waiting.front().first &&
                     known->second.state == GroupMember::State::Failed))) {
                waiting.pop_front();
            }
            if (waiting.empty()) {
                return false;
            }
            result.items.push_back({rank, std::move(waiting.front().second)});
            waiting.pop_front();
            return true;
        });
    };
    for (pick(); !missing.empty(); pick()) {
        receive(slice);
        pick();
        if (missing.empty()) {
            break;
        }
        if (Clock::now() >= next_look_) {
            look_at_members();
            // What a leaver sent before it left is in the list by now.
            receive(10ms);
            pick();
            std::erase_if(missing, [&](uint32_t rank) {
                const auto known = known_.find(rank);
                const bool gone =
                    known != known_.end() && known->second.state != GroupMember::State::Here;
                if (gone) {
                    result.gone.push_back(rank);
                }
                return gone;
            });
        }
        if (!missing.empty() && deadline.passed()) {
            throw Error(
                ErrorCode::Timeout,
                "exchange: not done after " + std::to_string(limit.count()) +
                    " ms; nothing from rank " + std::to_string(*missing.begin()) +
                    (missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " others"
                                        : std::string()));
        }
    }
    std::sort(result.items.begin(), result.items.end(),
              [](const RankBytes& a, const RankBytes& b) { return a.rank < b.rank; });
    return result;
}

}  // namespace

std::unique_ptr<Group> join_redis(const Url& url, const GroupOptions& options) {
    if (options.security.on()) {
        throw Error(ErrorCode::Unsupported,
                    "redis:// does not encrypt: rkeys and addresses would cross the network in "
                    "clear; use qpxd:// or tcp:// when security is on");
    }
    if (url.host.empty()) {
        throw Error(ErrorCode::Argument, to_string(url) +
                                             ": a host is missing, as in "
                                             "redis://head:6379/job");
    }
    return std::make_unique<RedisGroup>(url, options);
}

}  // namespace qpx::backend
