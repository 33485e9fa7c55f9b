// SPDX-License-Identifier: BSD-2-Clause
//
// Datagrams of the communication management class (IBTA 12.6), with one layout for both directions.
// Numbers are in host byte order; the first byte of GIDs, GUIDs and service ids on the wire is the
// most significant one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dingo::cm {

using Gid = std::array<std::uint8_t, 16>;
inline constexpr std::size_t kMadBytes = 256;
using Mad = std::array<std::byte, kMadBytes>;

enum class Attribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kReq = 0x0010,
    kMra = 0x0011,
    kRej = 0x0012,
    kRep = 0x0013,
    kRtu = 0x0014,
    kDreq = 0x0015,
    kDrep = 0x0016,
    kSidrReq = 0x0017,
    kSidrRep = 0x0018,
    kLap = 0x0019,
    kApr = 0x001A,
};

/// Table 107: reasons for a REJ.
enum class Reason : std::uint16_t {
    kNoQp = 1,
    kNoResources = 3,
    kTimeout = 4,
    kUnsupported = 5,
    kInvalidCommId = 6,
    kInvalidServiceId = 8,
    kInvalidTransport = 9,
    kStaleConnection = 10,
    kInvalidGid = 12,
    kInvalidMtu = 26,
    kConsumerDefined = 28,
    kDuplicateCommId = 30,
    kVendorOption = 35,
};

/// Message that a REJ or MRA answers.
enum class Answered : std::uint8_t { kReq = 0, kRep = 1, kOther = 2 };

enum class Transport : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };

struct Req {
    std::uint32_t local_id = 0;
    std::uint64_t service_id = 0;
    std::uint64_t ca_guid = 0;
    std::uint32_t qkey = 0;
    std::uint32_t qpn = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t remote_response_timeout = 0;  ///< 4.096 us * 2^n
    Transport transport = Transport::kRc;
    bool flow_control = false;
    std::uint32_t starting_psn = 0;  ///< first PSN that the receiver of the REQ sends
    std::uint8_t local_response_timeout = 0;
    std::uint8_t retry_count = 0;
    std::uint16_t pkey = 0xffff;
    std::uint8_t path_mtu = 0;  ///< 1..5
    bool rdc_exists = false;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t max_cm_retries = 0;
    bool srq = false;
    std::uint8_t extended_transport = 0;
    std::uint16_t local_lid = 0xffff;  ///< permissive LID, as RoCE has none
    std::uint16_t remote_lid = 0xffff;
    Gid local_gid{};
    Gid remote_gid{};
    std::uint32_t flow_label = 0;
    std::uint8_t packet_rate = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t sl = 0;
    bool subnet_local = false;
    std::uint8_t ack_timeout = 0;
    std::array<std::uint8_t, 92> private_data{};
};

struct Mra {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    Answered answered = Answered::kReq;
    std::uint8_t service_timeout = 0;
    std::array<std::uint8_t, 222> private_data{};
};

struct Rej {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    Answered answered = Answered::kReq;
    std::uint8_t info_length = 0;  ///< valid bytes of info
    std::uint16_t reason = 0;      ///< enum Reason or another value
    std::array<std::uint8_t, 72> info{};
    std::array<std::uint8_t, 148> private_data{};
};

struct Rep {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::uint32_t qkey = 0;
    std::uint32_t qpn = 0;
    std::uint32_t starting_psn = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t target_ack_delay = 0;
    std::uint8_t failover = 0;
    bool flow_control = false;
    std::uint8_t rnr_retry_count = 0;
    bool srq = false;
    std::uint64_t ca_guid = 0;
    std::array<std::uint8_t, 196> private_data{};
};

struct Rtu {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::array<std::uint8_t, 224> private_data{};
};

struct Dreq {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::uint32_t remote_qpn = 0;
    std::array<std::uint8_t, 220> private_data{};
};

struct Drep {
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::array<std::uint8_t, 224> private_data{};
};

struct SidrReq {
    std::uint32_t request_id = 0;
    std::uint16_t pkey = 0xffff;
    std::uint64_t service_id = 0;
    std::array<std::uint8_t, 216> private_data{};
};

/// Status of a SIDR_REP.
enum class SidrStatus : std::uint8_t {
    kSuccess = 0,
    kUnsupported = 1,
    kReject = 2,
    kNoQp = 3,
    kRedirect = 4,
    kUnsupportedVersion = 5,
};

struct SidrRep {
    std::uint32_t request_id = 0;
    std::uint8_t status = 0;  ///< enum SidrStatus or another value
    std::uint8_t info_length = 0;
    std::uint32_t qpn = 0;
    std::uint64_t service_id = 0;
    std::uint32_t qkey = 0;
    std::array<std::uint8_t, 72> info{};
    std::array<std::uint8_t, 136> private_data{};
};

/// The fields of the common header that differ between datagrams of this class.
struct Header {
    Attribute attribute = Attribute::kReq;
    std::uint64_t transaction = 0;
};

/// Returns nullopt if the datagram has another class, version or method.
std::optional<Header> decode_header(std::span<const std::byte, kMadBytes> mad);

/// Reserved bits are sent as 0 and ignored on receipt.
Mad encode(const Req& message, std::uint64_t transaction);
Mad encode(const Mra& message, std::uint64_t transaction);
Mad encode(const Rej& message, std::uint64_t transaction);
Mad encode(const Rep& message, std::uint64_t transaction);
Mad encode(const Rtu& message, std::uint64_t transaction);
Mad encode(const Dreq& message, std::uint64_t transaction);
Mad encode(const Drep& message, std::uint64_t transaction);
Mad encode(const SidrReq& message, std::uint64_t transaction);
Mad encode(const SidrRep& message, std::uint64_t transaction);

/// Decodes the body of a datagram whose header has the message's attribute.
template <typename Message>
Message decode(std::span<const std::byte, kMadBytes> mad);

}  // namespace dingo::cm
