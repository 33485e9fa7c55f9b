// SPDX-License-Identifier: BSD-2-Clause
// All-to-all exchange: each member names its peers, with one
// item for each, and receives one item from each. Pairs match in order, so members may be one
// exchange apart, and a newcomer may exchange with any member. A pair is consumed when the exchange
// of one side completes with it, even if the other side then gives up: the other half is never
// matched with another item.
#include <openssl/evp.h>

#include <algorithm>
#include <utility>

#include "service/job.h"
#include "service/registry.h"

namespace qpx::service {
namespace {

constexpr size_t largest_part = 256 << 10;

// Checks all items of a part before any of them is accepted.
void check_items(const Job& job, const RankSet& wanted, View items, size_t max_item) {
    RankSet now;
    Items each(items);
    while (each.next()) {
        const uint32_t rank = each.rank();
        if (each.bytes().size() > max_item) {
            throw RequestError(ErrorCode::Limit, "the item for rank " + std::to_string(rank) +
                                                     " has more than " + std::to_string(max_item) +
                                                     " bytes");
        }
        const Seat* seat = job.seat(rank);
        if (job.size != 0 ? rank >= job.size : !seat) {
            throw RequestError(
                ErrorCode::Argument,
                "rank " + std::to_string(rank) +
                    (job.size != 0 ? " is none of 0 to " + std::to_string(job.size - 1)
                                   : " has not joined; wait for it first"));
        }
        if (wanted.has(rank) || !now.add(rank)) {
            throw RequestError(ErrorCode::Argument,
                               "rank " + std::to_string(rank) + " is named twice in one exchange");
        }
    }
}

std::string digest_of(View bytes) {
    std::string digest(EVP_MAX_MD_SIZE, '\0');
    unsigned length = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                   &length, EVP_sha256(), nullptr) != 1) {
        throw Error(ErrorCode::Unsupported, "OpenSSL without SHA-256");
    }
    digest.resize(length);
    return digest;
}

}  // namespace

void Registry::exchange(Client& client, const Message& m) {
    Job& job = job_of(client);
    if (client.abandoned_exchange == m.request) {
        return;  // FAILED was sent for an earlier part
    }
    if (client.delivery || (client.exchanging && (client.exchanging->all_sent ||
                                                  client.exchanging->request != m.request))) {
        client.abandoned_exchange = m.request;
        throw RequestError(ErrorCode::Argument, "one exchange at a time");
    }
    Seat& own = *job.seat(client.rank);
    if (!client.exchanging) {
        client.exchanging = std::make_unique<Exchanging>();
        job.exchanging.insert(client.id);
        client.exchanging->request = m.request;
        client.exchanging->number = ++exchanges_begun_;
        for (const Parcel& parcel : own.inbox) {
            if (!parcel.contribution->withdrawn()) {
                client.exchanging->here.add(parcel.contribution->from);
            }
        }
    }
    Exchanging& ex = *client.exchanging;
    try {
        check_total(m.items.size());
        check_items(job, ex.wanted, m.items, limits_.max_value);
        if (own.sent_bytes + m.items.size() > limits_.client_exchange ||
            job.exchange_bytes.value() + m.items.size() > limits_.job_exchange) {
            throw RequestError(ErrorCode::Limit,
                               "too many endpoint bytes in flight for this service (" +
                                   std::to_string(own.sent_bytes) + " of this member, " +
                                   std::to_string(job.exchange_bytes.value()) + " of the job)");
        }
    } catch (const RequestError&) {
        client.abandoned_exchange = m.request;
        drop_exchange(client, Withdraw::Current);
        throw;
    }
    auto contribution = std::make_shared<Contribution>(Contribution{
        .from = client.rank,
        .incarnation = own.incarnation,
        .exchange = ex.number,
        .sent = std::make_shared<const SentBytes>(m.items, own.sent_bytes, job.exchange_bytes)});
    ex.sent.push_back(contribution);
    const std::byte* base = m.items.data();
    std::vector<ClientId> complete;
    Items each(m.items);
    while (each.next()) {
        const uint32_t rank = each.rank();
        Seat& seat = job.make_seat(rank);
        ex.wanted.add(rank);
        if (seat.incarnation > 1) {
            ex.meant.emplace(rank, seat.incarnation);
        }
        if (resume_half(client, rank, each.bytes())) {
            continue;
        }
        const bool vacant = seat.state == SeatState::Left || seat.state == SeatState::Failed;
        if (vacant) {
            ex.here.add(rank);
            continue;
        }
        ex.missing += ex.here.has(rank) ? 0 : 1;
        seat.inbox.push_back({contribution, static_cast<uint32_t>(each.bytes().data() - base),
                              static_cast<uint32_t>(each.bytes().size())});
        if (seat.state != SeatState::Here) {
            continue;
        }
        Exchanging* other = at(seat.client).exchanging.get();
        if (other && other->here.add(client.rank) && other->wanted.has(client.rank) &&
            --other->missing == 0 && other->all_sent) {
            complete.push_back(seat.client);
        }
    }
    if (m.options & last_part) {
        ex.all_sent = true;
        if (ex.missing == 0) {
            complete.push_back(client.id);
        }
    }
    for (ClientId id : complete) {
        deliver_if_complete(at(id));
    }
}

void Registry::deliver_if_complete(Client& client) {
    if (!client.exchanging || !client.exchanging->all_sent || client.exchanging->missing != 0) {
        return;
    }
    const std::unique_ptr<Exchanging> ex = std::move(client.exchanging);
    client.job->exchanging.erase(client.id);
    auto delivery = std::make_unique<Delivery>();
    delivery->request = ex->request;
    RankSet taken;
    // Deliver the first item of each peer. Keep a second one for the next exchange, and also an
    // item of a new member that has taken the rank of the named one.
    std::vector<Parcel>& inbox = client.job->seat(client.rank)->inbox;
    std::vector<Parcel> later;
    delivery->parcels.reserve(inbox.size());
    for (Parcel& parcel : inbox) {
        const uint32_t from = parcel.contribution->from;
        if (parcel.contribution->withdrawn()) {
            continue;
        }
        const bool mine = ex->wanted.has(from) &&
                          ex->means(from, parcel.contribution->incarnation) && taken.add(from);
        if (mine) {
            parcel.hold();
            note_half(client, parcel);
        }
        (mine ? delivery->parcels : later).push_back(std::move(parcel));
    }
    inbox = std::move(later);
    ex->wanted.for_each([&](uint32_t rank) {
        if (!taken.has(rank)) {
            delivery->gone.push_back(rank);
            // A peer that gave up and retries must not find this side's item.
            std::erase_if(client.job->seat(rank)->inbox, [&](const Parcel& parcel) {
                return parcel.contribution->exchange == ex->number;
            });
        }
    });
    std::erase_if(client.sent, [](const auto& sent) { return sent.expired(); });
    client.sent.insert(client.sent.end(), ex->sent.begin(), ex->sent.end());
    client.delivery = std::move(delivery);
    ++counters_.exchanges;
    mark_ready(client);
}

// Called when the client's exchange completes with this parcel, while its sender's may still wait.
void Registry::note_half(Client& client, const Parcel& taken) {
    const Contribution& contribution = *taken.contribution;
    const Job& job = *client.job;
    const Seat& seat = *job.seat(contribution.from);
    Exchanging* other = seat.state == SeatState::Here ? at(seat.client).exchanging.get() : nullptr;
    if (other && other->number == contribution.exchange) {
        other->half_done[client.rank] = {.mine = taken,
                                         .incarnation = job.seat(client.rank)->incarnation};
    }
}

// Called when the client's exchange ends without an answer. Peers keep the items that they have
// received. The items that they sent for it leave the inbox, as they belong to these pairs.
void Registry::give_up_halves(Client& client) {
    Seat& own = *client.job->seat(client.rank);
    auto& halves = client.exchanging->half_done;
    std::erase_if(own.inbox, [&](Parcel& parcel) {
        const auto half = halves.find(parcel.contribution->from);
        if (half == halves.end() || parcel.contribution->withdrawn() ||
            half->second.theirs.contribution) {
            return false;  // only the first item of each peer belongs to the pair
        }
        half->second.theirs = std::move(parcel);
        return true;
    });
    for (auto& [rank, half] : halves) {
        if (half.theirs.contribution) {
            if (half.mine.held) {
                half.digest = digest_of(half.mine.bytes());
                half.mine = {};
            }
            own.given_up[rank] = std::move(half);
        }
    }
    std::erase_if(client.sent, [](const auto& sent) { return sent.expired(); });
    client.sent.insert(client.sent.end(), client.exchanging->sent.begin(),
                       client.exchanging->sent.end());
}

// Resumes the half-done pair of a member that gave up and retries with the same item, unless the
// peer has begun another pair.
bool Registry::resume_half(Client& client, uint32_t rank, View item) {
    Seat& own = *client.job->seat(client.rank);
    const auto found = own.given_up.find(rank);
    if (found == own.given_up.end()) {
        return false;
    }
    HalfPair half = std::move(found->second);
    own.given_up.erase(found);
    Exchanging& ex = *client.exchanging;
    const Seat& peer = *client.job->seat(rank);
    if (half.theirs.contribution->dead || peer.incarnation != half.incarnation ||
        ex.here.has(rank) || half.digest != digest_of(item)) {
        return false;
    }
    ex.here.add(rank);
    own.inbox.push_back(std::exchange(half.theirs, {}));
    ex.half_done[rank] = std::move(half);
    return true;
}

// Completes exchanges that wait for a rank that is gone.
void Registry::peer_gone(Job& job, uint32_t rank) {
    const std::vector<ClientId> waiting(job.exchanging.begin(), job.exchanging.end());
    for (ClientId id : waiting) {
        Client& client = at(id);
        Exchanging* ex = client.exchanging.get();
        if (ex && ex->wanted.has(rank) && ex->here.add(rank)) {
            --ex->missing;
            deliver_if_complete(client);
        }
    }
}

void Registry::next_delivery_frame(Client& client, Bytes& out) {
    Delivery& delivery = *client.delivery;
    const size_t room = std::min<size_t>(largest_part, client.peer.max_frame) - frame_overhead;
    const size_t first = delivery.next;
    size_t bytes = 0;
    size_t count = 0;
    for (; delivery.next < delivery.parcels.size(); ++delivery.next) {
        const Parcel& parcel = delivery.parcels[delivery.next];
        if (parcel.contribution->dead) {
            delivery.gone.push_back(parcel.contribution->from);
            continue;
        }
        const size_t more = item_overhead + parcel.length;
        if (bytes + more > room && bytes != 0) {
            break;
        }
        bytes += more;
        ++count;
    }
    const bool last = delivery.next == delivery.parcels.size();
    Bytes gone;
    if (last) {
        std::sort(delivery.gone.begin(), delivery.gone.end());
        for (uint32_t rank : delivery.gone) {
            append_rank(gone, rank);
        }
    }
    encode_before_bytes({.type = Type::Exchanged,
                         .request = delivery.request,
                         .options = last ? uint32_t{last_part} : 0,
                         .ranks = gone},
                        client.outbox.take_sequence(), bytes, out);
    out.reserve(out.size() + bytes);
    for (size_t i = first; i < delivery.next; ++i) {
        Parcel& parcel = delivery.parcels[i];
        if (!parcel.contribution->dead) {
            append_item(out, parcel.contribution->from, parcel.bytes());
        }
        parcel = {};
    }
    counters_.endpoints += count;
    if (last) {
        const uint32_t cancel = delivery.cancel;
        client.delivery.reset();
        if (cancel != 0) {
            send(client, {.type = Type::Done, .request = cancel});
        }
    }
}

void Registry::drop_exchange(Client& client, Withdraw what) {
    const auto each = [](const std::vector<std::weak_ptr<Contribution>>& list, auto action) {
        for (const auto& sent : list) {
            if (const auto contribution = sent.lock()) {
                action(*contribution);
            }
        }
    };
    if (client.exchanging && what == Withdraw::Current) {
        give_up_halves(client);
        each(client.exchanging->sent, [](Contribution& c) { c.withdraw(); });
    } else if (what == Withdraw::All) {
        if (client.exchanging) {
            each(client.exchanging->sent, [](Contribution& c) { c.kill(); });
        }
        each(client.sent, [](Contribution& c) { c.kill(); });
    }
    client.exchanging.reset();
    client.job->exchanging.erase(client.id);
    client.delivery.reset();
}

std::string Registry::missing_in_exchange(const Job& job, const Client& client) const {
    const Exchanging& ex = *client.exchanging;
    const RankSet missing = ex.wanted.without(ex.here);
    const RankSet silent = missing.both(job.here_ranks);
    const RankSet absent = missing.without(job.here_ranks);
    std::string text;
    if (!absent.empty()) {
        text = "not joined: rank " + rank_list(absent);
    }
    if (!silent.empty()) {
        text += (text.empty() ? "" : "; ") + std::string("no endpoint for this member from rank ") +
                rank_list(silent);
    }
    return text;
}

}  // namespace qpx::service
