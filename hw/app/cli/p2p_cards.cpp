// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/p2p_cards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "app/cli/error.h"

namespace dingo::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
// As in the contract; this command identifies cards by their sysfs files.
constexpr std::uint64_t kVendor = 0x1234;
constexpr std::uint64_t kDevice = 0xD160;
constexpr unsigned kMemoryBar = 4;

fs::path pci(const std::string& address) {
    return fs::path("sys/bus/pci/devices") / address;
}

std::uint64_t number(const std::string& text, int base) {
    std::uint64_t value = 0;
    const char* const begin = text.data() + (text.starts_with("0x") ? 2 : 0);
    std::from_chars(begin, text.data() + text.size(), value, text.starts_with("0x") ? 16 : base);
    return value;
}

std::uint64_t number_in(const KernelFiles& files, const fs::path& path, int base = 10) {
    return number(files.read(path).value_or(""), base);
}

struct BarPlace {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

/// Parses line 4 of `resource`: start, end, flags.
BarPlace memory_bar(const KernelFiles& files, const std::string& address) {
    std::istringstream lines(files.read(pci(address) / "resource").value_or(""));
    std::string start, end, flags;
    for (unsigned i = 0; i <= kMemoryBar; ++i) {
        if (!(lines >> start >> end >> flags))
            return {};
    }
    BarPlace bar{number(start, 16), 0};
    const std::uint64_t last = number(end, 16);
    if (number(flags, 16) != 0 && last > bar.start)
        bar.size = last - bar.start + 1;
    return bar;
}

std::vector<P2pUser> users_of(const KernelFiles& files, const std::string& address) {
    std::vector<P2pUser> users;
    std::istringstream lines(files.read(pci(address) / "dingo/p2p_users").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        P2pUser user;
        words >> user.pid >> user.bytes >> std::ws;
        std::getline(words, user.name);
        users.push_back(user);
    }
    return users;
}

P2pCard describe(const KernelFiles& files, const std::string& address) {
    P2pCard card;
    card.address = address;
    const auto devices = files.list(pci(address) / "infiniband");
    if (!devices.empty())
        card.device = devices.front();
    card.driver = files.real(pci(address) / "driver").filename() == "dingo";
    const BarPlace bar = memory_bar(files, address);
    card.bar = bar.start != 0 ? bar.size : 0;
    card.resizable = number_in(files, pci(address) / "resource4_resize", 16);
    card.memory = std::max(bar.size, number_in(files, pci(address) / "dingo/card_memory"));
    card.free = number_in(files, pci(address) / "p2pmem/available");
    card.counts = files.read(pci(address) / "dingo/memory_counts") == "1";
    card.users = users_of(files, address);
    if (const auto state = files.read(pci(address) / "dingo/p2p"))
        card.state = *state;
    else if (bar.size != 0)
        card.state = bar.start == 0 ? "no iomem" : "false";
    return card;
}

/// Returns the root port above the card, or the card itself if there is none.
std::string top_port(const KernelFiles& files, const std::string& address) {
    for (const fs::path& part : files.real(pci(address))) {
        std::string name = part.string();
        if (name.size() == address.size() && name[4] == ':')
            return name;
    }
    return address;
}

/// Returns the size in bytes of the largest address window of the root bus.
std::uint64_t largest_window(const KernelFiles& files, const std::string& address) {
    std::uint64_t largest = 0;
    const std::string bus = "PCI Bus " + top_port(files, address).substr(0, 7);
    std::istringstream lines(files.read("proc/iomem").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(' ') || !line.ends_with(bus))
            continue;
        const std::uint64_t start = number(line.substr(0, line.find('-')), 16);
        const std::uint64_t end = number(line.substr(line.find('-') + 1), 16);
        largest = std::max(largest, end - start + 1);
    }
    return largest;
}

// PCI Express, Resizable BAR capability: one control register per resizable BAR.
constexpr std::size_t kExtended = 0x100;
constexpr std::size_t kConfigSize = 4096;
constexpr std::uint32_t kRebarCapability = 0x15;

std::uint32_t config32(int fd, std::size_t at) {
    std::uint32_t value = 0;
    return ::pread(fd, &value, sizeof value, static_cast<off_t>(at)) == sizeof value ? value : 0;
}

// Command register, memory space enable: the function responds to accesses to its BARs.
constexpr off_t kCommand = 4;
constexpr std::uint16_t kDecodeMemory = 2;

int stop_decoding(int fd) {
    std::uint16_t command = 0;
    if (::pread(fd, &command, sizeof command, kCommand) != sizeof command)
        return EIO;
    command &= static_cast<std::uint16_t>(~kDecodeMemory);
    return ::pwrite(fd, &command, sizeof command, kCommand) < 0 ? errno : 0;
}

/// Makes the card store the BAR size for the next assignment of addresses. Returns 0 or an errno.
/// No driver may be bound: with another size the card would respond to addresses of other devices,
/// so its memory decoding is disabled from now on (PCI Express, Resizable BAR: memory space must be
/// disabled while the size is written).
int remember_size(const KernelFiles& files, const std::string& address, unsigned size) {
    const int fd = ::open(files.at(pci(address) / "config").c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = stop_decoding(fd);
    if (error != 0) {
        ::close(fd);
        return error;
    }
    error = EOPNOTSUPP;
    std::size_t at = kExtended;
    for (int hops = 0; hops < 64 && at >= kExtended && at < kConfigSize - 8; ++hops) {
        const std::uint32_t header = config32(fd, at);
        if ((header & 0xFFFF) != kRebarCapability) {
            at = header >> 20;
            continue;
        }
        const unsigned bars = config32(fd, at + 8) >> 5 & 7;
        for (unsigned n = 0; n < bars; ++n) {
            const std::size_t control = at + 8 + 8 * n;
            std::uint32_t value = config32(fd, control);
            if ((value & 7) == kMemoryBar) {
                value = (value & ~0x3F00U) | size << 8;
                error =
                    ::pwrite(fd, &value, sizeof value, static_cast<off_t>(control)) < 0 ? errno : 0;
            }
        }
        break;
    }
    ::close(fd);
    return error;
}

std::string holders(const KernelFiles& files, const P2pCard& card) {
    std::string text;
    std::uint64_t held = 0;
    for (const P2pUser& user : card.users) {
        text += fmt::format("{}{} (process {}, {})", text.empty() ? "" : ", ", user.name, user.pid,
                            binary_size(user.bytes));
        held += (user.bytes + 4095) / 4096 * 4096;
    }
    const std::uint64_t all = number_in(files, pci(card.address) / "p2pmem/size");
    if (all > held + card.free)
        text += fmt::format(
            "{}the kernel (NVMe target with p2pmem) or a process that has mapped p2pmem/allocate "
            "({})",
            text.empty() ? "" : ", ", binary_size(all - held - card.free));
    return text.empty() ? "a process that has just started or exited" : text;
}

[[noreturn]] void cannot(const std::string& what, int error) {
    if (error == EACCES || error == EPERM)
        throw Error(what + ": only root may do that");
    throw Error(fmt::format("{}: {}", what, std::generic_category().message(error)));
}

void must_write(KernelFiles& files, const fs::path& path, const std::string& text,
                const std::string& what) {
    if (const int error = files.write(path, text); error != 0)
        cannot(what, error);
}

void enumerate_again(KernelFiles& files, const P2pCard& card) {
    const std::string top = top_port(files, card.address);
    must_write(files, pci(top) / "remove", "1", "removing the devices below " + top);
    must_write(files, "sys/bus/pci/rescan", "1", "rescanning the PCI bus");
}

void check_not_in_use(const KernelFiles& files, const P2pCard& card) {
    if (!card.users.empty())
        throw Error(fmt::format("the memory of {} is in use by {}: stop that use, then try again",
                                card.address, holders(files, card)));
}

/// Unbinds the card's driver for the duration of a step.
class WithoutDriver {
  public:
    WithoutDriver(KernelFiles& files, const P2pCard& card) : files_(files), card_(card) {
        if (card.driver)
            must_write(files, "sys/bus/pci/drivers/dingo/unbind", card.address,
                       "unbinding the card from its driver");
    }
    /// Leaves the driver unbound: binding it would make the kernel write the size that it knows.
    void for_good() { back_ = false; }
    ~WithoutDriver() {
        if (card_.driver && back_)
            files_.write("sys/bus/pci/drivers/dingo/bind", card_.address);
    }
    WithoutDriver(const WithoutDriver&) = delete;
    WithoutDriver& operator=(const WithoutDriver&) = delete;

  private:
    KernelFiles& files_;
    const P2pCard& card_;
    bool back_ = true;
};

/// `but`: restriction that applies until then.
[[noreturn]] void no_room_now(const P2pCard& card, std::string_view but = "") {
    throw Error(fmt::format(
        "the bridges above {} have no free address space of {} now. Do a warm reboot: the card "
        "keeps the setting{}, and the BIOS assigns the space. Or run 'dingo p2p enable -f', which "
        "removes all devices below the same root port and rescans the bus",
        card.address, binary_size(card.wanted()), but));
}

/// Makes BAR_MEM as large as the memory.
void grow(KernelFiles& files, const P2pCard& card, bool force) {
    const std::uint64_t window = largest_window(files, card.address);
    if (window != 0 && window < card.wanted())
        throw Error(fmt::format(
            "not enough I/O memory: the largest window of the root bus has {}, the card needs {}. "
            "In the BIOS setup enable 'Above 4G decoding' (large BARs, 64-bit MMIO) and enlarge "
            "the MMIO space",
            binary_size(window), binary_size(card.wanted())));
    if (card.state == "no iomem" && !force)
        no_room_now(card);
    check_not_in_use(files, card);
    if (card.state != "no iomem") {
        WithoutDriver alone(files, card);
        const auto size = static_cast<unsigned>(std::bit_width(card.wanted() / kMiB) - 1);
        const int error = files.write(pci(card.address) / "resource4_resize", std::to_string(size));
        if (error == 0)
            return;
        if (error != ENOSPC && error != EBUSY)
            cannot("resizing BAR 4", error);
        if (const int failed = remember_size(files, card.address, size); failed != 0)
            cannot("enlarging BAR 4", failed);
        alone.for_good();
        if (!force)
            no_room_now(card, " and has no driver until then");
    }
    enumerate_again(files, card);
}

}  // namespace

std::optional<std::string> KernelFiles::read(const fs::path& path) const {
    std::ifstream file(at(path));
    std::ostringstream text;
    if (!file || !(text << file.rdbuf()))
        return std::nullopt;
    std::string all = text.str();
    if (all.ends_with('\n'))
        all.pop_back();
    return all;
}

int KernelFiles::write(const fs::path& path, const std::string& text) {
    const int fd = ::open(at(path).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    const int error = ::write(fd, text.data(), text.size()) < 0 ? errno : 0;
    ::close(fd);
    return error;
}

std::vector<std::string> KernelFiles::list(const fs::path& path) const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(at(path), none))
        names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

fs::path KernelFiles::real(const fs::path& path) const {
    std::error_code none;
    const fs::path whole = fs::canonical(at(path), none);
    return none ? fs::path() : whole.lexically_relative(fs::canonical(root_, none));
}

std::uint64_t P2pCard::wanted() const {
    const std::uint64_t largest =
        resizable == 0 ? 0 : (std::uint64_t{1} << (std::bit_width(resizable) - 1)) * kMiB;
    return std::max({memory, bar, largest});
}

std::vector<P2pCard> p2p_cards(const KernelFiles& files) {
    std::vector<P2pCard> cards;
    for (const std::string& address : files.list("sys/bus/pci/devices")) {
        if (number_in(files, pci(address) / "vendor", 16) == kVendor &&
            number_in(files, pci(address) / "device", 16) == kDevice)
            cards.push_back(describe(files, address));
    }
    return cards;
}

P2pCard p2p_card(const KernelFiles& files, const std::string& name) {
    const auto cards = p2p_cards(files);
    if (cards.empty())
        throw Error(
            "there is no Dingo card on this machine's PCI bus; a kernel-less card is no PCI device "
            "and has no peer to peer",
            kNoSuchCard);
    if (name.empty() && cards.size() == 1)
        return cards.front();
    std::string known;
    for (const P2pCard& card : cards) {
        if (!name.empty() &&
            (name == card.address || "0000:" + name == card.address || name == card.device))
            return card;
        known += (known.empty() ? "" : ", ") + card.address;
    }
    throw Error(name.empty() ? "which card? This machine has " + known
                             : "no card '" + name + "' on the PCI bus; there is " + known,
                name.empty() ? kUsage : kNoSuchCard);
}

std::string p2p_advice(const P2pCard& card) {
    if (card.state == "none" && !card.driver)
        return "no memory behind a BAR that can be seen without its driver: modprobe dingo";
    if (card.state == "none")
        return "no memory behind a BAR: the card, or its bitstream, has none";
    if (card.state == "no iomem")
        return fmt::format(
            "the system had no address space of {} for its BAR: do a warm reboot, or run 'dingo "
            "p2p enable -f'",
            binary_size(card.wanted()));
    if (!card.driver)
        return "no driver is bound to the card: modprobe dingo";
    if (card.state == "false")
        return "'dingo p2p enable' switches it on";
    return "";
}

std::string p2p_enable(KernelFiles& files, const P2pCard& card, bool force) {
    if (card.state == "none")
        throw Error(card.address + " has " + p2p_advice(card));
    if (card.state == "true")
        return "peer to peer of " + card.address + " was on already";
    if (card.state == "no iomem" || card.bar < card.wanted())
        grow(files, card, force);
    else if (!card.driver)
        throw Error(card.address + ": " + p2p_advice(card));
    const P2pCard now = p2p_card(files, card.address);
    if (now.state == "no iomem")
        no_room_now(now);
    const int error = now.state == "true" ? 0 : files.write(pci(card.address) / "dingo/p2p", "1");
    if (error == EOPNOTSUPP)
        throw Error(
            "this kernel has no PCI peer to peer (CONFIG_PCI_P2PDMA); Debian's 7.2 "
            "(trixie-backports) has it, Debian's 6.12 does not");
    if (error == EBUSY)
        throw Error(fmt::format("the memory of {} is in use by {}: stop that use, then try again",
                                card.address, holders(files, now)));
    if (error != 0)
        cannot("switching peer to peer on", error);
    return "peer to peer of " + card.address + " is on";
}

std::string p2p_disable(KernelFiles& files, const P2pCard& card, bool force) {
    if (card.state == "none")
        throw Error(card.address + " has " + p2p_advice(card));
    if (card.state == "false" && !force)
        return "peer to peer of " + card.address + " was off already";
    if (card.state == "true") {
        const int error = files.write(pci(card.address) / "dingo/p2p", "0");
        if (error == EBUSY)
            throw Error(
                fmt::format("the memory of {} is in use by {}: stop that use, then try again",
                            card.address, holders(files, card)));
        if (error != 0)
            cannot("switching peer to peer off", error);
    }
    std::string done = "peer to peer of " + card.address + " is off";
    if (!force && card.state != "no iomem")
        return done;
    if (card.resizable == 0)
        throw Error(done + ", but its BAR cannot be resized, so it keeps its addresses");
    const auto smallest = static_cast<unsigned>(std::countr_zero(card.resizable));
    WithoutDriver alone(files, card);
    if (const int error = remember_size(files, card.address, smallest); error != 0)
        cannot("shrinking BAR 4", error);
    alone.for_good();
    enumerate_again(files, card);
    return done + ", and its addresses are free";
}

P2pTransfers p2p_transfers(const KernelFiles& files, const P2pCard& card) {
    const fs::path counters =
        fs::path("sys/class/infiniband") / card.device / "ports/1/hw_counters";
    return {number_in(files, counters / "mem_in_requests"),
            number_in(files, counters / "mem_in_bytes"),
            number_in(files, counters / "mem_out_requests"),
            number_in(files, counters / "mem_out_bytes")};
}

std::string binary_size(std::uint64_t bytes) {
    constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", bytes, kUnits[unit]);
}

}  // namespace dingo::cli
