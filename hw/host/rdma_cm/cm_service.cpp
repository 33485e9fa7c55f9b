// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/cm_service.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/errno_error.h"
#include "base/link_rate.h"
#include "base/log.h"
#include "base/monotonic_clock.h"
#include "host/rdma_cm/cm/ip_service.h"

namespace dingo::rdma_cm {
namespace {

constexpr std::uint32_t kMaxIds = 65535;  // librdmacm cannot handle more
constexpr std::size_t kMaxIdsOfFile = 16384;
constexpr std::uint32_t kMaxJoins = 65536;
constexpr std::size_t kMaxJoinsOfId = 1024;
constexpr std::size_t kMaxJoinsOfFile = 16384;
constexpr std::size_t kMaxFiles = 4096;

/// Returns nullopt if the client's share is used up.
std::optional<Charge> try_charge(const File& file, Quota& quota) {
    try {
        return Charge(file.account(), quota);
    } catch (const ErrnoError&) {
        return std::nullopt;
    }
}

/// Returns the highest enum ibv_rate that does not exceed the port's rate.
std::uint8_t rate_of(const uverbs::PortAttr& port) {
    constexpr std::pair<unsigned, std::uint8_t> kRates[] = {
        {25, 2},   {50, 5},  {100, 3}, {140, 11},  {200, 6},   {250, 15},  {300, 4},   {400, 7},
        {560, 12}, {600, 8}, {800, 9}, {1000, 16}, {1200, 10}, {2000, 17}, {3000, 18}, {4000, 21}};
    const LaneRate* const lane = lane_rate(port.active_speed);
    const unsigned total = lane == nullptr ? 0 : lane->deci_gbps * lanes_of(port.active_width);
    std::uint8_t rate = kRates[0].second;
    for (const auto& [deci_gbps, code] : kRates) {
        rate = deci_gbps <= total ? code : rate;
    }
    return rate;
}

}  // namespace

CmService::CmService(const Options& options, uverbs::Driver& driver, Poller& poller)
    : options_(options),
      driver_(driver),
      poller_(poller),
      device_(driver.query_device()),
      rate_(rate_of(driver.query_port())),
      routes_(driver),
      ports_([this] { return random(); }),
      gsi_(driver),
      manager_(*this, *this),
      file_quota_(kMaxFiles, EMFILE, Quota::Fair::kForeign),
      id_quota_(kMaxIds, ENOMEM, Quota::Fair::kForeign),
      port_quota_(Ports::kEphemerals, EADDRNOTAVAIL, Quota::Fair::kForeign),
      join_quota_(kMaxJoins, ENOMEM, Quota::Fair::kForeign),
      numbers_(kMaxIds),
      join_numbers_(kMaxJoins),
      listener_(options.directory + "/rdma_cm.sock", options.share),
      place_(options.directory) {
    listener_id_ = poller_.add(listener_.fd(), EPOLLIN, *this);
}

CmService::~CmService() {
    files_.clear();
    poller_.remove(listener_id_);
}

void CmService::ready(std::uint32_t /*events*/) {
    refused_ +=
        listener_
            .accept("rdma_cm", "too many descriptors",
                    [this](uverbs::Listener::Newcomer client) {
                        const auto account = uverbs::Accounts::of(client.uid);
                        uverbs::ConnectionCharge connection{
                            {account, file_quota_}, {account, process_quotas().descriptors}};
                        files_.push_back(std::make_unique<File>(
                            *this, std::move(client.socket),
                            File::Client{client.pid, account,
                                         uverbs::Accounts::sender(client.uid, account),
                                         std::move(connection)}));
                    })
            .refused;
}

bool CmService::settle(Nanoseconds now) {
    files_.remove_if([](const auto& file) { return file->closed(); });
    bool more = gsi_.poll([this](const uverbs::GsiReceived& got) {
        manager_.receive(got.source, got.destination, got.mad);
    });
    manager_.poll(now);
    const auto poll = [&](std::uint32_t number) {
        Id* const id = find_id(number);
        more |= id != nullptr && id->poll(now);
    };
    std::ranges::for_each(std::exchange(soon_, {}), poll);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        poll(deadlines_.extract(deadlines_.begin()).value().second);
    }
    return more;
}

void CmService::watch(Id& id) {
    deadlines_.emplace(id.deadline(), id.number());
    poll_soon(id);
}

Nanoseconds CmService::next_deadline() const {
    if (!soon_.empty()) {
        return 0;
    }
    const Nanoseconds due = manager_.next_deadline();
    return deadlines_.empty() ? due : std::min(due, deadlines_.begin()->first);
}

void CmService::stop() {
    for (const auto& [number, id] : ids_) {
        id->device_removed();
    }
    files_.clear();
}

void CmService::add_stats(nlohmann::json& all) const {
    const cm::Stats& s = manager_.stats();
    const uverbs::GsiStats& g = gsi_.stats();
    std::size_t links = 0;
    for (const auto& file : files_) {
        links += file->relay().links();
    }
    all["rdma_cm"] = {{"descriptors", files_.size()},
                      {"links", links},
                      {"ids", ids_.size()},
                      {"listeners", listeners_.size()},
                      {"joins", joins_.size()},
                      {"communications", manager_.size()},
                      {"sent", g.sent},
                      {"unsent", g.unsent},
                      {"received", g.received},
                      {"wrong_length", g.wrong_length},
                      {"malformed", s.malformed},
                      {"unmatched", s.unmatched},
                      {"unexpected", s.unexpected},
                      {"unsupported", s.unsupported},
                      {"duplicates", s.duplicates},
                      {"retries", s.retries},
                      {"timeouts", s.timeouts},
                      {"requests_refused", s.refused},
                      {"clients_malformed", malformed_},
                      {"clients_refused", refused_}};
}

std::uint8_t CmService::mtu() const {
    return driver_.mtu().active;
}

std::uint8_t CmService::ack_delay() const {
    return static_cast<std::uint8_t>(device_.local_ca_ack_delay & 0x1f);
}

Nanoseconds CmService::now() const {
    return clock_now();
}

std::uint32_t CmService::random() {
    return uverbs::random_bits();
}

void CmService::send(const cm::Path& path, const cm::Mad& mad) {
    uverbs::AhAttr to;
    to.dgid = path.remote;
    to.sgid_index = path.sgid_index;
    to.flow_label = path.flow_label;
    to.traffic_class = path.traffic_class;
    to.sl = path.sl;
    to.hop_limit = path.hop_limit;
    to.is_global = true;
    gsi_.send(to, mad);
}

Id* CmService::make_id(File& file, std::uint64_t uid, std::uint16_t space, std::uint8_t qp_type) {
    if (file.ids() >= kMaxIdsOfFile) {
        return nullptr;
    }
    std::optional<Charge> charge = try_charge(file, id_quota_);
    if (!charge) {
        return nullptr;
    }
    const std::uint32_t number = numbers_.take();
    auto id = std::make_unique<Id>(*this, file, number, uid, space, qp_type, std::move(*charge));
    file.add(*id);
    return ids_.emplace(number, std::move(id)).first->second.get();
}

Id* CmService::find_id(std::uint32_t number) const {
    const auto at = ids_.find(number);
    return at == ids_.end() ? nullptr : at->second.get();
}

void CmService::drop_listener(Id& id) {
    if (const auto at = listeners_.find({id.space(), id.source().port}); at != listeners_.end()) {
        std::erase(at->second, &id);
        if (at->second.empty()) {
            listeners_.erase(at);
        }
    }
}

void CmService::remove_id(Id& id) {
    drop_listener(id);
    const std::uint32_t number = id.number();
    ids_.erase(number);
    numbers_.give_back(number);
}

GroupJoin* CmService::make_join(Id& id, std::uint64_t uid) {
    if (id.joins() >= kMaxJoinsOfId || id.file().joins() >= kMaxJoinsOfFile) {
        return nullptr;
    }
    std::optional<Charge> charge = try_charge(id.file(), join_quota_);
    if (!charge) {
        return nullptr;
    }
    const std::uint32_t number = join_numbers_.take();
    auto join = std::make_unique<GroupJoin>(GroupJoin{&id, number, uid, std::move(*charge)});
    id.file().joined();
    return joins_.emplace(number, std::move(join)).first->second.get();
}

GroupJoin* CmService::find_join(std::uint32_t number) const {
    const auto at = joins_.find(number);
    return at == joins_.end() ? nullptr : at->second.get();
}

void CmService::remove_join(const GroupJoin& join) {
    join.id->file().left();
    const std::uint32_t number = join.number;
    joins_.erase(number);
    join_numbers_.give_back(number);
}

void CmService::add_listener(Id& id) {
    listeners_[{id.space(), id.source().port}].push_back(&id);
}

Id* CmService::listener_for(std::uint16_t space, const Address& destination) const {
    const auto at = listeners_.find({space, destination.port});
    Id* found = nullptr;
    if (at != listeners_.end()) {
        for (Id* const id : at->second) {
            // A listener bound to an address is preferred to a wildcard.
            if (id->listens_to(space, destination) && (found == nullptr || !id->is_wildcard())) {
                found = id;
            }
        }
    }
    return found;
}

cm::Listeners::Answer CmService::on_request(cm::Communication& connection,
                                            const cm::Request& request) {
    const auto header = cm::decode_ip_header(request.parameters.private_data);
    if (!header || request.service_id >> 32 != 0) {
        return Answer::kNobody;
    }
    const auto space = static_cast<std::uint16_t>(request.service_id >> 16);
    const auto port = static_cast<std::uint16_t>(request.service_id);
    const Address destination = Address::of_gid(header->destination, port, header->ipv4);
    if (gid_index(header->destination) < 0) {
        // A loopback destination is accepted only from this host.
        const bool ours =
            gid_index(request.source) >= 0 && gid_index(connection.path().remote) >= 0;
        if (!ours || (!destination.is_any() && !destination.is_loopback())) {
            return Answer::kNobody;
        }
    }
    const Address source = Address::of_gid(header->source, header->source_port, header->ipv4);
    Id* const listener = listener_for(space, destination);
    if (listener == nullptr) {
        return Answer::kNobody;
    }
    if (!listener->takes(request)) {
        return Answer::kRefused;
    }
    return listener->take_request(connection, request, source, destination) != nullptr
               ? Answer::kTaken
               : Answer::kRefused;
}

}  // namespace dingo::rdma_cm
