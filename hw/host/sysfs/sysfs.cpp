// SPDX-License-Identifier: BSD-2-Clause
#include "host/sysfs/sysfs.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/local_address.h"
#include "host/sysfs/sysfs_text.h"

namespace dingo::uverbs {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPciRoot = "pci0000:00";
constexpr unsigned kFirstBus = 0xc0;
constexpr unsigned kBuses = 0x40;

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
        throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path.string());
    }
}

/// Replaces a file atomically: a reader sees the old or the new text.
void replace_file(const fs::path& path, const std::string& text) {
    const fs::path fresh = path.parent_path() / std::string(".").append(path.filename());
    write_file(fresh, text);
    fs::rename(fresh, path);
}

std::string format(const char* pattern, auto... values) {
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), pattern, values...);
    return text.data();
}

/// Writes the files of the PCI function that lspci-like code, NCCL and UCX read.
void write_pci(const fs::path& dir, const SysfsIdentity& id, std::uint32_t revision) {
    const std::string modalias =
        format("pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X", id.vendor_id, id.device_id,
               id.subsystem_vendor_id, id.subsystem_device_id, id.pci_class >> 16 & 0xff,
               id.pci_class >> 8 & 0xff, id.pci_class & 0xff);
    const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    write_file(dir / "vendor", format("0x%04x\n", id.vendor_id));
    write_file(dir / "device", format("0x%04x\n", id.device_id));
    write_file(dir / "subsystem_vendor", format("0x%04x\n", id.subsystem_vendor_id));
    write_file(dir / "subsystem_device", format("0x%04x\n", id.subsystem_device_id));
    write_file(dir / "class", format("0x%06x\n", id.pci_class));
    write_file(dir / "revision", format("0x%02x\n", revision));
    write_file(dir / "modalias", modalias + "\n");
    write_file(
        dir / "uevent",
        format("DRIVER=dingo\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
               "PCI_SLOT_NAME=%s\nMODALIAS=%s\n",
               id.pci_class, id.vendor_id, id.device_id, id.subsystem_vendor_id,
               id.subsystem_device_id, sysfs_pci_address(id.number).c_str(), modalias.c_str()));
    write_file(dir / "numa_node", "-1\n");
    write_file(dir / "local_cpus", sysfs_cpu_mask(cpus > 0 ? static_cast<unsigned>(cpus) : 1));
    write_file(dir / "local_cpulist", cpus > 1 ? format("0-%ld\n", cpus - 1) : "0\n");
    for (const char* which : {"max", "current"}) {
        write_file(dir / (std::string(which) + "_link_speed"), "16.0 GT/s PCIe\n");
        write_file(dir / (std::string(which) + "_link_width"), "16\n");
    }
    write_file(dir / "enable", "1\n");
}

void write_device(const fs::path& dir, const SysfsIdentity& id, const DeviceAttr& device) {
    write_file(dir / "node_type", "1: CA\n");
    write_file(dir / "node_guid", sysfs_guid(device.node_guid));
    write_file(dir / "sys_image_guid", sysfs_guid(device.sys_image_guid));
    write_file(dir / "node_desc", id.node_desc + "\n");
    const auto fw = static_cast<unsigned>(device.fw_ver);
    write_file(dir / "fw_ver", format("%u.%u.%u\n", fw >> 16, fw >> 8 & 0xff, fw & 0xff));
    write_file(dir / "hw_rev", format("0x%x\n", device.hw_ver));
    write_file(dir / "board_id", id.board_id + "\n");
    write_file(dir / "hca_type", "Dingo\n");
    write_file(dir / "uevent", "NAME=" + id.name + "\n");
}

/// Creates a relative link; link and target are both below `sys`.
void link_inside(const fs::path& link, const fs::path& target) {
    fs::create_directory_symlink(target.lexically_relative(link.parent_path()), link);
}

/// Returns the interface of this host that has the GID's address, as with --wire roce; else "".
std::string netdev_of(const Gid& gid) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    in6_addr address{};
    std::memcpy(&address, gid.data(), sizeof address);
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        ::inet_ntop(AF_INET, gid.data() + 12, text.data(), text.size());
    } else {
        ::inet_ntop(AF_INET6, &address, text.data(), text.size());
    }
    std::array<char, IF_NAMESIZE> name{};
    const unsigned index = interface_index_of(text.data());
    return index != 0 && ::if_indextoname(index, name.data()) != nullptr
               ? std::string(name.data()) + "\n"
               : "";
}

}  // namespace

std::string sysfs_pci_address(unsigned number) {
    return format("0000:%02x:00.0", kFirstBus + number % kBuses);
}

void Sysfs::write_port(const fs::path& port_dir, const PortAttr& port,
                       const std::vector<GidEntry>& gids, bool replace) {
    // A rename over a file may block on a disk and delay the card, so only changed files are
    // written.
    const auto put = [&](const std::string& name, const std::string& text) {
        const auto [known, added] = written_.try_emplace(name, text);
        if (!added && known->second == text) {
            return;
        }
        replace ? replace_file(port_dir / name, text) : write_file(port_dir / name, text);
        known->second = text;
    };
    put("state", sysfs_port_state(port.state));
    put("phys_state", sysfs_phys_state(port.phys_state));
    put("rate", sysfs_rate(port.active_speed, port.active_width));
    put("cap_mask", format("0x%08x\n", port.port_cap_flags));
    std::vector<const GidEntry*> used(port.gid_tbl_len, nullptr);
    for (const GidEntry& gid : gids) {
        if (gid.index < used.size() && gid.gid != Gid{}) {
            used[gid.index] = &gid;
        }
    }
    for (std::size_t n = 0; n < used.size(); n++) {
        const std::string name = std::to_string(n);
        put("gids/" + name, sysfs_gid(used[n] ? used[n]->gid : Gid{}));
        // Empty for an unused GID: the preload library makes read() fail with EINVAL, as the kernel
        // does.
        put("gid_attrs/types/" + name, used[n] ? "RoCE v2\n" : "");
        put("gid_attrs/ndevs/" + name, used[n] ? netdev_of(used[n]->gid) : "");
    }
}

Sysfs::Sysfs(fs::path dir, SysfsIdentity identity, const DeviceAttr& device, const PortAttr& port,
             const std::vector<GidEntry>& gids, const SysfsCounters& counters)
    : dir_(std::move(dir)), identity_(std::move(identity)) {
    const std::string uverbs = "uverbs" + std::to_string(identity_.number);
    const fs::path pci = fs::path("devices") / kPciRoot / sysfs_pci_address(identity_.number);
    const fs::path ib = pci / "infiniband" / identity_.name;
    const fs::path cdev = pci / "infiniband_verbs" / uverbs;
    const fs::path ports = ib / "ports" / "1";
    const fs::path fresh = dir_ / ".fresh";
    const fs::path sys = fresh / "sys";

    fs::remove_all(fresh);
    for (const char* name :
         {"gids", "gid_attrs/types", "gid_attrs/ndevs", "pkeys", "counters", "hw_counters"}) {
        fs::create_directories(sys / ports / name);
    }
    fs::create_directories(sys / cdev);
    fs::create_directories(sys / "class" / "infiniband");
    fs::create_directories(sys / "class" / "infiniband_verbs");
    fs::create_directories(sys / "class" / "infiniband_mad");
    fs::create_directories(fresh / "dev" / "infiniband");

    write_pci(sys / pci, identity_, device.hw_ver);
    link_inside(sys / ib / "device", sys / pci);
    link_inside(sys / ib / "subsystem", sys / "class" / "infiniband");
    write_device(sys / ib, identity_, device);
    for (const auto& [name, text] : {std::pair{"link_layer", "Ethernet\n"},
                                     {"lid", "0x0\n"},
                                     {"lid_mask_count", "0\n"},
                                     {"sm_lid", "0x0\n"},
                                     {"sm_sl", "0\n"},
                                     {"pkeys/0", "0xffff\n"}}) {
        write_file(sys / ports / name, text);
    }
    write_port(sys / ports, port, gids, false);
    for (const auto& [name, value] : counters) {
        write_file(sys / ports / "hw_counters" / name, std::to_string(value) + "\n");
    }
    write_file(sys / ports / "hw_counters" / "lifespan", "0\n");
    for (const std::string& name : sysfs_port_counters()) {
        write_file(sys / ports / "counters" / name,
                   counter("counters/" + name, counters).value_or("0\n"));
    }

    const std::string devno = format("231:%u\n", 192 + identity_.number);
    write_file(sys / cdev / "dev", devno);
    write_file(sys / cdev / "ibdev", identity_.name + "\n");
    write_file(sys / cdev / "abi_version", "1\n");  // DINGO_UVERBS_ABI_VERSION
    write_file(sys / cdev / "uevent", format("MAJOR=231\nMINOR=%u\nDEVNAME=infiniband/%s\n",
                                             192 + identity_.number, uverbs.c_str()));
    link_inside(sys / cdev / "device", sys / pci);
    link_inside(sys / cdev / "subsystem", sys / "class" / "infiniband_verbs");

    // Absolute, as programs that resolve links themselves would follow ../../devices on the real
    // machine.
    write_file(sys / "class" / "infiniband_verbs" / "abi_version", "6\n");
    // IB_USER_MAD_ABI_VERSION. There is no port, as on every RoCE NIC: libibumad looks for
    // InfiniBand ports.
    write_file(sys / "class" / "infiniband_mad" / "abi_version", "5\n");
    const fs::path final_sys = fs::absolute(dir_) / "sys";
    fs::create_directory_symlink(final_sys / ib, sys / "class" / "infiniband" / identity_.name);
    fs::create_directory_symlink(final_sys / cdev, sys / "class" / "infiniband_verbs" / uverbs);
    fs::create_symlink("../../uverbs.sock", fresh / "dev" / "infiniband" / uverbs);

    // rename() does not replace a directory that is not empty
    for (const char* name : {"sys", "dev"}) {
        if (fs::exists(fs::symlink_status(dir_ / name))) {
            fs::rename(dir_ / name, fresh / (std::string("old-") + name));
        }
        fs::rename(fresh / name, dir_ / name);
    }
    fs::remove_all(fresh);
    port_dir_ = dir_ / "sys" / ports;
}

Sysfs::~Sysfs() {
    std::error_code ignored;
    fs::remove_all(dir_ / "dev", ignored);
    fs::remove_all(dir_ / "sys", ignored);
}

void Sysfs::update(const PortAttr& port, const std::vector<GidEntry>& gids) {
    write_port(port_dir_, port, gids, true);
}

std::optional<std::string> Sysfs::counter(const std::string& path, const SysfsCounters& counters) {
    const fs::path file(path);
    const std::string kind = file.parent_path().filename();
    const std::string name = file.filename();
    const auto value = [&](std::string_view wanted) -> std::uint64_t {
        for (const auto& [have, number] : counters) {
            if (have == wanted) {
                return number;
            }
        }
        return 0;
    };
    if (kind == "hw_counters") {
        for (const auto& [have, number] : counters) {
            if (have == name) {
                return std::to_string(number) + "\n";
            }
        }
        return std::nullopt;
    }
    if (kind != "counters") {
        return std::nullopt;
    }
    const auto number = sysfs_port_counter(name, value);
    return number ? std::optional(std::to_string(*number) + "\n") : std::nullopt;
}

}  // namespace dingo::uverbs
