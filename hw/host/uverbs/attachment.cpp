// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/attachment.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/log.h"
#include "base/offenders.h"
#include "host/uverbs/netlink.h"

namespace dingo::uverbs {
namespace {

/// Clients served in one call, which keeps it short for any number of requests (LookPolicy).
constexpr std::size_t kClientsAtOnce = 16;

/// Processes that are not visible in our PID namespace get one share per descriptor.
ShareOwner owner_of(const Listener::Newcomer& client, const std::shared_ptr<Account>& account) {
    using Kind = ShareOwner::Kind;
    if (account->foreign()) {
        return {Kind::kUser, client.uid};
    }
    return {client.pid > 0 ? Kind::kProcess : Kind::kNobody, client.pid};
}

std::string process_text(pid_t pid) {
    return pid > 0 ? fmt::format("process {}", pid) : "a process";
}

/// Formats a GID as the IPv4 address that it contains, else as IPv6.
std::string address_text(const Gid& gid) {
    constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::array<char, INET6_ADDRSTRLEN> out{};
    if (std::equal(kIpv4.begin(), kIpv4.end(), gid.begin())) {
        ::inet_ntop(AF_INET, gid.data() + kIpv4.size(), out.data(), out.size());
    } else {
        ::inet_ntop(AF_INET6, gid.data(), out.data(), out.size());
    }
    return out.data();
}

/// Returns the bytes of an MTU given as enum ibv_mtu.
unsigned mtu_bytes(std::uint8_t mtu) {
    return 128U << mtu;
}

std::string_view qp_type_name(std::uint8_t type) {
    switch (type) {
        case IB_UVERBS_QPT_RC:
            return "RC";
        case IB_UVERBS_QPT_UC:
            return "UC";
        case IB_UVERBS_QPT_UD:
            return "UD";
        default:
            return "other";
    }
}

}  // namespace

UverbsAttachment::UverbsAttachment(const Options& options, Driver& driver)
    : options_(options),
      device_{.driver = driver,
              .poller = {},
              .stats = {},
              .sysfs = {},
              .netlink = {},
              .accounts = {driver.query_device(), options.max_clients},
              .direct = {driver, options.meeting_place, options.directory},
              .number = options.number},
      listener_(options.directory + "/uverbs.sock", options.share) {
    device_.poller.add(listener_.fd(), EPOLLIN, *this);
    device_.netlink = [this](std::span<const std::byte> request, std::uint64_t from) {
        return answer_netlink({.driver = device_.driver,
                               .number = options_.number,
                               .each_client =
                                   [this](const std::function<bool(UverbsFile&)>& visit) {
                                       for (const auto& file : files_) {
                                           if (file->has_context() && !visit(*file)) {
                                               return;
                                           }
                                       }
                                   }},
                              request, from);
    };
    driver.on_counters = [this](Counters& counters, std::optional<std::uint32_t> qpn) {
        device_.direct.add_to(counters, qpn);
    };
    driver.on_port_event = [this](int event) {
        for (const auto& file : files_) {
            file->post_to_all(event, event == kDeviceFatal ? 0 : 1);
        }
        if (on_port_event) {
            on_port_event(event);
        }
    };
}

UverbsAttachment::~UverbsAttachment() {
    device_.driver.on_port_event = nullptr;
    device_.driver.on_counters = nullptr;
    files_.clear();
}

void UverbsAttachment::watch(PollGroup& polls) {
    clients_id_ = polls.add(device_.poller.fd(), EPOLLIN, clients_);
    polls_ = &polls;
}

void UverbsAttachment::unwatch() {
    if (polls_ != nullptr) {
        polls_->remove(clients_id_);
        polls_ = nullptr;
    }
}

void UverbsAttachment::Clients::ready(std::uint32_t /*events*/) {
    attachment.device_.poller.wait(0, kClientsAtOnce);
    attachment.forget_closed();
}

void UverbsAttachment::ready(std::uint32_t /*events*/) {
    const auto [admitted, refused] =
        listener_.accept("uverbs", "too many clients", [this](Listener::Newcomer client) {
            const auto account = device_.accounts.of(client.uid);
            ConnectionCharge connection = device_.accounts.client(account);
            files_.push_back(std::make_unique<UverbsFile>(
                device_,
                UverbsFile::Client{++last_id_, client.pid, owner_of(client, account), account,
                                   Accounts::sender(client.uid, account), std::move(connection)},
                std::move(client.socket)));
        });
    device_.stats.connections += admitted;
    device_.stats.refused += refused;
}

void UverbsAttachment::forget_closed() {
    files_.remove_if([](const auto& file) { return file->closed(); });
}

bool UverbsAttachment::settle(Nanoseconds now) {
    judge();
    bool more = device_.driver.poll(now);
    more |= device_.direct.poll(now);
    sweep(now);
    for (Service* const service : services_) {
        more |= service->settle(now);
    }
    return more;
}

void UverbsAttachment::judge() {
    for (const Offence& offence : offenders().since(device_.judged + 1)) {
        device_.judged = offence.number;
        judge(offence);
    }
}

// Clients of another user are one client, and all of them go: each could hold the card up in turn.
// Of the card's own user each connection has an account.
void UverbsAttachment::judge(const Offence& offence) {
    const std::shared_ptr<Account> account = offence.owner.account.lock();
    if (account == nullptr) {
        return;
    }
    constexpr std::uint64_t kMillisecond = 1'000'000;
    const std::uint64_t held = offenders().held_by(account) / kMillisecond;
    const std::uint64_t lasts = offence.lasts / (1000 * kMillisecond);
    for (const auto& file : files_) {
        if (offence.owner.context != nullptr && file->account() == account && !file->closed()) {
            offence_log_.warn(
                "{} (user {}) has held the card for {} ms by punching holes into its queues: it is "
                "cut off, and what user {} registers in the next {} s is far memory",
                process_text(file->pid()), account->user(), held, account->user(), lasts);
            file->end();
        }
    }
    if (const std::size_t regions = device_.driver.make_far(account);
        offence.owner.context == nullptr && regions != 0) {
        offence_log_.warn(
            "{} (user {}) has held the card for {} ms by punching holes into memory that it has "
            "registered: its {} regions, and what user {} registers in the next {} s, are far "
            "memory",
            process_text(offence.owner.pid), account->user(), held, regions, account->user(),
            lasts);
    }
    forget_closed();
}

// The card gets no notification when a client reads an answer, so it polls.
void UverbsAttachment::sweep(Nanoseconds now) {
    if (device_.sweep > now) {
        return;
    }
    bool left = false;
    for (const auto& file : files_) {
        left |= file->sweep();
    }
    device_.sweep = left ? now + kSweepEvery : kNever;
}

Nanoseconds UverbsAttachment::next_deadline() const {
    Nanoseconds due =
        std::min({device_.driver.next_deadline(), device_.direct.next_deadline(), device_.sweep});
    for (const Service* const service : services_) {
        due = std::min(due, service->next_deadline());
    }
    return due;
}

void UverbsAttachment::stop() {
    for (Service* const service : services_) {
        service->stop();
    }
    for (const auto& file : files_) {
        file->post_to_all(kDeviceFatal, 0);
    }
    files_.clear();
}

void UverbsAttachment::add_stats(nlohmann::json& all) const {
    const UverbsStats& s = device_.stats;
    all["host"] = {{"connections", s.connections},
                   {"refused", s.refused},
                   {"requests", s.requests},
                   {"failed", s.failed},
                   {"malformed", s.malformed},
                   {"undelivered", s.undelivered},
                   {"unread", s.unread},
                   {"tap_drops", device_.driver.tap_drops()},
                   {"events_sent", s.events.sent},
                   {"events_taken_back", s.events.taken_back},
                   {"events_dropped", s.events.dropped}};
    for (const Service* const service : services_) {
        service->add_stats(all);
    }
    const PortMtu mtu = device_.driver.mtu();
    all["port"] = {{"mac", fmt::format("{:02x}", fmt::join(device_.driver.mac(), ":"))},
                   {"active_mtu", mtu_bytes(mtu.active)},
                   {"max_mtu", mtu_bytes(mtu.max)},
                   {"gids", nlohmann::json::object()}};
    for (const GidEntry& entry : device_.driver.gids()) {
        all["port"]["gids"][std::to_string(entry.index)] = address_text(entry.gid);
    }
    const Offenders::Stats holds = offenders().stats();
    all["holds"] = {{"held_us", holds.held / 1000}, {"offences", holds.offences}};
    all["quotas"] = device_.accounts.describe();
    all["quotas"]["dm_byte"] = quota_stats(device_.driver.device_memory());
    std::uint64_t messages = device_.driver.messages_of_gone();
    try {
        for (const auto& [name, value] : device_.driver.card_counters()) {
            all["counters"][name] = value;
        }
    } catch (const ErrnoError&) {  // a failed card has no counters
    }
    all["clients"] = nlohmann::json::array();
    all["qps"] = nlohmann::json::array();
    for (const auto& file : files_) {
        nlohmann::json client{{"pid", file->pid()},
                              {"comm", file->command_name()},
                              {"objects", nlohmann::json::object()}};
        for (const auto& [type, count] : file->objects().counts()) {
            client["objects"][std::string(type_name(type))] = count;
        }
        client["objects"]["channel"] = file->channels();
        client["waiting"] = file->waiting();
        all["clients"].push_back(std::move(client));
        for (const std::uint32_t handle : file->objects().handles(QpObject::kType)) {
            auto& object = file->objects().get<QpObject>(handle);
            nlohmann::json qp{{"qpn", object.qp->number()},
                              {"type", qp_type_name(object.qp->init().type)},
                              {"pid", file->pid()}};
            try {
                QpProgress progress;
                const QpAttr attr = object.qp->query(progress);
                for_each_number(progress, [&qp](const char* name, std::uint32_t value) {
                    qp["progress"][name] = value;
                });
                qp["state"] = attr.qp_state;
                if (attr.dest_qp_num != 0) {  // connected
                    qp["dest_qpn"] = attr.dest_qp_num;
                    qp["peer"] = address_text(attr.ah.dgid);
                }
                for (const auto& [name, value] : device_.driver.qp_counters(object.qp->number())) {
                    qp["counters"][name] = value;
                    messages += name == "send_cqes" || name == "recv_cqes" ? value : 0;
                }
            } catch (const ErrnoError&) {  // a failed card has no counters
            }
            all["qps"].push_back(std::move(qp));
        }
    }
    all["messages"] = messages;
}

}  // namespace dingo::uverbs
