// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/object_tables.h"

#include <algorithm>
#include <cerrno>

#include "dingo_hw.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kFirstQpIndex = 2;  // 1 is the GSI QP
constexpr std::uint32_t kQpIndexMask = (1U << DINGO_QPN_INDEX_BITS) - 1;

}  // namespace

std::uint32_t CqTable::take(Cq& cq) {
    const auto max = static_cast<std::uint32_t>(cqs_.size());
    for (std::uint32_t n = 0; n < max; ++n) {
        const std::uint32_t number = (next_ + n) % max;
        if (cqs_[number] == nullptr) {
            cqs_[number] = &cq;
            next_ = number + 1;
            return number;
        }
    }
    throw ErrnoError(ENOMEM);
}

void CqTable::give_back(std::uint32_t number) {
    cqs_[number] = nullptr;
}

std::size_t CqTable::in_use() const {
    return cqs_.size() - static_cast<std::size_t>(std::ranges::count(cqs_, nullptr));
}

QpTable::QpTable(std::uint32_t max_qp)
    : entries_(std::min(max_qp + kFirstQpIndex, kQpIndexMask + 1)) {}

std::uint32_t QpTable::take(Qp& qp) {
    const auto count = static_cast<std::uint32_t>(entries_.size()) - kFirstQpIndex;
    const std::uint32_t bits = random_bits();
    for (std::uint32_t n = 0; n < count; ++n) {
        const std::uint32_t index = kFirstQpIndex + (bits % count + n) % count;
        Entry& entry = entries_[index];
        if (entry.qp != nullptr) {
            continue;
        }
        auto tag = static_cast<std::uint8_t>(random_bits());
        if (tag == entry.tag) {
            tag ^= 0x5a;
        }
        entry = {&qp, std::uint32_t{tag} << DINGO_QPN_INDEX_BITS | index, tag};
        return entry.qpn;
    }
    throw ErrnoError(ENOMEM);
}

void QpTable::give_back(std::uint32_t qpn) {
    entries_[qpn & kQpIndexMask].qp = nullptr;
}

Qp* QpTable::find(std::uint32_t qpn) const {
    const std::uint32_t index = qpn & kQpIndexMask;
    return index < entries_.size() && entries_[index].qpn == qpn ? entries_[index].qp : nullptr;
}

std::uint32_t SrqTable::take(Srq& srq) {
    const std::uint32_t number = numbers_.take();
    srqs_[number] = &srq;
    return number;
}

void SrqTable::give_back(std::uint32_t number) {
    srqs_[number] = nullptr;
    numbers_.give_back(number);
}

}  // namespace dingo::uverbs
