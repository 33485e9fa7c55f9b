// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dingo_hw.h"
#include "host/driver/card_object.h"
#include "host/driver/client_memory.h"
#include "host/driver/numbers.h"
#include "host/driver/pd.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

class Dm;
class Driver;
class FarPlace;
class MrMemory;
class QueueMemory;

/// A memory region.
class Mr {
  public:
    struct Range {
        std::shared_ptr<ClientMemory> client;
        std::uint64_t start = 0;
        std::uint64_t length = 0;
        std::uint64_t iova = 0;
        std::vector<SharedSegment> segments;  ///< sorted by va; may reach beyond the range
    };
    /// access: IBV_ACCESS_*. The caller has made sure that the range is mapped in the client.
    Mr(Driver& driver, Pd& pd, const Range& range, std::uint32_t access, Udata& udata);
    /// A DMABuf, mapped through its exporter. Throws EOPNOTSUPP if that is impossible, EINVAL if
    /// [offset, offset + length) is outside.
    Mr(Driver& driver, Pd& pd, int dmabuf_fd, std::uint64_t offset, std::uint64_t length,
       std::uint64_t iova, std::uint32_t access, const std::shared_ptr<Account>& account = nullptr);
    /// Far memory as a whole, such as a GPU's: [offset, offset + length) of `place`.
    Mr(Driver& driver, Pd& pd, std::shared_ptr<FarPlace> place, std::uint64_t offset,
       std::uint64_t length, std::uint64_t iova, std::uint32_t access);
    /// Part of device memory; its addresses begin at 0. A region of length 0 has a key that opens
    /// nothing.
    Mr(Driver& driver, Pd& pd, const Dm& dm, std::uint64_t offset, std::uint64_t length,
       std::uint32_t access);
    ~Mr();
    Mr(const Mr&) = delete;
    Mr& operator=(const Mr&) = delete;

    /// flags: IB_UVERBS_REREG_* (TRANS 1, PD 2, ACCESS 4). The key is kept. Changes all or nothing.
    void rereg(std::uint32_t flags, Pd* pd, const Range* range, std::uint32_t access);
    [[nodiscard]] std::uint32_t key() const { return key_; }
    [[nodiscard]] std::uint32_t pdn() const { return pdn_; }
    [[nodiscard]] std::uint32_t access() const { return access_; }  ///< DINGO_ACC_*
    [[nodiscard]] std::uint64_t iova() const { return iova_; }
    /// Destroys the region on the card. Throws ErrnoError, and the region stays: EBUSY if windows
    /// are bound to it.
    void destroy();

  private:
    void create(Pd& pd, std::uint64_t first, std::uint64_t bytes, std::uint32_t verbs_access);
    /// Returns CREATE_MR for the current region.
    [[nodiscard]] dingo_cmd_create_mr command() const;

    Driver& driver_;
    OwnedId index_;
    std::shared_ptr<MrMemory> memory_;                  ///< null for device memory
    std::shared_ptr<const QueueMemory> device_memory_;  ///< null for memory of a client
    dingo_mem mem_{};
    std::uint32_t key_ = 0;
    std::uint32_t pdn_ = 0;
    std::uint32_t access_ = 0;  ///< DINGO_ACC_*
    std::uint64_t iova_ = 0;
    std::uint64_t length_ = 0;
    bool fixed_ = false;  ///< without client memory: rereg() is refused
    std::optional<CardObject> on_card_;
};

}  // namespace dingo::uverbs
