// SPDX-License-Identifier: BSD-2-Clause
// The vfio-user protocol, version 0.0: messages on the socket, in host byte order. Layouts are
// those of the vfio-user specification and, where it refers to it, of <linux/vfio.h>.
#pragma once

#include <linux/vfio.h>

#include <cstddef>
#include <cstdint>

namespace dingo::vfio_user {

enum class Command : std::uint16_t {
    kVersion = 1,
    kDmaMap = 2,
    kDmaUnmap = 3,
    kDeviceGetInfo = 4,
    kDeviceGetRegionInfo = 5,
    kDeviceGetRegionIoFds = 6,
    kDeviceGetIrqInfo = 7,
    kDeviceSetIrqs = 8,
    kRegionRead = 9,
    kRegionWrite = 10,
    kDmaRead = 11,   ///< server to client
    kDmaWrite = 12,  ///< server to client
    kDeviceReset = 13,
    kRegionWriteMulti = 15,
};

inline constexpr std::uint32_t kTypeMask = 0xF;  ///< Header::flags
inline constexpr std::uint32_t kTypeCommand = 0x0;
inline constexpr std::uint32_t kTypeReply = 0x1;
inline constexpr std::uint32_t kFlagNoReply = 0x10;
inline constexpr std::uint32_t kFlagError = 0x20;

struct Header {
    std::uint16_t id;
    std::uint16_t command;
    std::uint32_t size;  ///< bytes of the whole message including this header
    std::uint32_t flags;
    std::uint32_t error;  ///< errno of a reply with kFlagError
};
static_assert(sizeof(Header) == 16);

struct Version {
    std::uint16_t major;
    std::uint16_t minor;
    // then JSON text with a terminating NUL, optional
};
static_assert(sizeof(Version) == 4);

struct DmaMap {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint64_t offset;
    std::uint64_t address;
    std::uint64_t size;
};
static_assert(sizeof(DmaMap) == 32);
inline constexpr std::uint32_t kDmaReadable = 1;
inline constexpr std::uint32_t kDmaWritable = 2;

struct DmaUnmap {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint64_t address;
    std::uint64_t size;
};
static_assert(sizeof(DmaUnmap) == 24);
inline constexpr std::uint32_t kDmaUnmapAll = VFIO_DMA_UNMAP_FLAG_ALL;

struct DeviceInfo {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t num_regions;
    std::uint32_t num_irqs;
};
static_assert(sizeof(DeviceInfo) == 16);

struct RegionInfo {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t index;
    std::uint32_t cap_offset;
    std::uint64_t size;
    std::uint64_t offset;
};
static_assert(sizeof(RegionInfo) == 32);

struct IrqInfo {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t index;
    std::uint32_t count;
};
static_assert(sizeof(IrqInfo) == 16);

struct IrqSet {
    std::uint32_t argsz;
    std::uint32_t flags;
    std::uint32_t index;
    std::uint32_t start;
    std::uint32_t count;
    // then count bytes with VFIO_IRQ_SET_DATA_BOOL
};
static_assert(sizeof(IrqSet) == 20);

struct RegionAccess {
    std::uint64_t offset;
    std::uint32_t region;
    std::uint32_t count;
    // then count bytes in a write and in the reply to a read
};
static_assert(sizeof(RegionAccess) == 16);

struct RegionWriteOne {
    RegionAccess access;
    std::uint8_t data[8];
};
static_assert(sizeof(RegionWriteOne) == 24);

struct DmaAccess {
    std::uint64_t address;
    std::uint64_t count;
    // then count bytes in a write and in the reply to a read
};
static_assert(sizeof(DmaAccess) == 16);

/// Largest `count` of a region or DMA access: the protocol's default, which we announce.
inline constexpr std::uint32_t kMaxTransfer = 1024 * 1024;
/// Maximum number of descriptors per message, which we announce.
inline constexpr std::size_t kMaxFds = 8;
/// Maximum size of a valid message; accesses of kMaxTransfer bytes are the longest.
inline constexpr std::uint32_t kMaxMessage = kMaxTransfer + 4096;
/// Maximum number of DMA_MAP windows; the protocol's default.
inline constexpr std::size_t kMaxDmaMaps = 65535;

}  // namespace dingo::vfio_user
