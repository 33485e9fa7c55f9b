// SPDX-License-Identifier: BSD-2-Clause
// Maps the numbers of a card's objects to the objects. The driver allocates the numbers, and events
// refer to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/driver/numbers.h"

namespace dingo::uverbs {

class Cq;
class Qp;
class Srq;

/// CQs. Numbers are given out in turn, so that a late event rarely meets a new CQ.
class CqTable {
  public:
    /// Numbers of [0, size).
    explicit CqTable(std::size_t size = 0) : cqs_(size) {}

    /// Throws ErrnoError(ENOMEM) if all numbers are in use.
    std::uint32_t take(Cq& cq);
    void give_back(std::uint32_t number);
    /// Returns nullptr if there is no such CQ.
    [[nodiscard]] Cq* find(std::uint32_t number) const {
        return number < cqs_.size() ? cqs_[number] : nullptr;
    }
    [[nodiscard]] std::size_t size() const { return cqs_.size(); }
    [[nodiscard]] std::size_t in_use() const;

  private:
    std::vector<Cq*> cqs_;
    std::uint32_t next_ = 0;
};

/// QPs by their QPN: an index, and a tag that differs from that of the index's last QP. Both are
/// random. QP0 and QP1 are not given out.
class QpTable {
  public:
    /// Room for `max_qp` QPs, limited by the number of indexes in a QPN.
    explicit QpTable(std::uint32_t max_qp = 0);

    /// Returns the QPN. Throws ErrnoError(ENOMEM) if all indexes are in use.
    std::uint32_t take(Qp& qp);
    void give_back(std::uint32_t qpn);
    /// Returns nullptr if no QP has this QPN now.
    [[nodiscard]] Qp* find(std::uint32_t qpn) const;

  private:
    struct Entry {
        Qp* qp = nullptr;
        std::uint32_t qpn = 0;
        std::uint8_t tag = 0;  ///< tag of the last QP
    };
    std::vector<Entry> entries_;  ///< by index
};

/// SRQs.
class SrqTable {
  public:
    explicit SrqTable(std::uint32_t size = 0) : numbers_(size), srqs_(size) {}

    /// Throws ErrnoError(ENOMEM) if all numbers are in use.
    std::uint32_t take(Srq& srq);
    void give_back(std::uint32_t number);
    /// Called if the card failed to destroy the SRQ: the number is never reused.
    void lose(std::uint32_t number) { srqs_[number] = nullptr; }
    [[nodiscard]] Srq* find(std::uint32_t number) const {
        return number < srqs_.size() ? srqs_[number] : nullptr;
    }

  private:
    IdPool numbers_;
    std::vector<Srq*> srqs_;
};

/// An object's number in one of these tables; freed by the destructor.
template <typename Table>
class TableEntry {
  public:
    template <typename Object>
    TableEntry(Table& table, Object& object) : table_(table), number_(table.take(object)) {}
    ~TableEntry() {
        if (!lost_) {
            table_.give_back(number_);
        }
    }
    TableEntry(const TableEntry&) = delete;
    TableEntry& operator=(const TableEntry&) = delete;

    [[nodiscard]] std::uint32_t get() const { return number_; }
    void lose() {
        table_.lose(number_);
        lost_ = true;
    }

  private:
    Table& table_;
    std::uint32_t number_;
    bool lost_ = false;
};

}  // namespace dingo::uverbs
