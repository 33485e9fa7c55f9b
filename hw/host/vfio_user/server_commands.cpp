// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_text.h"
#include "base/ordered_write.h"
#include "server.h"

namespace dingo::vfio_user {
namespace {

constexpr std::size_t kMaxVersionText = 4096;
/// INTx, MSI, MSI-X. There are no error and unplug request interrupts: QEMU queries these indexes
/// anyway and warns if they exist without vectors.
constexpr std::uint32_t kNumIrqs = VFIO_PCI_MSIX_IRQ_INDEX + 1;

template <typename T>
T fixed_part(const VfioMessage& m) {
    T value;
    std::memcpy(&value, m.payload.data(), sizeof value);  // the dispatcher has checked the size
    return value;
}

template <typename T>
void append(std::vector<std::byte>& to, const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Returns the largest naturally aligned access at `offset`, at most 8 and `left` bytes.
unsigned access_size(std::uint64_t offset, std::size_t left) {
    const auto aligned = offset == 0 ? 8u : 1u << std::min(std::countr_zero(offset), 3);
    return static_cast<unsigned>(std::min<std::size_t>(aligned, std::bit_floor(left)));
}

}  // namespace

int Server::do_version(VfioMessage& m, Reply& reply) {
    if (negotiated_) {
        return EINVAL;
    }
    const auto version = fixed_part<Version>(m);
    if (version.major != 0) {
        fail("client speaks another major version of vfio-user");
        return EPROTO;
    }
    const std::string_view text(reinterpret_cast<const char*>(m.payload.data()) + sizeof version,
                                m.payload.size() - sizeof version);
    if (!text.empty()) {
        if (text.size() > kMaxVersionText || text.back() != '\0') {
            return EINVAL;
        }
        const auto json = json_value(text.substr(0, text.size() - 1));
        if (!json.is_object()) {
            return EINVAL;
        }
        const auto caps = json.find("capabilities");
        if (caps != json.end() && !caps->is_object()) {
            return EINVAL;
        }
        if (caps != json.end() && caps->contains("max_data_xfer_size")) {
            const auto& max = (*caps)["max_data_xfer_size"];
            if (!max.is_number_unsigned() || max.get<std::uint64_t>() == 0) {
                return EINVAL;
            }
            client_max_transfer_ = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(max.get<std::uint64_t>(), kMaxTransfer));
        }
    }
    negotiated_ = true;
    append(reply.bytes, Version{0, 0});
    // Short, as QEMU has room only for a reply of its own request's length.
    const std::string caps = R"({"capabilities":{"max_msg_fds":)" + std::to_string(kMaxFds) +
                             R"(,"max_data_xfer_size":)" + std::to_string(kMaxTransfer) + "}}";
    const auto bytes = std::as_bytes(std::span(caps.c_str(), caps.size() + 1));
    reply.bytes.insert(reply.bytes.end(), bytes.begin(), bytes.end());
    return 0;
}

int Server::do_dma_map(VfioMessage& m, Reply&) {
    const auto map = fixed_part<DmaMap>(m);
    if (map.argsz < sizeof map || m.fds.size() > 1) {
        return EINVAL;
    }
    UniqueFd fd = m.fds.empty() ? UniqueFd() : std::move(m.fds.front());
    return dma_.map(map.address, map.size, map.offset, map.flags, std::move(fd));
}

int Server::do_dma_unmap(VfioMessage& m, Reply& reply) {
    const auto unmap = fixed_part<DmaUnmap>(m);
    if (unmap.argsz < sizeof unmap || (unmap.flags & ~kDmaUnmapAll) != 0) {
        return EINVAL;
    }
    if (in_call_) {
        dma_.hold();  // the engine may hold a pointer into the window
    }
    if ((unmap.flags & kDmaUnmapAll) != 0) {
        if (unmap.address != 0 || unmap.size != 0) {
            return EINVAL;
        }
        dma_.unmap_all();
    } else if (const int error = dma_.unmap(unmap.address, unmap.size); error != 0) {
        return error;
    }
    append(reply.bytes, unmap);
    return 0;
}

int Server::do_get_info(VfioMessage& m, Reply& reply) {
    if (fixed_part<DeviceInfo>(m).argsz < sizeof(DeviceInfo)) {
        return EINVAL;
    }
    append(reply.bytes,
           DeviceInfo{sizeof(DeviceInfo), VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
                      VFIO_PCI_NUM_REGIONS, kNumIrqs});
    return 0;
}

std::uint64_t Server::region_size(std::uint32_t region) const {
    switch (region) {
        case VFIO_PCI_BAR0_REGION_INDEX:
            return identity_.bar0_size;
        case VFIO_PCI_BAR2_REGION_INDEX:
            return identity_.bar2_size;
        case VFIO_PCI_BAR4_REGION_INDEX:
            return identity_.bar4_size;
        case VFIO_PCI_CONFIG_REGION_INDEX:
            return PciConfig::kSize;
        default:
            return 0;
    }
}

int Server::do_get_region_info(VfioMessage& m, Reply& reply) {
    auto info = fixed_part<RegionInfo>(m);
    if (info.argsz < sizeof info || info.index >= VFIO_PCI_NUM_REGIONS) {
        return EINVAL;
    }
    info = RegionInfo{sizeof info, 0, info.index, 0, region_size(info.index), 0};
    if (info.size != 0) {
        info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    }
    if (info.index == VFIO_PCI_BAR2_REGION_INDEX && device_->doorbell_fd() >= 0) {
        info.flags |= VFIO_REGION_INFO_FLAG_MMAP;
        reply.fd = device_->doorbell_fd();
    }
    if (info.index == VFIO_PCI_BAR4_REGION_INDEX && info.size != 0 && device_->memory_fd() >= 0) {
        info.flags |= VFIO_REGION_INFO_FLAG_MMAP;
        reply.fd = device_->memory_fd();
    }
    append(reply.bytes, info);
    return 0;
}

int Server::do_get_irq_info(VfioMessage& m, Reply& reply) {
    auto info = fixed_part<IrqInfo>(m);
    if (info.argsz < sizeof info || info.index >= kNumIrqs) {
        return EINVAL;
    }
    const bool msix = info.index == VFIO_PCI_MSIX_IRQ_INDEX;
    append(reply.bytes,
           IrqInfo{sizeof info, msix ? VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE : 0u,
                   info.index, msix ? irq_->count() : 0u});
    return 0;
}

int Server::do_set_irqs(VfioMessage& m, Reply&) {
    const auto set = fixed_part<IrqSet>(m);
    if (set.argsz < sizeof set || set.index >= kNumIrqs) {
        return EINVAL;
    }
    if (set.index != VFIO_PCI_MSIX_IRQ_INDEX) {
        // The other kinds have no interrupts; disabling them is allowed.
        return set.count == 0 && m.fds.empty() ? 0 : EINVAL;
    }
    return irq_->set(set, std::span<const std::byte>(m.payload).subspan(sizeof set), m.fds);
}

bool Server::valid_access(const RegionAccess& access) const {
    const std::uint64_t size = region_size(access.region);
    return access.count != 0 && access.count <= kMaxTransfer && access.offset < size &&
           access.count <= size - access.offset;
}

int Server::do_region_read(VfioMessage& m, Reply& reply) {
    const auto access = fixed_part<RegionAccess>(m);
    if (!valid_access(access) || m.payload.size() != sizeof access) {
        return EINVAL;
    }
    append(reply.bytes, access);
    reply.bytes.resize(sizeof access + access.count);
    read_region(access, std::span(reply.bytes).subspan(sizeof access));
    return 0;
}

int Server::do_region_write(VfioMessage& m, Reply& reply) {
    const auto access = fixed_part<RegionAccess>(m);
    if (!valid_access(access) || m.payload.size() != sizeof access + access.count) {
        return EINVAL;
    }
    write_region(access, std::span<const std::byte>(m.payload).subspan(sizeof access));
    append(reply.bytes, access);
    return 0;
}

// write_multiple is not announced, but a client may use it as other servers support it.
int Server::do_region_write_multi(VfioMessage& m, Reply& reply) {
    const auto count = fixed_part<std::uint64_t>(m);
    const auto rest = std::span<const std::byte>(m.payload).subspan(sizeof count);
    if (rest.size() % sizeof(RegionWriteOne) != 0 ||
        count != rest.size() / sizeof(RegionWriteOne)) {
        return EINVAL;
    }
    const auto nth = [&](std::size_t i) {
        RegionWriteOne one;
        std::memcpy(&one, rest.data() + i * sizeof one, sizeof one);
        return one;
    };
    for (std::size_t i = 0; i < count; ++i) {  // all or nothing
        const RegionWriteOne one = nth(i);
        if (!valid_access(one.access) || one.access.count > sizeof one.data) {
            return EINVAL;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        const RegionWriteOne one = nth(i);
        write_region(one.access, std::as_bytes(std::span(one.data)).first(one.access.count));
    }
    append(reply.bytes, count);
    return 0;
}

int Server::do_reset(VfioMessage& m, Reply&) {
    if (!m.payload.empty()) {
        return EINVAL;
    }
    reset_device();
    return 0;
}

bool Server::in_msix_area(std::uint64_t offset) const {
    const std::uint64_t table = identity_.msix_table_offset;
    const std::uint64_t pba = identity_.msix_pba_offset;
    return (offset >= table && offset - table < msix_table_.size()) ||
           (offset >= pba && offset - pba < (identity_.msix_vectors + 63) / 64 * 8);
}

void Server::read_region(const RegionAccess& access, std::span<std::byte> out) {
    if (access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
        pci_->read(access.offset, out);
        return;
    }
    if (access.region == VFIO_PCI_BAR4_REGION_INDEX) {
        std::copy_n(memory_at(access, false).begin(), out.size(), out.begin());
        return;
    }
    const Bar bar = access.region == VFIO_PCI_BAR2_REGION_INDEX ? Bar::kDoorbells : Bar::kRegisters;
    for (std::size_t done = 0; done < out.size();) {
        const std::uint64_t offset = access.offset + done;
        const unsigned size = access_size(offset, out.size() - done);
        const auto piece = out.subspan(done, size);
        if (bar == Bar::kRegisters && in_msix_area(offset)) {
            read_msix(offset, piece);
        } else {
            const std::uint64_t value = device_->read(bar, offset, size);
            std::memcpy(piece.data(), &value, size);
        }
        done += size;
    }
}

void Server::write_region(const RegionAccess& access, std::span<const std::byte> in) {
    if (access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
        if (pci_->write(access.offset, in)) {
            if (in_call_) {
                reset_wanted_ = true;
                abort_dma_ = true;
            } else {
                reset_device();
            }
        }
        return;
    }
    if (access.region == VFIO_PCI_BAR4_REGION_INDEX) {
        write_in_order(memory_at(access, true).data(), in);
        return;
    }
    const Bar bar = access.region == VFIO_PCI_BAR2_REGION_INDEX ? Bar::kDoorbells : Bar::kRegisters;
    for (std::size_t done = 0; done < in.size();) {
        const std::uint64_t offset = access.offset + done;
        const unsigned size = access_size(offset, in.size() - done);
        const auto piece = in.subspan(done, size);
        if (bar == Bar::kRegisters && in_msix_area(offset)) {
            write_msix(offset, piece);
        } else {
            std::uint64_t value = 0;
            std::memcpy(&value, piece.data(), size);
            device_->write(bar, offset, value, size);
        }
        done += size;
    }
}

std::span<std::byte> Server::memory_at(const RegionAccess& access, bool write) {
    device_->count_memory_access(write, access.count);
    return device_->memory().subspan(access.offset, access.count);
}

// Table and PBA are aligned to 8 bytes and multiples of 8 long, so an access lies in one of them.
void Server::read_msix(std::uint64_t offset, std::span<std::byte> out) const {
    const std::uint64_t in_table = offset - identity_.msix_table_offset;
    if (in_table < msix_table_.size()) {
        std::copy_n(msix_table_.begin() + static_cast<std::ptrdiff_t>(in_table), out.size(),
                    out.begin());
    } else {
        irq_->read_pba(offset - identity_.msix_pba_offset, out);
    }
}

void Server::write_msix(std::uint64_t offset, std::span<const std::byte> in) {
    const std::uint64_t in_table = offset - identity_.msix_table_offset;
    if (in_table < msix_table_.size()) {  // the PBA is read-only
        std::copy(in.begin(), in.end(),
                  msix_table_.begin() + static_cast<std::ptrdiff_t>(in_table));
    }
}

}  // namespace dingo::vfio_user
