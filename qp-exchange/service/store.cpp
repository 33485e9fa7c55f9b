// SPDX-License-Identifier: BSD-2-Clause
// Keys and values of a job. Numbers are stored as decimal text, as in other key-value stores.
#include <algorithm>
#include <charconv>

#include "service/job.h"
#include "service/registry.h"

namespace qpx::service {
namespace {

constexpr size_t wait_overhead = 160;  // bytes of a waited-for key in two tables
constexpr size_t beside_names = 1024;  // bytes of other fields of JOIN, also in later versions

}  // namespace

void Registry::check_key(std::string_view key) const {
    if (key.empty() || key.size() > limits_.max_key) {
        throw RequestError(ErrorCode::Argument,
                           "a key has 1 to " + std::to_string(limits_.max_key) + " bytes");
    }
}

void Registry::check_total(size_t more) const {
    if (more > limits_.total || bytes_ > limits_.total - more) {
        throw RequestError(ErrorCode::Limit, "all jobs of the service together hold " +
                                                 std::to_string(bytes_) +
                                                 " bytes, no more are allowed (--total)");
    }
}

void Registry::set_begun(ClientId id, size_t bytes) {
    constexpr size_t small = 64 << 10;  // up to this served even if the total is used up
    Client& client = at(id);
    bytes_ = bytes_ - client.begun_bytes + bytes;
    client.begun_bytes = bytes;
    if (bytes > small && bytes_ > limits_.total) {
        throw Error(ErrorCode::Limit, "all jobs of the service together hold " +
                                          std::to_string(bytes_) +
                                          " bytes, too many for a message of more than " +
                                          std::to_string(small) + " (--total)");
    }
}

uint32_t Registry::longest_message(ClientId id) const {
    const size_t value = at(id).job != nullptr ? limits_.max_value + beside_value
                                               : limits_.max_key + limits_.max_name + beside_names;
    return static_cast<uint32_t>(value);
}

void Registry::may_wait(const Client& client) {
    if (client.collectives.size() + client.key_waits.size() >= limits_.max_waits) {
        ++counters_.refused_waits;
        throw RequestError(
            ErrorCode::Limit,
            "a member has at most " + std::to_string(limits_.max_waits) + " requests that wait");
    }
}

void Registry::store(Job& job, std::string_view key, View value) {
    check_key(key);
    if (value.size() > limits_.max_value) {
        throw RequestError(ErrorCode::Limit,
                           "a value has at most " + std::to_string(limits_.max_value) + " bytes");
    }
    const std::string name(key);
    const auto found = job.store.find(name);
    const size_t before = found == job.store.end() ? 0 : found->second->bytes.size() + name.size();
    const size_t after = value.size() + name.size();
    if (job.store_bytes.value() - before + after > limits_.job_store ||
        (found == job.store.end() && job.store.size() >= limits_.max_keys)) {
        throw RequestError(ErrorCode::Limit,
                           "the store of job '" + job.name +
                               "' is full: " + std::to_string(job.store.size()) + " keys, " +
                               std::to_string(job.store_bytes.value()) + " bytes");
    }
    check_total(after);
    job.store_bytes -= before;
    job.store_bytes += after;
    const bool fresh = found == job.store.end();
    auto& kept = job.store[name];
    if (kept) {
        job.forget(kept);
    }
    kept = std::make_shared<Shared>(Bytes(value.begin(), value.end()));
    if (fresh) {
        key_appeared(job, name);
    }
}

void Registry::put(Client& client, const Message& m) {
    Job& job = job_of(client);
    const bool there = job.store.contains(std::string(m.key()));
    if (!there || !(m.options & once)) {
        store(job, m.key(), m.value);
    }
    ++counters_.puts;
    send(client,
         {.type = Type::Done, .request = m.request, .options = there ? uint32_t{exists} : 0});
}

void Registry::get(Client& client, const Message& m) {
    Job& job = job_of(client);
    check_key(m.key());
    const auto found = job.store.find(std::string(m.key()));
    if (found == job.store.end() && !(m.options & no_wait)) {
        start_wait(client, m, {std::string(m.key())}, true);
        return;
    }
    ++counters_.gets;
    if (found != job.store.end()) {
        send_value(client, m.request, found->second);
    } else {
        send(client, {.type = Type::Value, .request = m.request});
    }
}

void Registry::wait(Client& client, const Message& m) {
    Job& job = job_of(client);
    std::set<std::string> missing;
    for (std::string_view key : m.keys) {
        check_key(key);
        if (std::string name(key); !job.store.contains(name)) {
            missing.insert(std::move(name));
        }
    }
    if (missing.empty() || (m.options & no_wait)) {
        send(client, {.type = Type::Done,
                      .request = m.request,
                      .options = missing.empty() ? uint32_t{exists} : 0});
        return;
    }
    start_wait(client, m, std::move(missing), false);
}

void Registry::start_wait(Client& client, const Message& m, std::set<std::string> missing,
                          bool get) {
    may_wait(client);
    size_t bytes = sizeof(KeyWait);
    for (const std::string& key : missing) {
        bytes += key.size() + wait_overhead;
    }
    if (client.wait_bytes + bytes > limits_.client_waits) {
        ++counters_.refused_waits;
        throw RequestError(ErrorCode::Limit, "the keys that one member waits for take at most " +
                                                 std::to_string(limits_.client_waits) +
                                                 " bytes (--client-waits)");
    }
    check_total(bytes);
    client.wait_bytes += bytes;
    client.job->wait_bytes += bytes;
    auto wait =
        std::make_shared<KeyWait>(KeyWait{client.id, m.request, get, std::move(missing), bytes});
    for (const std::string& key : wait->missing) {
        client.job->key_waits[key].insert(wait);
    }
    client.key_waits.push_back(std::move(wait));
}

// Ends a wait that is in no key's list any more.
void Registry::end_wait(Client& client, const std::shared_ptr<KeyWait>& wait) {
    client.wait_bytes -= wait->bytes;
    client.job->wait_bytes -= wait->bytes;
    std::erase(client.key_waits, std::shared_ptr(wait));
}

void Registry::drop_wait(Client& client, uint32_t request) {
    const auto found = std::find_if(client.key_waits.begin(), client.key_waits.end(),
                                    [&](const auto& w) { return w->request == request; });
    if (found == client.key_waits.end()) {
        return;
    }
    const std::shared_ptr<KeyWait> wait = *found;
    for (const std::string& key : wait->missing) {
        const auto listed = client.job->key_waits.find(key);
        listed->second.erase(wait);
        if (listed->second.empty()) {
            client.job->key_waits.erase(listed);
        }
    }
    end_wait(client, wait);
}

void Registry::key_appeared(Job& job, const std::string& key) {
    const auto listed = job.key_waits.find(key);
    if (listed == job.key_waits.end()) {
        return;
    }
    const auto waits = std::move(listed->second);
    job.key_waits.erase(listed);
    for (const auto& wait : waits) {
        wait->missing.erase(key);
        if (!wait->missing.empty()) {
            continue;
        }
        Client& client = at(wait->client);
        end_wait(client, wait);
        if (wait->get) {
            ++counters_.gets;
            send_value(client, wait->request, job.store.at(key));
        } else {
            send(client, {.type = Type::Done, .request = wait->request, .options = exists});
        }
    }
}

void Registry::add(Client& client, const Message& m) {
    Job& job = job_of(client);
    int64_t number = 0;
    if (const auto found = job.store.find(std::string(m.key())); found != job.store.end()) {
        const std::string_view text = text_of(found->second->bytes);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size()) {
            throw RequestError(ErrorCode::Argument,
                               "the value of '" + std::string(m.key()) + "' is not a number");
        }
    }
    if (__builtin_add_overflow(number, m.number, &number)) {
        throw RequestError(ErrorCode::Limit, "the sum does not fit 64 bits");
    }
    store(job, m.key(), view_of(std::to_string(number)));
    ++counters_.puts;
    send(client, {.type = Type::Number, .request = m.request, .number = number});
}

void Registry::erase(Client& client, const Message& m) {
    Job& job = job_of(client);
    const auto found = job.store.find(std::string(m.key()));
    const bool there = found != job.store.end();
    if (there) {
        job.store_bytes -= found->first.size() + found->second->bytes.size();
        job.forget(found->second);
        job.store.erase(found);
    }
    send(client,
         {.type = Type::Done, .request = m.request, .options = there ? uint32_t{exists} : 0});
}

}  // namespace qpx::service
