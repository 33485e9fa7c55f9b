// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "fake_card.h"

namespace gda::test {
namespace {

constexpr std::uint32_t kSqWord = 0x1234501;
constexpr std::uint32_t kCqWord = 0x5432103;

}  // namespace

FakeCard::FakeCard(unsigned log_sq, unsigned log_cq, Execute execute, std::uint64_t first)
    : sq_(std::size_t{DGDA_BLOCK_WORDS} << log_sq),
      cq_(std::size_t{4} << log_cq),
      sizes_(std::size_t{1} << log_sq),
      execute_(std::move(execute)),
      at_(static_cast<std::uint32_t>(first)) {
    qp_.sq = sq_.data();
    qp_.sq_doorbell = &sq_doorbell_;
    qp_.cq = cq_.data();
    qp_.cq_doorbell = &cq_doorbell_;
    qp_.status = &status_;
    qp_.sizes = sizes_.data();
    qp_.sq_mask = (1U << log_sq) - 1;
    qp_.cq_mask = (1U << log_cq) - 1;
    qp_.sq_doorbell_word = kSqWord;
    qp_.cq_doorbell_word = kCqWord;
    qp_.max_inline = DINGO_MAX_INLINE;
    qp_.taken = qp_.ready = qp_.rung = qp_.done = first;
    qp_.polled = static_cast<std::uint32_t>(first);
    qp_.failed_at = DINGO_GDA_NEVER;
    thread_ = std::thread([this] { run(); });
}

void FakeCard::die() {
    stop();
    __atomic_store_n(&status_, DGDA_STATUS_GONE, __ATOMIC_RELAXED);
}

void FakeCard::stop() {
    stop_ = true;
    if (thread_.joinable())
        thread_.join();
}

std::string FakeCard::complaint() const {
    const std::lock_guard lock(mutex_);
    return complaint_;
}

void FakeCard::complain(const char* text) {
    const std::lock_guard lock(mutex_);
    if (complaint_.empty())
        complaint_ = text;
}

void FakeCard::run() {
    std::uint64_t last = 0;
    while (!stop_) {
        const std::uint64_t value = __atomic_load_n(&sq_doorbell_, __ATOMIC_ACQUIRE);
        if (value == last) {
            std::this_thread::yield();
            continue;
        }
        last = value;
        ++doorbells_;
        if (static_cast<std::uint32_t>(value) != kSqWord)
            complain("another doorbell word");
        const auto to = static_cast<std::uint32_t>(value >> 32);
        if (to - at_ - 1 > qp_.sq_mask)
            complain("the doorbell went back, or ahead of the ring");
        else
            take(to);
    }
}

void FakeCard::take(std::uint32_t to) {
    while (at_ != to) {
        Wqe wqe{};
        wqe.index = at_;
        const auto block = [&](std::uint32_t n) {
            for (std::uint32_t w = 0; w < DGDA_BLOCK_WORDS; ++w)
                wqe.words[n * DGDA_BLOCK_WORDS + w] = __atomic_load_n(
                    &sq_[((at_ + n) & qp_.sq_mask) * DGDA_BLOCK_WORDS + w], __ATOMIC_RELAXED);
        };
        block(0);
        if (wqe.blocks() == 0 || wqe.blocks() > DINGO_SQ_MAX_BLOCKS || wqe.blocks() > to - at_)
            return complain("a WQE that is not whole");
        for (std::uint32_t n = 1; n < wqe.blocks(); ++n)
            block(n);
        // Overwrite the WQE, so that it cannot be mistaken for a new one.
        for (std::uint32_t n = 0; n < wqe.blocks(); ++n)
            __atomic_store_n(&sq_[((at_ + n) & qp_.sq_mask) * DGDA_BLOCK_WORDS], ~0ull,
                             __ATOMIC_RELAXED);
        const std::uint32_t status = failed_ ? DINGO_WCS_WR_FLUSH_ERR : execute_(wqe);
        failed_ |= status != 0;
        const std::uint32_t index = at_;
        at_ += wqe.blocks();
        if (status != 0 || (wqe.flags() & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK) != 0)
            complete(index, status);
    }
}

void FakeCard::complete(std::uint32_t index, std::uint32_t status) {
    const std::uint64_t doorbell = __atomic_load_n(&cq_doorbell_, __ATOMIC_ACQUIRE);
    if (doorbell != 0 && static_cast<std::uint32_t>(doorbell) != kCqWord)
        complain("another doorbell word of the CQ");
    if (producer_ - static_cast<std::uint32_t>(doorbell >> 32) > qp_.cq_mask)
        return complain("the CQ overflowed");
    std::uint64_t* const entry = &cq_[(producer_ & qp_.cq_mask) * 4];
    const std::uint64_t phase = (producer_ & (qp_.cq_mask + 1)) == 0 ? 1 : 0;
    __atomic_store_n(&entry[0], index, __ATOMIC_RELAXED);
    __atomic_store_n(&entry[3],
                     phase << 56 | std::uint64_t{status != 0 ? kVendorError : 0} << 24 |
                         std::uint64_t{status} << 16,
                     __ATOMIC_RELEASE);
    ++producer_;
}

}  // namespace gda::test
