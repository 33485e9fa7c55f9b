// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/admin_queue.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/errno_error.h"
#include "base/log.h"
#include "base/ordered_write.h"

namespace dingo::uverbs {
namespace {

constexpr unsigned kLogDepth = 4;
constexpr std::uint32_t kDepth = 1U << kLogDepth;
/// Engine rounds between two reads of the clock.
constexpr unsigned kRounds = 1024;

/// Index: enum st.
constexpr std::array<int, 10> kErrno{0,     EOPNOTSUPP, EINVAL, ENOENT, EEXIST,
                                     EBUSY, ENOMEM,     EINVAL, EIO,    EOPNOTSUPP};
static_assert(DINGO_ST_BAD_OPCODE == 1 && DINGO_ST_BAD_FIELD == 2 && DINGO_ST_BAD_ID == 3 &&
              DINGO_ST_IN_USE == 4 && DINGO_ST_BUSY == 5 && DINGO_ST_NO_RESOURCE == 6 &&
              DINGO_ST_BAD_STATE == 7 && DINGO_ST_BUS_ERROR == 8 && DINGO_ST_UNSUPPORTED == 9);

}  // namespace

AdminQueue::AdminQueue(LocalCard& card, BusMap& bus)
    : card_(card),
      sq_(bus, kDepth * DINGO_ADMIN_CMD_SIZE),
      cq_(bus, kDepth * DINGO_ADMIN_CPL_SIZE),
      out_(bus, kPageBytes) {
    card_.write(Bar::kRegisters, DINGO_REG_ASQ_BASE, sq_.address(), 8);
    card_.write(Bar::kRegisters, DINGO_REG_ACQ_BASE, cq_.address(), 8);
    card_.write(Bar::kRegisters, DINGO_REG_AQ_CTRL,
                DINGO_AQ_CTRL_ENABLE_MASK | DINGO_PREP(DINGO_AQ_CTRL_LOG_DEPTH_MASK, kLogDepth), 4);
}

std::span<std::byte> AdminQueue::out() {
    std::ranges::fill(out_.bytes(), std::byte{0});
    return out_.bytes();
}

const dingo_admin_cpl* AdminQueue::wait() {
    const auto* entry = reinterpret_cast<const dingo_admin_cpl*>(
        cq_.bytes().data() + (consumer_ & (kDepth - 1)) * DINGO_ADMIN_CPL_SIZE);
    const unsigned phase = (consumer_ & kDepth) == 0 ? 1 : 0;
    const auto give_up =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(DINGO_ADMIN_TIMEOUT_MS);
    do {
        for (unsigned round = 0; round < kRounds; ++round) {
            if ((read_owner(*entry) & 1U) == phase) {
                ++consumer_;
                return entry;
            }
            card_.run_engine();
        }
        const auto status =
            static_cast<std::uint32_t>(card_.read(Bar::kRegisters, DINGO_REG_STATUS, 4));
        if ((status & DINGO_STATUS_FATAL_MASK) != 0) {
            log::error("the card reports fatal error {}",
                       card_.read(Bar::kRegisters, DINGO_REG_FATAL, 4));
            return nullptr;
        }
    } while (std::chrono::steady_clock::now() < give_up);
    log::error("an admin command got no answer: the card has failed");
    return nullptr;
}

AdminQueue::Results AdminQueue::execute_raw(std::span<const std::byte> command,
                                            std::uint16_t opcode) {
    return card_.gate()->run([&] { return execute_here(command, opcode); });
}

AdminQueue::Results AdminQueue::execute_here(std::span<const std::byte> command,
                                             std::uint16_t opcode) {
    if (failed_) {
        throw ErrnoError(EIO);
    }
    const auto slot = sq_.bytes().subspan((producer_ & (kDepth - 1)) * DINGO_ADMIN_CMD_SIZE,
                                          DINGO_ADMIN_CMD_SIZE);
    std::ranges::fill(slot, std::byte{0});
    std::ranges::copy(command, slot.begin());
    card_.write(Bar::kRegisters, DINGO_REG_ASQ_DB, ++producer_, 4);
    const dingo_admin_cpl* completion = wait();
    if (completion == nullptr) {
        failed_ = true;
        throw ErrnoError(EIO);
    }
    if (completion->status != DINGO_ST_OK) {
        log::debug("admin command 0x{:02x}: status {}, detail {}", opcode,
                   std::uint32_t{completion->status}, std::uint32_t{completion->detail});
        throw ErrnoError(completion->status < kErrno.size() ? kErrno[completion->status] : EIO);
    }
    Results results{};
    std::memcpy(results.data(), completion->result, sizeof results);
    return results;
}

AdminQueue::Results AdminQueue::destroy(std::uint16_t opcode, std::uint32_t id) {
    dingo_cmd_destroy command{};
    command.id = id;
    try {
        return execute(opcode, command);
    } catch (const ErrnoError&) {
        if (failed_) {
            return {};
        }
        throw;
    }
}

}  // namespace dingo::uverbs
