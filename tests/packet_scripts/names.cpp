// SPDX-License-Identifier: BSD-2-Clause
#include "names.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <span>

#include "dingo_hw.h"
#include "script.h"

namespace dingo::wire {
namespace {

struct Name {
    std::string_view name;
    std::uint64_t value;
};

#define N(prefix, name)                \
    Name {                             \
#name, DINGO_##prefix##_##name \
    }

constexpr Name kStatus[] = {
    N(WCS, SUCCESS),           N(WCS, LOC_LEN_ERR),    N(WCS, LOC_QP_OP_ERR),
    N(WCS, LOC_PROT_ERR),      N(WCS, WR_FLUSH_ERR),   N(WCS, MW_BIND_ERR),
    N(WCS, BAD_RESP_ERR),      N(WCS, LOC_ACCESS_ERR), N(WCS, REM_INV_REQ_ERR),
    N(WCS, REM_ACCESS_ERR),    N(WCS, REM_OP_ERR),     N(WCS, RETRY_EXC_ERR),
    N(WCS, RNR_RETRY_EXC_ERR), N(WCS, REM_ABORT_ERR),  N(WCS, FATAL_ERR),
    N(WCS, GENERAL_ERR)};
constexpr Name kVendorError[] = {
    N(VERR, NONE),         N(VERR, WQE_FETCH),    N(VERR, WQE_OPCODE), N(VERR, WQE_SIZE),
    N(VERR, WQE_RESERVED), N(VERR, MSG_TOO_LONG), N(VERR, KEY),        N(VERR, KEY_PD),
    N(VERR, KEY_ACCESS),   N(VERR, KEY_BOUNDS),   N(VERR, KEY_STATE),  N(VERR, BUS),
    N(VERR, RQ_TOO_SHORT), N(VERR, NAK_SEQ),      N(VERR, TIMEOUT),    N(VERR, RNR),
    N(VERR, NAK_INVALID),  N(VERR, NAK_ACCESS),   N(VERR, NAK_OP),     N(VERR, BAD_RESPONSE),
    N(VERR, GID),          N(VERR, ALIGN),        N(VERR, FLUSHED),    N(VERR, RD_ATOMIC),
    N(VERR, QKEY),         N(VERR, CQ_FULL),      N(VERR, BIND)};
constexpr Name kOpcode[] = {
    N(WR, SEND),           N(WR, SEND_IMM), N(WR, SEND_INV),  N(WR, WRITE),     N(WR, WRITE_IMM),
    N(WR, READ),           N(WR, CMP_SWAP), N(WR, FETCH_ADD), N(WR, LOCAL_INV), N(WR, BIND_MW),
    N(WR, REG_MR),         N(WR, NOP),      N(WC, RECV),      N(WC, RECV_IMM),  N(WC, RECV_INV),
    N(WC, RECV_WRITE_IMM), N(WC, ETH_TX),   N(WC, ETH_RX)};
constexpr Name kEvent[] = {N(EV, COMPLETION),  N(EV, CQ_ERR),        N(EV, QP_FATAL),
                           N(EV, QP_REQ_ERR),  N(EV, QP_ACCESS_ERR), N(EV, COMM_EST),
                           N(EV, SQ_DRAINED),  N(EV, QP_LAST_WQE),   N(EV, SRQ_ERR),
                           N(EV, SRQ_LIMIT),   N(EV, PORT_UP),       N(EV, PORT_DOWN),
                           N(EV, DEVICE_FATAL)};
constexpr Name kState[] = {N(QPS, RESET), N(QPS, INIT), N(QPS, RTR), N(QPS, RTS),
                           N(QPS, SQD),   N(QPS, SQE),  N(QPS, ERR)};
constexpr Name kCapability[] = {
    N(CAP, RC),        N(CAP, UC),  N(CAP, UD),       N(CAP, SRQ),       N(CAP, ATOMIC),
    N(CAP, SEND_INV),  N(CAP, MW),  N(CAP, FRWR),     N(CAP, RESIZE_CQ), N(CAP, REREG_MR),
    N(CAP, TIMESTAMP), N(CAP, ETH), N(CAP, PAUSE_MR), N(CAP, COMPUTE_RX)};

#undef N

#define COUNTER(index, name) std::string_view{name},
constexpr std::array kCardCounters = {DINGO_FOR_EACH_CARD_COUNTER(COUNTER)};
constexpr std::array kQpCounters = {DINGO_FOR_EACH_QP_COUNTER(COUNTER)};
#undef COUNTER

std::uint64_t value_of(std::span<const Name> names, std::string_view name, std::string_view what) {
    std::string upper(name);
    for (char& c : upper)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const Name& n : names)
        if (n.name == upper)
            return n.value;
    throw ScriptError(fmt::format("no {} is named '{}'", what, name));
}

std::string text_of(std::span<const Name> names, std::uint64_t value) {
    for (const Name& n : names)
        if (n.value == value)
            return std::string(n.name);
    return fmt::format("{:#x}", value);
}

unsigned index_of(std::span<const std::string_view> names, std::string_view name) {
    for (unsigned i = 0; i < names.size(); ++i)
        if (names[i] == name)
            return i;
    throw ScriptError(fmt::format("no counter is named '{}'", name));
}

}  // namespace

std::uint8_t status_value(std::string_view name) {
    return static_cast<std::uint8_t>(value_of(kStatus, name, "status"));
}
std::uint8_t vendor_error_value(std::string_view name) {
    return static_cast<std::uint8_t>(value_of(kVendorError, name, "vendor error"));
}
std::uint8_t opcode_value(std::string_view name) {
    return static_cast<std::uint8_t>(value_of(kOpcode, name, "work request"));
}
std::uint8_t event_value(std::string_view name) {
    return static_cast<std::uint8_t>(value_of(kEvent, name, "event"));
}
std::uint8_t state_value(std::string_view name) {
    return static_cast<std::uint8_t>(value_of(kState, name, "QP state"));
}
std::uint64_t capability_value(std::string_view name) {
    return value_of(kCapability, name, "capability");
}
unsigned card_counter(std::string_view name) {
    return index_of(kCardCounters, name);
}
unsigned qp_counter(std::string_view name) {
    return index_of(kQpCounters, name);
}

std::uint32_t access_value(std::string_view letters) {
    std::uint32_t access = 0;
    for (char letter : letters) {
        switch (letter) {
            case 'l':
                access |= DINGO_ACC_LOCAL_WRITE;
                break;
            case 'w':
                access |= DINGO_ACC_REMOTE_WRITE;
                break;
            case 'r':
                access |= DINGO_ACC_REMOTE_READ;
                break;
            case 'a':
                access |= DINGO_ACC_REMOTE_ATOMIC;
                break;
            case 'b':
                access |= DINGO_ACC_MW_BIND;
                break;
            case '-':
                break;
            default:
                throw ScriptError(fmt::format("'{}' is no access letter (lwrab)", letter));
        }
    }
    return access;
}

std::string status_text(std::uint8_t value) {
    return text_of(kStatus, value);
}
std::string vendor_error_text(std::uint8_t value) {
    return text_of(kVendorError, value);
}
std::string opcode_text(std::uint8_t value) {
    return text_of(kOpcode, value);
}
std::string event_text(std::uint8_t value) {
    return text_of(kEvent, value);
}
std::string state_text(std::uint8_t value) {
    return text_of(kState, value);
}

}  // namespace dingo::wire
