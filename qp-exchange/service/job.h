// SPDX-License-Identifier: BSD-2-Clause
// State of jobs and clients in the registry. Internal to the registry's files.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "service/outbox.h"
#include "service/rank_set.h"
#include "service/registry.h"

namespace qpx::service {

/// Byte counter of one job, which is also part of the service's total.
class Tally {
  public:
    explicit Tally(size_t& total) : total_(total) {}
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;
    ~Tally() { total_ -= value_; }
    Tally& operator+=(size_t bytes) {
        value_ += bytes;
        total_ += bytes;
        return *this;
    }
    Tally& operator-=(size_t bytes) {
        value_ -= bytes;
        total_ -= bytes;
        return *this;
    }
    size_t value() const { return value_; }

  private:
    size_t value_ = 0;
    size_t& total_;
};

/// Bytes shared by the store and any number of outboxes. The store counts its values itself; bytes
/// that only outboxes hold are counted as output.
class Shared {
  public:
    explicit Shared(Bytes value) : bytes(std::move(value)) {}
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() {
        if (outputs_ != nullptr) {
            *outputs_ -= bytes.size();
        }
    }
    void count_as_output(size_t& outputs) {
        outputs_ = &outputs;
        outputs += bytes.size();
    }

    const Bytes bytes;

  private:
    size_t* outputs_ = nullptr;
};
inline std::shared_ptr<const Bytes> bytes_in(const std::shared_ptr<Shared>& shared) {
    return {shared, &shared->bytes};
}

/// Bytes in transit, counted for their sender and its job.
struct SentBytes {
    SentBytes(View items, size_t& sender_total, Tally& job_total)
        : bytes(items.begin(), items.end()), sender_bytes(sender_total), job_bytes(job_total) {
        sender_bytes += bytes.size();
        job_bytes += bytes.size();
    }
    SentBytes(const SentBytes&) = delete;
    SentBytes& operator=(const SentBytes&) = delete;
    ~SentBytes() {
        sender_bytes -= bytes.size();
        job_bytes -= bytes.size();
    }

    const Bytes bytes;
    size_t& sender_bytes;
    Tally& job_bytes;
};

/// Endpoints that one client sent in one frame; freed when the last receiver has its part.
struct Contribution {
    /// The sender has given up: receivers that have not taken their part do not get it.
    void withdraw() { sent.reset(); }
    /// The sender is gone: its endpoints cannot be connected to any more.
    void kill() {
        withdraw();
        dead = true;
    }
    bool withdrawn() const { return sent == nullptr; }

    uint32_t from = 0;
    uint32_t incarnation = 0;  ///< that of the sender
    uint64_t exchange = 0;     ///< Exchanging::number of the sender
    bool dead = false;         ///< parts that were taken but not delivered are dropped, too
    std::shared_ptr<const SentBytes> sent{};  ///< null: withdrawn
};

/// One endpoint in transit.
struct Parcel {
    std::shared_ptr<Contribution> contribution;
    uint32_t offset = 0;
    uint32_t length = 0;
    std::shared_ptr<const SentBytes> held{};  ///< set when the receiver has taken it

    void hold() { held = contribution->sent; }
    View bytes() const { return View(held->bytes).subspan(offset, length); }
};

/// A half-done pair: the peer's exchange has completed with this side's item, while this side's
/// exchange still waits for others.
struct HalfPair {
    Parcel mine{};             ///< set while the exchange lasts
    std::string digest{};      ///< digest of `mine`, set when the exchange was given up
    Parcel theirs{};           ///< set when the exchange was given up
    uint32_t incarnation = 0;  ///< that of the peer
};

/// A client's incomplete exchange.
struct Exchanging {
    uint64_t number = 0;  ///< unique among all exchanges of the service
    uint32_t request = 0;
    bool all_sent = false;  ///< the last part was received
    uint32_t missing = 0;   ///< number of ranks in `wanted` but not in `here`
    RankSet wanted;
    RankSet here;  ///< ranks whose item was received, or cannot come any more
    std::vector<std::weak_ptr<Contribution>> sent;
    std::unordered_map<uint32_t, HalfPair> half_done;  ///< key: the peer's rank
    /// Incarnations of the receivers, for ranks where it is not the first.
    std::unordered_map<uint32_t, uint32_t> meant;

    bool means(uint32_t rank, uint32_t incarnation) const {
        const auto found = meant.find(rank);
        return incarnation == (found == meant.end() ? 1 : found->second);
    }
};

/// A completed exchange that is sent to its client frame by frame, as fast as the client reads.
struct Delivery {
    uint32_t request = 0;
    uint32_t cancel = 0;  ///< request that cancels it, answered after the last part; 0: none
    std::vector<Parcel> parcels;
    size_t next = 0;
    std::vector<uint32_t> gone;
};

/// A GET or WAIT for keys that do not exist yet.
struct KeyWait {
    ClientId client = 0;
    uint32_t request = 0;
    bool get = false;
    std::set<std::string> missing;  ///< each listed in Job::key_waits
    size_t bytes = 0;               ///< memory charged
};

/// A barrier or gathering that some members have entered.
struct Collective {
    struct Entry {
        uint32_t request = 0;
        Bytes value;
    };
    bool barrier = false;
    RankSet entered;
    std::unordered_map<uint32_t, Entry> entries;  ///< key: rank
    size_t bytes = 0;                             ///< memory charged, including values
};
using Collectives = std::map<std::string, Collective, std::less<>>;  // key: label

enum class SeatState : uint8_t { Empty, Here, Left, Failed };

/// A rank of a job, taken or not.
struct Seat {
    SeatState state = SeatState::Empty;
    ClientId client = 0;
    uint32_t incarnation = 0;
    size_t sent_bytes = 0;  ///< bytes in undelivered contributions
    std::string name;
    std::vector<Parcel> inbox;
    /// Half-done pairs of exchanges that this member gave up, by the peer's rank. The next exchange
    /// resumes one by sending the same item; another item begins a new pair.
    std::unordered_map<uint32_t, HalfPair> given_up;
};

struct Client {
    Client(ClientId number, Registry::Peer who, Time now, size_t& outputs)
        : id(number),
          jobless_since(now),
          peer(std::move(who)),
          outbox(peer.first_sequence, outputs) {}

    ClientId id;
    bool ready = false;  ///< listed in ready_
    bool overflowed = false;
    uint32_t last_request = 0;
    uint32_t rank = any_rank;
    uint64_t events_seen = 0;
    size_t wait_bytes = 0;
    size_t begun_bytes = 0;  ///< received bytes of an incomplete message
    Job* job = nullptr;
    Time jobless_since;
    Registry::Peer peer;
    Outbox outbox;
    std::vector<std::shared_ptr<KeyWait>> key_waits;
    /// key: number of the request
    std::unordered_map<uint32_t, Collectives::iterator> collectives;
    std::unique_ptr<Exchanging> exchanging;
    std::vector<std::weak_ptr<Contribution>> sent;  ///< contributions to completed exchanges
    uint32_t abandoned_exchange = 0;                ///< request whose further parts are ignored
    std::unique_ptr<Delivery> delivery;
};

struct Job {
    std::string name;
    uint32_t size = 0;  ///< 0: open, ranks are assigned as members join
    bool shrink = false;
    std::vector<std::unique_ptr<Seat>> seats;  ///< by rank; null: never taken
    uint32_t free_hint = 0;                    ///< no lower rank is free
    uint32_t here = 0, failed = 0;
    uint32_t ever = 0;  ///< number of ranks that were taken at least once
    RankSet here_ranks, failed_ranks, ever_ranks;
    std::unordered_set<ClientId> exchanging;  ///< members with an incomplete exchange
    // Keyed by strings from clients. Not hashed: crafted collisions would make look-ups linear.
    std::map<std::string, uint32_t> names;

    std::map<std::string, std::shared_ptr<Shared>> store;
    Tally store_bytes;
    std::map<std::string, std::unordered_set<std::shared_ptr<KeyWait>>> key_waits;
    Tally wait_bytes;

    Collectives collectives;
    /// Collectives by the number of members that have entered.
    std::unordered_map<size_t, std::unordered_set<Collectives::value_type*>> entered_by;
    Tally exchange_bytes;
    Tally seat_bytes;

    /// The last answer to MEMBERS while some client has not read it, and events_end() at that time.
    std::vector<std::weak_ptr<const Bytes>> member_list;
    uint64_t member_list_at = 0;

    Bytes events;              ///< packed records
    uint64_t events_told = 0;  ///< end of the log at the last round
    uint64_t events_from = 0;  ///< offset of the log's first byte since the job began
    bool events_listed = false;
    Time events_due{}, events_sent{};

    Job(size_t& total, size_t& outputs)
        : store_bytes(total),
          wait_bytes(total),
          exchange_bytes(total),
          seat_bytes(total),
          outputs_(outputs) {}
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    /// Clears the parcels first: contributions refer to seats and to this job.
    ~Job() {
        for (auto& [key, value] : store) {
            forget(value);
        }
        for (auto& seat : seats) {
            if (seat) {
                seat->inbox.clear();
                seat->given_up.clear();
            }
        }
    }

    Seat* seat(uint32_t rank) const { return rank < seats.size() ? seats[rank].get() : nullptr; }
    Seat& make_seat(uint32_t rank) {
        if (rank >= seats.size()) {
            seats.resize(rank + 1);
        }
        if (!seats[rank]) {
            seats[rank] = std::make_unique<Seat>();
            seat_bytes += sizeof(Seat);
        }
        return *seats[rank];
    }
    uint64_t events_end() const { return events_from + events.size(); }
    /// Accounts for a value that is removed from the store.
    void forget(const std::shared_ptr<Shared>& value) {
        if (value.use_count() > 1) {
            value->count_as_output(outputs_);
        }
    }

  private:
    size_t& outputs_;
};

/// An error of a single request, answered by FAILED. Any other Error closes the connection.
class RequestError : public Error {
  public:
    using Error::Error;
};

/// Formats ranks: "3, 5 to 9", and "and N more" if there are many runs.
std::string rank_list(const RankSet& ranks);

}  // namespace qpx::service
