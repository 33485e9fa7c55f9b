// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/event_queues.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/errno_error.h"
#include "base/ordered_write.h"

namespace dingo::uverbs {
namespace {

constexpr unsigned kMinLogEq = 6;
/// Further events wait on the card (counter eq_overflow), so none is lost.
constexpr unsigned kMaxLogEq = 14;

unsigned log_for(std::uint64_t events, const dingo_limits& limits) {
    const auto wanted =
        static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(events, 1) - 1));
    return std::clamp(wanted, kMinLogEq,
                      std::max(kMinLogEq, std::min<unsigned>(limits.log_max_eq, kMaxLogEq)));
}

}  // namespace

EventQueues::EventQueues(LocalCard& card, AdminQueue& admin, BusMap& bus,
                         const dingo_limits& limits)
    : card_(card) {
    const auto vectors =
        static_cast<std::uint32_t>(card.read(Bar::kRegisters, DINGO_REG_VECTORS, 4));
    if (limits.max_eq < 2 || vectors < 2) {
        throw ErrnoError(ENODEV);
    }
    const std::uint32_t cpus = std::max(1U, std::thread::hardware_concurrency());
    const std::uint32_t comp =
        std::min({vectors - 1, std::uint32_t{DINGO_MSIX_MAX} - 1, limits.max_eq - 1, cpus});
    create(admin, bus, 0,
           log_for(std::uint64_t{limits.max_qp} + limits.max_srq + limits.max_cq, limits));
    for (std::uint32_t n = 1; n <= comp; ++n) {
        create(admin, bus, n, log_for(limits.max_cq, limits));
    }
}

void EventQueues::create(AdminQueue& admin, BusMap& bus, std::uint32_t number, unsigned log_size) {
    Queue eq{std::make_unique<QueueMemory>(bus, std::size_t{DINGO_EQE_SIZE} << log_size), number,
             log_size};
    dingo_cmd_create_eq cmd{};
    cmd.eqn = number;
    cmd.vector = static_cast<std::uint16_t>(number);
    cmd.log_size = static_cast<std::uint8_t>(log_size);
    cmd.flags = number == 0 ? DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK : 0;
    cmd.ring = eq.memory->describe();
    admin.execute(DINGO_OP_CREATE_EQ, cmd);
    ring(eq, true);
    eqs_.push_back(std::move(eq));
}

void EventQueues::ring(const Queue& eq, bool arm) {
    const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_EQ) |
                                DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, eq.number) |
                                DINGO_PREP(DINGO_DOORBELL_WORD0_ARM_MASK, arm ? 1U : 0U);
    card_.ring(std::uint64_t{DINGO_DB_PAGE_KERNEL} * DINGO_DB_PAGE_SIZE +
                   DINGO_DB_FIRST_SLOT * sizeof(std::uint64_t),
               std::uint64_t{eq.consumer} << 32 | word0);
}

bool EventQueues::poll(Queue& eq, const std::function<void(const dingo_eqe&)>& dispatch) {
    const std::uint32_t size = 1U << eq.log_size;
    std::uint32_t taken = 0;
    // At most a ring full: the armed EQ raises the next interrupt.
    for (; taken < size; ++taken) {
        const auto* entry = reinterpret_cast<const dingo_eqe*>(
            eq.memory->bytes().data() + (eq.consumer & (size - 1)) * DINGO_EQE_SIZE);
        const unsigned phase = (eq.consumer & size) == 0 ? 1 : 0;
        if ((read_owner(*entry) & 1U) != phase) {
            break;
        }
        dingo_eqe event;
        std::memcpy(&event, entry, sizeof event);
        ++eq.consumer;
        if (taken % (size / 4) == size / 4 - 1) {
            ring(eq, false);
        }
        dispatch(event);
    }
    if (taken != 0) {
        ring(eq, true);
    }
    return taken != 0;
}

bool EventQueues::poll(std::uint64_t vectors,
                       const std::function<void(const dingo_eqe&)>& dispatch) {
    bool any = false;
    for (Queue& eq : eqs_) {
        if ((vectors >> eq.number & 1) != 0) {
            any |= poll(eq, dispatch);
        }
    }
    return any;
}

}  // namespace dingo::uverbs
