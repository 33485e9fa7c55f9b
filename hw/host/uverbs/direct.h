// SPDX-License-Identifier: BSD-2-Clause
//
// The card's part of the direct road (docs/reference/direct.md): it shows a context's regions and a
// QP's page to providers of the same user, and withdraws them. The providers move the data
// themselves.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/quota.h"
#include "base/shared_memory.h"
#include "base/unique_fd.h"
#include "host/driver/driver.h"
#include "host/driver/mr.h"
#include "host/driver/qp.h"
#include "host/driver/queue_slabs.h"
#include "host/driver/waiter.h"
#include "host/uverbs/direct_abi.h"

namespace dingo::uverbs {

class DirectCard;
class DirectContext;

/// Numbers of requests and bytes.
struct DirectTraffic {
    std::uint64_t tx_requests = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t rx_writes = 0;
    std::uint64_t rx_reads = 0;
    std::uint64_t rx_sends = 0;
    std::uint64_t rx_atomics = 0;
    std::uint64_t rx_bytes = 0;
    DirectTraffic& operator+=(const DirectTraffic& other);
};

/// Memory of a QP's page. It is not reused while a connection has it.
class DirectMemory {
  public:
    /// Throws ErrnoError as QueueSlabs::take().
    DirectMemory(std::shared_ptr<QueueSlabs> slabs, std::size_t bytes)
        : slabs_(std::move(slabs)), piece_(slabs_->take(bytes)) {}

    [[nodiscard]] dingo_direct_page& page() const;
    [[nodiscard]] const QueueSlabs::Piece& piece() const { return piece_; }
    /// Counts the connections that have the memory.
    void linked() { ++links_; }
    void unlinked() { --links_; }
    /// Tells the peer's provider, if it still exists, that the connection with this generation has
    /// ended.
    void cut(std::uint32_t generation);
    [[nodiscard]] bool is_linked() const { return links_ != 0; }
    /// The page's `busy` word; odd while a peer uses the page.
    [[nodiscard]] std::uint32_t busy() const;
    /// Key of the only region that the busy peer uses; 0: it may use any.
    [[nodiscard]] std::uint32_t key() const;
    /// Records that the wait for the peer with this `busy` word timed out; it is not waited for
    /// again.
    void give_up(std::uint32_t count) { given_up_ = count; }
    [[nodiscard]] bool given_up(std::uint32_t count) const { return given_up_ == count; }

  private:
    std::shared_ptr<QueueSlabs> slabs_;
    QueueSlabs::Piece piece_;
    unsigned links_ = 0;
    std::uint32_t given_up_ = 0;
};

/// The page of a QP.
class DirectPage {
  public:
    DirectPage(DirectContext& context, Qp& qp);
    /// Call it after the QP was destroyed.
    ~DirectPage();
    DirectPage(const DirectPage&) = delete;
    DirectPage& operator=(const DirectPage&) = delete;

    /// Accepts direct requests from now on, with the QP's current attributes.
    void open();
    /// Records that the QP's first packet has arrived (IBV_EVENT_COMM_EST). Before that a QP in RTR
    /// does not show its page.
    void establish() { established_ = is_open(); }
    [[nodiscard]] bool is_established() const { return established_; }
    /// Accepts no more requests. A peer that is busy with one may finish it; DirectFence waits for
    /// that.
    void close();
    /// Closes the page of a QP that has failed on its own, and flushes what was posted since.
    void close_failed();
    /// Marks the page as not to be opened again, because a peer stays busy.
    void spoil() { spoiled_ = true; }
    [[nodiscard]] bool spoiled() const { return spoiled_; }
    [[nodiscard]] bool is_open() const;

    /// The current generation; it changes with each close.
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    [[nodiscard]] std::uint64_t mmap_offset() const { return mmap_offset_; }
    [[nodiscard]] DirectContext& context() const { return context_; }
    [[nodiscard]] const Qp& qp() const { return qp_; }
    /// The RQ's file, or the page's file if peers may not take receives from the RQ.
    [[nodiscard]] int rq_fd() const {
        return peers_receive_ ? qp_.rq()->fd() : memory_->piece().fd();
    }
    [[nodiscard]] std::size_t bytes() const { return memory_->piece().bytes().size(); }
    [[nodiscard]] const std::shared_ptr<DirectMemory>& memory() const { return memory_; }
    /// Traffic over this page. The clients write these numbers, so the result never decreases.
    [[nodiscard]] const DirectTraffic& traffic();

  private:
    /// Moves the queues' indexes to the page, if the card supports it.
    void share_indexes();

    DirectContext& context_;
    Qp& qp_;
    std::uint32_t qpn_;
    std::shared_ptr<DirectMemory> memory_;
    std::uint64_t mmap_offset_;
    std::uint64_t bus_address_ = 0;  ///< 0: not used by the card
    std::uint32_t generation_ = 0;
    bool peers_receive_ = false;
    DirectTraffic seen_;  ///< counters last read from the page
    DirectTraffic traffic_;
    bool spoiled_ = false;
    bool established_ = false;
};

/// The peers that were busy when the fence was created. After it has passed, none of them uses what
/// was withdrawn before.
class DirectFence {
  public:
    /// Waits for peers that are busy with the region of this key, on any page of its context.
    DirectFence(const DirectContext& context, std::uint32_t key, Nanoseconds until);
    /// Waits for a peer that is busy with this page.
    DirectFence(const DirectPage& page, Nanoseconds until);
    /// Returns true if none of the peers is busy any more.
    [[nodiscard]] bool passed();
    /// Returns true if the wait has timed out.
    [[nodiscard]] bool expired() const { return expired_; }
    void expire_at(Nanoseconds now);

  private:
    struct Busy {
        std::shared_ptr<DirectMemory> page;
        std::uint32_t count;
    };
    void add(std::shared_ptr<DirectMemory> page, std::uint32_t key);
    std::vector<Busy> busy_;
    Nanoseconds until_;
    bool expired_ = false;
};

/// Thrown, but not an error: a peer is busy with what the request withdraws; execute it again
/// later.
struct NotQuiet {
    std::shared_ptr<DirectFence> fence;
};

/// The entry of a region in the directory of its context.
class DirectRegion {
  public:
    DirectRegion(DirectContext& context, std::uint32_t index, const dingo_direct_region& region);
    ~DirectRegion() { withdraw(); }
    DirectRegion(const DirectRegion&) = delete;
    DirectRegion& operator=(const DirectRegion&) = delete;

    /// Shows the region again, unchanged: peers that had it mapped still have it.
    void show();
    /// Hides the region from peers. A peer that is busy with it may finish; DirectFence waits for
    /// that.
    void withdraw();

  private:
    DirectContext& context_;
    std::uint32_t index_;
    bool shown_;
};

/// A client that uses the direct road: its regions, their files, and its QPs' pages.
class DirectContext {
  public:
    DirectContext(DirectCard& card, Context& context, uid_t user, std::shared_ptr<Account> account);
    ~DirectContext();
    DirectContext(const DirectContext&) = delete;
    DirectContext& operator=(const DirectContext&) = delete;

    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] uid_t user() const { return user_; }
    [[nodiscard]] DirectCard& card() const { return card_; }
    [[nodiscard]] Context& context() const { return context_; }
    [[nodiscard]] std::uint64_t directory_mmap() const { return directory_mmap_; }
    [[nodiscard]] std::size_t directory_bytes() const { return directory_.bytes().size(); }
    [[nodiscard]] int directory_fd() const { return directory_.fd(); }
    void set_on(bool on);

    /// Returns null if no part of the region lies in a file that cannot shrink.
    std::unique_ptr<DirectRegion> show(const Mr& mr, const Mr::Range& range);
    /// Returns the descriptor of a file of its regions. Throws ErrnoError(ENOENT).
    [[nodiscard]] int file(std::uint32_t number) const;
    std::unique_ptr<DirectPage> make_page(Qp& qp);
    /// Memory of existing pages, and of destroyed ones that peers still have mapped.
    [[nodiscard]] const std::vector<std::weak_ptr<DirectMemory>>& memories() const {
        return memories_;
    }

  private:
    friend class DirectPage;
    friend class DirectRegion;
    struct File {
        dev_t device;
        ino_t inode;
        UniqueFd fd;
        Charge charge;
    };
    std::optional<std::uint32_t> file_of(int fd);
    [[nodiscard]] dingo_direct_directory& directory() const;

    DirectCard& card_;
    Context& context_;
    uid_t user_;
    std::shared_ptr<Account> account_;
    std::uint32_t number_;
    Charge descriptor_;
    Charge mapping_;
    SharedMemory directory_;
    std::uint64_t directory_mmap_;
    std::shared_ptr<QueueSlabs> page_memory_;
    std::vector<File> files_;
    std::vector<std::weak_ptr<DirectMemory>> memories_;
    std::size_t sweep_at_ = 64;  ///< number of memories at which expired ones are removed
};

/// The direct road of one card.
class DirectCard {
  public:
    /// `meeting_place`: directory of the wire's segment, where providers of peers find the card by
    /// its MAC address; "" disables the direct road. `directory`: the card's directory.
    DirectCard(Driver& driver, const std::string& meeting_place, const std::string& directory);
    ~DirectCard();
    DirectCard(const DirectCard&) = delete;
    DirectCard& operator=(const DirectCard&) = delete;

    [[nodiscard]] bool available() const { return !meeting_place_.empty(); }
    [[nodiscard]] Driver& driver() const { return driver_; }
    /// With `on` false, requests go through the card until it is true again.
    void set_on(bool on);
    [[nodiscard]] bool on() const { return on_; }

    /// Returns the path of the socket of the card with this MAC address.
    [[nodiscard]] std::string socket_of(std::span<const std::uint8_t, 6> mac) const;
    [[nodiscard]] dingo_direct_claim claim_of(const Qp& qp) const;
    /// Returns the page of the QP that the claim names. Throws ErrnoError: EAGAIN if the QP is not
    /// (yet) connected as claimed, EPERM for another user.
    DirectPage& find(const dingo_direct_claim& claim, uid_t user);
    /// Throws ErrnoError: ENOENT, EPERM.
    DirectContext& context(std::uint64_t number, uid_t user);

    /// Adds the providers' traffic to the counters of the card or of a QP, each request as one
    /// packet.
    void add_to(Counters& counters, std::optional<std::uint32_t> qpn);

    /// Calls `waiter` in a later poll(), after the fence has passed or expired.
    void await(std::shared_ptr<DirectFence> fence, Waiter& waiter);
    /// Returns true if a waiter was called.
    bool poll(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const { return waits_.empty() ? kNever : look_; }

  private:
    friend class DirectContext;
    friend class DirectPage;
    struct Wait {
        std::shared_ptr<DirectFence> fence;
        Waiters who;
    };

    Driver& driver_;
    std::string meeting_place_;
    std::filesystem::path entry_;  ///< this card's entry in the meeting place
    bool on_ = true;
    std::uint32_t next_context_ = 1;
    std::uint32_t next_generation_ = 1;
    std::map<std::uint32_t, DirectContext*> contexts_;
    std::map<std::uint32_t, DirectPage*> pages_;  ///< by QPN
    DirectTraffic gone_;                          ///< of destroyed pages
    std::list<Wait> waits_;
    Nanoseconds look_ = kNever;
};

/// Returns how long to wait for a busy peer.
Nanoseconds patience(const DirectContext& context);
/// Returns if the fence has passed. Throws NotQuiet if it has not, ErrnoError(EBUSY) if it has
/// expired.
void await_quiet(const std::shared_ptr<DirectFence>& fence);

}  // namespace dingo::uverbs
