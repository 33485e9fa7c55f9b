// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/direct.h"

#include <infiniband/verbs.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/errno_error.h"
#include "base/log.h"
#include "host/driver/context.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

/// How long the card waits for a busy peer. Copying takes less, unless the peer is descheduled.
constexpr Nanoseconds kPatience = 1'000'000'000;
constexpr Nanoseconds kLook = 1'000'000;
/// Checks before the request is kept: copying a page takes less than a microsecond.
constexpr unsigned kSpins = 2'000;
/// Maximum number of fences checked in one round.
constexpr std::size_t kLooks = 64;

static_assert(
    offsetof(dingo_direct_indexes, rq_producer) == offsetof(dingo_queue_indexes, rq_producer) &&
    offsetof(dingo_direct_indexes, rq_consumer) == offsetof(dingo_queue_indexes, rq_consumer) &&
    offsetof(dingo_direct_indexes, sq_consumer) == offsetof(dingo_queue_indexes, sq_consumer));

/// Accesses words that providers read and write concurrently.
template <typename T>
std::atomic_ref<T> shared(T& word) {
    return std::atomic_ref<T>(word);
}

std::uint32_t load(const std::uint32_t& word) {
    return shared(const_cast<std::uint32_t&>(word)).load();
}

}  // namespace

// --- DirectPage

dingo_direct_page& DirectMemory::page() const {
    return *reinterpret_cast<dingo_direct_page*>(piece_.bytes().data());
}

void DirectMemory::cut(std::uint32_t generation) {
    --links_;
    shared(page().open).compare_exchange_strong(generation, 0);
}

std::uint32_t DirectMemory::busy() const {
    return links_ == 0 ? 0 : load(page().busy);
}

std::uint32_t DirectMemory::key() const {
    return load(page().key);
}

DirectPage::DirectPage(DirectContext& context, Qp& qp)
    : context_(context),
      qp_(qp),
      qpn_(qp.number()),
      memory_(std::make_shared<DirectMemory>(context.page_memory_,
                                             DINGO_DIRECT_PAGE_BYTES(qp.log_rq()))),
      mmap_offset_(
          context.context().publish(memory_->piece().fd(), bytes(), memory_->piece().offset())) {}

DirectPage::~DirectPage() {
    close();
    DirectCard& card = context_.card();
    card.gone_ += traffic();
    if (const auto found = card.pages_.find(qpn_);
        found != card.pages_.end() && found->second == this) {
        card.pages_.erase(found);
    }
    context_.context().withdraw(mmap_offset_);
    if (bus_address_ != 0) {
        card.driver().bus().remove(bus_address_);
    }
}

bool DirectPage::is_open() const {
    return generation_ != 0 && load(memory_->page().open) == generation_;
}

void DirectPage::open() {
    dingo_direct_page& p = memory_->page();
    const QpFacts& facts = qp_.facts();
    shared(p.access).store(facts.access);
    shared(p.pdn).store(qp_.pdn());
    shared(p.reads).store(facts.max_dest_rd_atomic);
    shared(p.can_read).store(facts.max_rd_atomic);
    // An engine that can share indexes executes atomics with the host's locked instructions.
    shared(p.atomics).store(
        context_.card().driver().capabilities().has(DINGO_CAP_SHARE_INDEXES) ? 1 : 0);
    if (!is_open()) {
        share_indexes();
        generation_ = context_.card().next_generation_++;
        shared(p.open).store(generation_);
    }
    established_ = established_ || facts.state == IBV_QPS_RTS;
}

void DirectPage::share_indexes() {
    dingo_direct_page& p = memory_->page();
    Driver& driver = context_.card().driver();
    if (!driver.capabilities().has(DINGO_CAP_SHARE_INDEXES)) {
        return;
    }
    driver.card().gate()->run([&] {
        if (bus_address_ == 0) {
            bus_address_ = driver.bus().add(memory_->piece().bytes());
        }
        qp_.share_indexes(bus_address_ + offsetof(dingo_direct_page, indexes));
    });
    p.has_indexes = 1;
    // With one entry the provider could not distinguish a receive from the next one.
    if (const ClientQueue* const rq = qp_.rq(); rq != nullptr && qp_.log_rq() != 0) {
        p.rq_offset = rq->file_offset();
        p.rq_log = qp_.log_rq();
        p.rq_log_stride = qp_.log_rq_stride();
        p.has_rq = 1;
        peers_receive_ = true;
    }
}

void DirectPage::close() {
    established_ = false;
    shared(memory_->page().open).store(0);
}

void DirectPage::close_failed() {
    close();
    if (bus_address_ != 0) {
        try {
            qp_.share_indexes(bus_address_ + offsetof(dingo_direct_page, indexes));
        } catch (const ErrnoError&) {  // a failed card flushes nothing
        }
    }
}

DirectTraffic& DirectTraffic::operator+=(const DirectTraffic& other) {
    tx_requests += other.tx_requests;
    tx_bytes += other.tx_bytes;
    rx_writes += other.rx_writes;
    rx_reads += other.rx_reads;
    rx_sends += other.rx_sends;
    rx_atomics += other.rx_atomics;
    rx_bytes += other.rx_bytes;
    return *this;
}

// Data that a READ returns counts as received by the reader.
const DirectTraffic& DirectPage::traffic() {
    const dingo_direct_page& p = memory_->page();
    const auto value = [](const std::uint64_t& word) {
        return shared(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
    };
    const DirectTraffic now{
        .tx_requests =
            value(p.tx_writes) + value(p.tx_reads) + value(p.tx_sends) + value(p.tx_atomics),
        .tx_bytes = value(p.tx_write_bytes) + value(p.tx_send_bytes) + value(p.rx_read_bytes),
        .rx_writes = value(p.rx_writes),
        .rx_reads = value(p.rx_reads),
        .rx_sends = value(p.rx_sends),
        .rx_atomics = value(p.rx_atomics),
        .rx_bytes = value(p.rx_write_bytes) + value(p.rx_send_bytes) + value(p.tx_read_bytes)};
    const auto add = [](std::uint64_t& total, std::uint64_t before, std::uint64_t after) {
        total += after > before ? after - before : 0;
    };
    add(traffic_.tx_requests, seen_.tx_requests, now.tx_requests);
    add(traffic_.tx_bytes, seen_.tx_bytes, now.tx_bytes);
    add(traffic_.rx_writes, seen_.rx_writes, now.rx_writes);
    add(traffic_.rx_reads, seen_.rx_reads, now.rx_reads);
    add(traffic_.rx_sends, seen_.rx_sends, now.rx_sends);
    add(traffic_.rx_atomics, seen_.rx_atomics, now.rx_atomics);
    add(traffic_.rx_bytes, seen_.rx_bytes, now.rx_bytes);
    seen_ = now;
    return traffic_;
}

// --- DirectFence

namespace {

/// After this fence, a peer that is not busy yet sees what was closed before.
void see_closed() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace

DirectFence::DirectFence(const DirectContext& context, std::uint32_t key, Nanoseconds until)
    : until_(until) {
    see_closed();
    for (const auto& weak : context.memories()) {
        if (auto page = weak.lock()) {
            add(std::move(page), key);
        }
    }
}

DirectFence::DirectFence(const DirectPage& page, Nanoseconds until) : until_(until) {
    see_closed();
    add(page.memory(), 0);
}

void DirectFence::add(std::shared_ptr<DirectMemory> page, std::uint32_t key) {
    const std::uint32_t count = page->busy();
    const std::uint32_t used = page->key();
    if (count % 2 == 0 || (key != 0 && used != 0 && used != key)) {
        return;
    }
    expired_ = expired_ || page->given_up(count);
    busy_.push_back({std::move(page), count});
}

void DirectFence::expire_at(Nanoseconds now) {
    if (now < until_ || expired_) {
        return;
    }
    expired_ = true;
    for (const Busy& busy : busy_) {
        busy.page->give_up(busy.count);
    }
}

bool DirectFence::passed() {
    while (!busy_.empty() && busy_.back().page->busy() != busy_.back().count) {
        busy_.pop_back();
    }
    return busy_.empty();
}

Nanoseconds patience(const DirectContext& context) {
    return context.card().driver().card().now() + kPatience;
}

void await_quiet(const std::shared_ptr<DirectFence>& fence) {
    for (unsigned n = 0; n < kSpins; ++n) {
        if (fence->passed()) {
            return;
        }
    }
    if (fence->expired()) {
        throw ErrnoError(EBUSY);
    }
    throw NotQuiet{fence};
}

// --- DirectRegion

DirectRegion::DirectRegion(DirectContext& context, std::uint32_t index,
                           const dingo_direct_region& region)
    : context_(context), index_(index), shown_(true) {
    dingo_direct_region& entry = context_.directory().regions[index_];
    const std::uint32_t seq = load(entry.seq) | 1U;
    entry = region;
    shared(entry.seq).store(seq);
    shared(entry.seq).store(seq + 1);
}

void DirectRegion::show() {
    if (!std::exchange(shown_, true)) {
        std::uint32_t& seq = context_.directory().regions[index_].seq;
        shared(seq).store(load(seq) - 1);
    }
}

void DirectRegion::withdraw() {
    if (std::exchange(shown_, false)) {
        std::uint32_t& seq = context_.directory().regions[index_].seq;
        shared(seq).store(load(seq) + 1);
    }
}

// --- DirectContext

DirectContext::DirectContext(DirectCard& card, Context& context, uid_t user,
                             std::shared_ptr<Account> account)
    : card_(card),
      context_(context),
      user_(user),
      account_(std::move(account)),
      number_(card.next_context_++),
      descriptor_(account_, process_quotas().descriptors),
      mapping_(account_, process_quotas().mappings),
      directory_("dingo-regions",
                 page_align(sizeof(dingo_direct_directory) +
                            std::size_t{card.driver().capabilities().limits().max_mr} *
                                sizeof(dingo_direct_region)),
                 SharedMemory::Writers::kUs),
      directory_mmap_(context.publish(directory_.fd(), directory_.bytes().size())),
      page_memory_(std::make_shared<QueueSlabs>(MemoryOwner{account_, 0, &context})) {
    directory().num_regions = card.driver().capabilities().limits().max_mr;
    set_on(card.on());
    card_.contexts_[number_] = this;
}

DirectContext::~DirectContext() {
    set_on(false);
    card_.contexts_.erase(number_);
    context_.withdraw(directory_mmap_);
}

dingo_direct_directory& DirectContext::directory() const {
    return *reinterpret_cast<dingo_direct_directory*>(directory_.bytes().data());
}

void DirectContext::set_on(bool on) {
    shared(directory().on).store(on ? 1 : 0);
}

std::optional<std::uint32_t> DirectContext::file_of(int fd) {
    struct stat st {};
    if (::fstat(fd, &st) != 0) {
        return std::nullopt;
    }
    for (std::size_t n = 0; n < files_.size(); ++n) {
        if (files_[n].device == st.st_dev && files_[n].inode == st.st_ino) {
            return static_cast<std::uint32_t>(n);
        }
    }
    Charge charge(account_, process_quotas().descriptors);
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy || in_reserve(copy.get())) {
        return std::nullopt;
    }
    files_.push_back({st.st_dev, st.st_ino, std::move(copy), std::move(charge)});
    return static_cast<std::uint32_t>(files_.size() - 1);
}

std::unique_ptr<DirectRegion> DirectContext::show(const Mr& mr, const Mr::Range& range) {
    const std::uint64_t end = range.start + range.length;
    const SharedSegment* best = nullptr;
    std::uint64_t most = 0;
    for (const SharedSegment& s : range.segments) {
        const std::uint64_t from = std::max(range.start, s.va);
        const std::uint64_t to = std::min(end, s.va + s.length);
        if (!s.by_file && from < to && to - from > most) {
            best = &s;
            most = to - from;
        }
    }
    const int flags = best == nullptr ? -1 : ::fcntl(best->fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) != O_RDWR) {
        return nullptr;
    }
    try {
        const auto file = file_of(best->fd);
        if (!file) {
            return nullptr;
        }
        const std::uint64_t from = std::max(range.start, best->va);
        dingo_direct_region region{};
        region.key = mr.key();
        region.pdn = mr.pdn();
        region.access = mr.access();
        region.iova = mr.iova() + (from - range.start);
        region.length = most;
        region.offset = best->offset + (from - best->va);
        region.file = *file;
        return std::make_unique<DirectRegion>(*this, mr.key() >> DINGO_MR_INDEX_SHIFT, region);
    } catch (const ErrnoError&) {  // no more descriptors: only the card accesses the region
        return nullptr;
    }
}

int DirectContext::file(std::uint32_t number) const {
    if (number >= files_.size()) {
        throw ErrnoError(ENOENT);
    }
    return files_[number].fd.get();
}

std::unique_ptr<DirectPage> DirectContext::make_page(Qp& qp) {
    auto page = std::make_unique<DirectPage>(*this, qp);
    if (memories_.size() >= sweep_at_) {
        std::erase_if(memories_, [](const auto& one) { return one.expired(); });
        sweep_at_ = std::max<std::size_t>(64, 2 * memories_.size());
    }
    memories_.push_back(page->memory());
    card_.pages_[qp.number()] = page.get();
    return page;
}

// --- DirectCard

DirectCard::DirectCard(Driver& driver, const std::string& meeting_place,
                       const std::string& directory)
    : driver_(driver), meeting_place_(meeting_place) {
    if (meeting_place_.empty()) {
        return;
    }
    entry_ = std::filesystem::path(socket_of(driver.mac())).parent_path();
    std::error_code error;
    std::filesystem::create_directories(entry_.parent_path(), error);
    std::filesystem::remove(entry_, error);
    std::filesystem::create_directory_symlink(std::filesystem::absolute(directory), entry_, error);
    if (error) {
        log::debug("no direct road: {}: {}", entry_.string(), error.message());
        meeting_place_.clear();
        entry_.clear();
    }
}

DirectCard::~DirectCard() {
    if (!entry_.empty()) {
        std::error_code error;
        std::filesystem::remove(entry_, error);
    }
}

std::string DirectCard::socket_of(std::span<const std::uint8_t, 6> mac) const {
    return fmt::format("{}/cards/{:02x}/uverbs.sock", meeting_place_, fmt::join(mac, ""));
}

void DirectCard::set_on(bool on) {
    on_ = on;
    for (const auto& [number, context] : contexts_) {
        context->set_on(on);
    }
}

dingo_direct_claim DirectCard::claim_of(const Qp& qp) const {
    const QpFacts& facts = qp.facts();
    dingo_direct_claim claim{};
    std::ranges::copy(driver_.mac(), claim.mac);
    claim.path_mtu = facts.path_mtu;
    claim.qpn = qp.number();
    claim.dest_qpn = facts.dest_qpn;
    claim.sq_psn = facts.sq_psn;
    claim.rq_psn = facts.rq_psn;
    return claim;
}

DirectPage& DirectCard::find(const dingo_direct_claim& claim, uid_t user) {
    const auto found = pages_.find(claim.dest_qpn);
    if (found == pages_.end() || !found->second->is_open() || !found->second->is_established()) {
        throw ErrnoError(EAGAIN);
    }
    DirectPage& page = *found->second;
    if (page.context().user() != user) {
        throw ErrnoError(EPERM);
    }
    const QpFacts& facts = page.qp().facts();
    if (facts.dest_qpn != claim.qpn || facts.path_mtu != claim.path_mtu ||
        facts.rq_psn != claim.sq_psn || !std::ranges::equal(facts.dmac, claim.mac)) {
        throw ErrnoError(EAGAIN);
    }
    return page;
}

void DirectCard::add_to(Counters& counters, std::optional<std::uint32_t> qpn) {
    DirectTraffic all;
    if (qpn) {
        if (const auto found = pages_.find(*qpn); found != pages_.end()) {
            all = found->second->traffic();
        }
    } else {
        all = gone_;
        for (const auto& [number, page] : pages_) {
            all += page->traffic();
        }
    }
    const std::uint64_t rx_requests = all.rx_writes + all.rx_reads + all.rx_sends + all.rx_atomics;
    const std::map<std::string_view, std::uint64_t> card{
        {"rdma_tx_packets", all.tx_requests}, {"rdma_tx_bytes", all.tx_bytes},
        {"rdma_rx_packets", rx_requests},     {"rdma_rx_bytes", all.rx_bytes},
        {"rx_write_requests", all.rx_writes}, {"rx_read_requests", all.rx_reads},
        {"rx_send_requests", all.rx_sends},   {"rx_atomic_requests", all.rx_atomics}};
    const std::map<std::string_view, std::uint64_t> one{{"tx_packets", all.tx_requests},
                                                        {"tx_bytes", all.tx_bytes},
                                                        {"rx_packets", rx_requests},
                                                        {"rx_bytes", all.rx_bytes}};
    const auto& more = qpn ? one : card;
    for (auto& [name, value] : counters) {
        if (const auto found = more.find(name); found != more.end()) {
            value += found->second;
        }
    }
}

DirectContext& DirectCard::context(std::uint64_t number, uid_t user) {
    const auto found = contexts_.find(static_cast<std::uint32_t>(number));
    if (number > UINT32_MAX || found == contexts_.end()) {
        throw ErrnoError(ENOENT);
    }
    if (found->second->user() != user) {
        throw ErrnoError(EPERM);
    }
    return *found->second;
}

void DirectCard::await(std::shared_ptr<DirectFence> fence, Waiter& waiter) {
    if (waits_.empty()) {
        look_ = driver_.card().now() + kLook;
    }
    Wait& wait = waits_.emplace_back();
    wait.fence = std::move(fence);
    wait.who.add(waiter);
}

bool DirectCard::poll(Nanoseconds now) {
    if (now < next_deadline()) {
        return false;
    }
    look_ = now + kLook;
    std::list<Wait> over;
    for (std::size_t n = std::min(waits_.size(), kLooks); n != 0; --n) {
        Wait& first = waits_.front();
        first.fence->expire_at(now);
        const bool ends = first.who.empty() || first.fence->passed() || first.fence->expired();
        std::list<Wait>& to = ends ? over : waits_;
        to.splice(to.end(), waits_, waits_.begin());
    }
    for (Wait& wait : over) {
        if (Waiter* const waiter = wait.who.first()) {
            waiter->stop_waiting();
            waiter->settled(0);
        }
    }
    return !over.empty();
}

}  // namespace dingo::uverbs
