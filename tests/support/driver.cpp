// SPDX-License-Identifier: BSD-2-Clause
//
// TestDriver: registers, reset, admin queue, port.
#include "driver.h"

#include <algorithm>

namespace dingo::test {

AdminError::AdminError(std::uint16_t opcode, const dingo_admin_cpl& completion)
    : std::runtime_error("admin opcode " + std::to_string(opcode) + ": status " +
                         std::to_string(completion.status) + ", detail " +
                         std::to_string(completion.detail)),
      status(completion.status),
      detail(completion.detail) {}

std::uint32_t TestDriver::read32(std::uint32_t reg) {
    return static_cast<std::uint32_t>(engine_.mmio_read(Bar::kRegisters, reg, 4));
}
std::uint64_t TestDriver::read64(std::uint32_t reg) {
    return engine_.mmio_read(Bar::kRegisters, reg, 8);
}
void TestDriver::write32(std::uint32_t reg, std::uint32_t value) {
    engine_.mmio_write(Bar::kRegisters, reg, value, 4);
}
void TestDriver::write64(std::uint32_t reg, std::uint64_t value) {
    engine_.mmio_write(Bar::kRegisters, reg, value, 8);
}
void TestDriver::doorbell(std::uint32_t page, std::uint32_t word0, std::uint32_t index) {
    constexpr std::uint64_t kSlot = DINGO_DB_FIRST_SLOT;
    engine_.mmio_write(Bar::kDoorbells, std::uint64_t{page} * DINGO_DB_PAGE_SIZE + kSlot * 8,
                       std::uint64_t{index} << 32 | word0, 8);
}

void TestDriver::reset() {
    write32(DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK);
    for (int i = 0; (read32(DINGO_REG_STATUS) & DINGO_STATUS_READY_MASK) == 0; ++i) {
        if (i == 1'000'000) {
            throw std::runtime_error("the card is not ready after reset");
        }
        engine_.run(clock_, 64);
    }
    asq_ = 0;
    next_cq_ = 0;
    next_mr_ = 1;
    next_qp_ = 2;
    next_srq_ = 0;
}

void TestDriver::start(unsigned log_depth) {
    reset();
    start_admin(log_depth);
    start_eqs();
}

void TestDriver::start_admin(unsigned log_depth) {
    log_depth_ = log_depth;
    asq_producer_ = 0;
    acq_consumer_ = 0;
    asq_ = host_.alloc(std::uint64_t{DINGO_ADMIN_CMD_SIZE} << log_depth);
    acq_ = host_.alloc(std::uint64_t{DINGO_ADMIN_CPL_SIZE} << log_depth);
    write64(DINGO_REG_ASQ_BASE, asq_);
    write64(DINGO_REG_ACQ_BASE, acq_);
    write32(DINGO_REG_AQ_CTRL,
            DINGO_AQ_CTRL_ENABLE_MASK | DINGO_PREP(DINGO_AQ_CTRL_LOG_DEPTH_MASK, log_depth));
}

void TestDriver::start_eqs() {
    async_eq = create_eq(0, 0, 8, DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK);
    comp_eq = create_eq(1, 1, 8);
    ring_eq(async_eq);
    ring_eq(comp_eq);
}

void TestDriver::enable_port(std::uint32_t mtu, std::uint32_t flags) {
    dingo_cmd_set_port cmd{};
    cmd.flags = flags | DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK;
    cmd.mtu = mtu;
    execute_ok(DINGO_OP_SET_PORT, cmd);
}

void TestDriver::set_gid(std::uint32_t index, const std::uint8_t (&gid)[16], std::uint16_t vlan,
                         std::uint16_t domain) {
    const std::uint64_t mac = read64(DINGO_REG_MAC);
    dingo_cmd_set_gid cmd{};
    cmd.index = index;
    cmd.valid = 1;
    cmd.vlan = vlan;
    cmd.domain = domain;
    for (unsigned i = 0; i < 6; ++i) {
        cmd.mac[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
    }
    std::ranges::copy(gid, cmd.gid);
    execute_ok(DINGO_OP_SET_GID, cmd);
}

void TestDriver::set_ipv4(std::uint32_t index, std::uint32_t address) {
    std::uint8_t gid[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    for (unsigned i = 0; i < 4; ++i) {
        gid[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
    }
    set_gid(index, gid);
}

void TestDriver::submit_raw(std::span<const std::byte> command) {
    if (asq_ == 0 || command.size() > DINGO_ADMIN_CMD_SIZE) {
        throw std::logic_error("no admin queue, or command too long");
    }
    std::array<std::byte, DINGO_ADMIN_CMD_SIZE> slot{};
    std::ranges::copy(command, slot.begin());
    const std::uint64_t index = asq_producer_++ & ((1u << log_depth_) - 1);
    host_.store(asq_ + index * DINGO_ADMIN_CMD_SIZE, slot);
}

void TestDriver::ring_admin() {
    write32(DINGO_REG_ASQ_DB, asq_producer_);
}

std::optional<dingo_admin_cpl> TestDriver::poll_admin() {
    const std::uint64_t index = acq_consumer_ & ((1u << log_depth_) - 1);
    const auto completion = host_.load<dingo_admin_cpl>(acq_ + index * DINGO_ADMIN_CPL_SIZE);
    const std::uint8_t phase = (acq_consumer_ >> log_depth_ & 1) == 0 ? 1 : 0;
    if ((completion.owner & 1) != phase) {
        return std::nullopt;
    }
    ++acq_consumer_;
    return completion;
}

dingo_admin_cpl TestDriver::execute_raw(std::span<const std::byte> command) {
    submit_raw(command);
    ring_admin();
    for (int i = 0; i < 1'000'000; ++i) {
        if (const auto completion = poll_admin()) {
            return *completion;
        }
        engine_.run(clock_, 64);
    }
    throw std::runtime_error("an admin command did not complete");
}

dingo_admin_cpl TestDriver::destroy(std::uint16_t opcode, std::uint32_t id) {
    dingo_cmd_destroy cmd{};
    cmd.id = id;
    return execute(opcode, cmd);
}

dingo_limits TestDriver::query_limits() {
    dingo_cmd_query_device cmd{};
    cmd.out_addr = host_.alloc(sizeof(dingo_limits));
    cmd.out_len = sizeof(dingo_limits);
    execute_ok(DINGO_OP_QUERY_DEVICE, cmd);
    return host_.load<dingo_limits>(cmd.out_addr);
}

namespace {

dingo_cmd_query_stats stats_command(std::uint64_t addr, std::uint32_t counters, std::uint32_t scope,
                                    std::uint32_t id) {
    dingo_cmd_query_stats cmd{};
    cmd.out_addr = addr;
    cmd.out_len = counters * 8;
    cmd.scope = scope;
    cmd.id = id;
    return cmd;
}

}  // namespace

std::vector<std::uint64_t> TestDriver::card_stats() {
    if (scratch_ == 0) {
        scratch_ = host_.alloc(4096);
    }
    execute_ok(DINGO_OP_QUERY_STATS, stats_command(scratch_, DINGO_CARD_COUNTERS, 0, 0));
    const auto values = host_.load<std::array<std::uint64_t, DINGO_CARD_COUNTERS>>(scratch_);
    return {values.begin(), values.end()};
}

std::vector<std::uint64_t> TestDriver::qp_stats(std::uint32_t qpn) {
    if (scratch_ == 0) {
        scratch_ = host_.alloc(4096);
    }
    execute_ok(DINGO_OP_QUERY_STATS, stats_command(scratch_, DINGO_QP_COUNTERS, 1, qpn));
    const auto values = host_.load<std::array<std::uint64_t, DINGO_QP_COUNTERS>>(scratch_);
    return {values.begin(), values.end()};
}

}  // namespace dingo::test
