// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/accounts.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace dingo::uverbs {

std::string_view type_name(std::uint16_t type) {
    switch (type) {
        case UVERBS_OBJECT_PD:
            return "pd";
        case UVERBS_OBJECT_CQ:
            return "cq";
        case UVERBS_OBJECT_QP:
            return "qp";
        case UVERBS_OBJECT_SRQ:
            return "srq";
        case UVERBS_OBJECT_AH:
            return "ah";
        case UVERBS_OBJECT_MR:
            return "mr";
        case UVERBS_OBJECT_MW:
            return "mw";
        case UVERBS_OBJECT_DM:
            return "dm";
        default:
            return "other";
    }
}

Accounts::Accounts(const DeviceAttr& card, std::size_t max_clients)
    : clients_(max_clients, EMFILE, Quota::Fair::kForeign) {
    const std::pair<std::uint16_t, std::uint32_t> limits[] = {
        {UVERBS_OBJECT_PD, card.max_pd}, {UVERBS_OBJECT_CQ, card.max_cq},
        {UVERBS_OBJECT_QP, card.max_qp}, {UVERBS_OBJECT_SRQ, card.max_srq},
        {UVERBS_OBJECT_MR, card.max_mr}, {UVERBS_OBJECT_MW, card.max_mw},
        {UVERBS_OBJECT_AH, card.max_ah},
    };
    for (const auto& [type, limit] : limits) {
        objects_.try_emplace(type, limit, ENOMEM, Quota::Fair::kForeign);
    }
}

std::shared_ptr<Account> Accounts::of(uid_t user) {
    if (user == ::geteuid() || user == 0) {
        return std::make_shared<Account>(false, user);
    }
    static std::map<uid_t, std::weak_ptr<Account>> foreign;
    std::erase_if(foreign, [](const auto& entry) { return entry.second.expired(); });
    auto& known = foreign[user];
    auto account = known.lock();
    if (!account) {
        account = std::make_shared<Account>(true, user);
        known = account;
    }
    return account;
}

Charge Accounts::object(const std::shared_ptr<Account>& account, std::uint16_t type) {
    const auto quota = objects_.find(type);
    return quota == objects_.end() ? Charge() : Charge(account, quota->second);
}

nlohmann::json quota_stats(const Quota& quota) {
    return {{"used", quota.used()}, {"limit", quota.limit()}, {"refused", quota.refused()}};
}

nlohmann::json Accounts::describe() const {
    nlohmann::json all{{"client", quota_stats(clients_)},
                       {"mapping", quota_stats(process_quotas().mappings)},
                       {"descriptor", quota_stats(process_quotas().descriptors)},
                       {"byte", quota_stats(process_quotas().bytes)},
                       {"thread", quota_stats(process_quotas().threads)}};
    for (const auto& [type, quota] : objects_) {
        all[std::string(type_name(type))] = quota_stats(quota);
    }
    return all;
}

}  // namespace dingo::uverbs
