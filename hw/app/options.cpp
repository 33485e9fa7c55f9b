// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>

#include "base/log.h"
#include "base/processors.h"
#include "cli/completion.h"
#include "dingo_hw.h"

namespace dingo {
namespace {

constexpr std::string_view kAbout =
    R"(A Dingo RoCE v2 card: a PCIe device for stock QEMU, or an RDMA device for applications of this
machine, on one side; a wire to other cards on the other.

Start it, then start QEMU (10.1 or newer) with memory that it can share and the card as a device:

  dingo-card --vfio-user /tmp/a.sock --wire SPEC &
  qemu-system-x86_64 -machine q35,memory-backend=ram \
    -object memory-backend-memfd,id=ram,size=1G,share=on -m 1G \
    -device '{"driver":"vfio-user-pci","rombar":0,"socket":{"type":"unix","path":"/tmp/a.sock"}}' ...

The card keeps running when QEMU goes away and serves the next one. SIGINT or SIGTERM stops it.

Without a kernel driver, `dingo card start` and `dingo run` are easier to use than this:

  dingo-card --uverbs DIR --ip 10.77.0.1/24 --wire SPEC &)";

std::uint64_t random_seed() {
    std::uint64_t seed = 1;
    [[maybe_unused]] const auto n = ::getrandom(&seed, sizeof seed, 0);
    return seed;
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

bool is_address(const std::string& text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) {
        return false;
    }
    const std::string address = text.substr(0, slash);
    const std::string length = text.substr(slash + 1);
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
    std::array<std::byte, 16> parsed;
    return error == std::errc() && end == length.data() + length.size() &&
           ((bits <= 32 && ::inet_pton(AF_INET, address.c_str(), parsed.data()) == 1) ||
            (bits <= 128 && ::inet_pton(AF_INET6, address.c_str(), parsed.data()) == 1));
}

// The name becomes a directory name.
bool is_device_name(const std::string& name) {
    return !name.empty() && name.size() < 64 && name[0] != '.' &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
           });
}

/// Returns all errors in the options, not only the first one.
std::vector<std::string> check(const Options& o, const std::string& mac, bool trapped) {
    std::vector<std::string> wrong;
    const bool uverbs = !o.uverbs.directory.empty();
    if (o.vfio_user.empty() && !uverbs) {
        wrong.emplace_back(
            "--vfio-user is missing: give the path of the socket that QEMU shall connect to, or, "
            "for applications of this machine, --uverbs and a directory");
    }
    if (!o.vfio_user.empty() && uverbs) {
        wrong.emplace_back("--vfio-user and --uverbs exclude each other: a card has one host");
    }
    if (!uverbs && (!o.uverbs.addresses.empty() || o.uverbs.share)) {
        wrong.emplace_back("--ip and --share are for --uverbs: elsewhere the guest decides");
    }
    if (!uverbs && o.adopt) {
        wrong.emplace_back("--adopt is for --uverbs: a card of a guest has its own process");
    }
    if (uverbs && o.config.withheld != 0) {
        wrong.emplace_back(
            "--without is for --vfio-user: a kernel-less card has no driver to test");
    }
    if (uverbs && o.admin_faults.refused.any()) {
        wrong.emplace_back("--refuse is for --vfio-user: a kernel-less card has no driver to test");
    }
    if (o.admin_faults.refused.any() && o.engine == "rtl") {
        wrong.push_back(
            fmt::format("--refuse works with --engine model only, not with --engine {}", o.engine));
    }
    if (uverbs && trapped) {
        wrong.emplace_back("--trapped-doorbells is for --vfio-user: only QEMU traps them");
    }
    if (uverbs && (o.memory.bytes != 0 || o.memory.counted)) {
        wrong.emplace_back(
            "--card-memory is for --vfio-user: a kernel-less card has --device-memory");
    }
    if (o.memory.bytes != 0 &&
        (!std::has_single_bit(o.memory.bytes) || o.memory.bytes < DINGO_MEM_MIN_SIZE)) {
        wrong.push_back(fmt::format("--card-memory {}: a BAR's size is a power of two, at least {}",
                                    o.memory.bytes >> 20, DINGO_MEM_MIN_SIZE >> 20));
    }
    if (o.memory.counted && o.memory.bytes == 0) {
        wrong.emplace_back("--count-card-memory needs --card-memory");
    }
    for (const std::string& address : o.uverbs.addresses) {
        if (!is_address(address)) {
            wrong.push_back(fmt::format(
                "--ip {}: write an address and the length of its network's prefix, e.g. "
                "10.77.0.1/24 or fd77::1/64",
                address));
        }
    }
    if (!is_device_name(o.uverbs.name)) {
        wrong.push_back(fmt::format("--name {}: use up to 63 letters, digits, '-', '_' and '.'",
                                    o.uverbs.name));
    }
    const auto engines = engine_names();
    if (std::find(engines.begin(), engines.end(), o.engine) == engines.end()) {
        wrong.push_back(fmt::format("--engine {}: this program has: {}", o.engine, join(engines)));
    }
    if (!mac.empty() && !parse_mac(mac)) {
        wrong.push_back(fmt::format(
            "--mac {}: write six hexadecimal octets of a unicast address, e.g. 02:44:49:00:00:01",
            mac));
    }
    if (!o.control.empty() && o.control == o.vfio_user) {
        wrong.emplace_back("--control and --vfio-user name the same socket: choose two paths");
    }
    if (!is_log_level(o.log_level)) {
        wrong.push_back(fmt::format(
            "--log {}: choose trace, debug, info, warning, error, critical or off", o.log_level));
    }
    return wrong;
}

}  // namespace

std::optional<std::uint64_t> parse_mac(const std::string& text) {
    if (text.size() != 17) {
        return std::nullopt;
    }
    std::uint64_t mac = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (i % 3 == 2) {
            if (c != ':' && c != '-') {
                return std::nullopt;
            }
            continue;
        }
        const char lower = static_cast<char>(c | 0x20);
        if (c >= '0' && c <= '9') {
            mac = mac << 4 | static_cast<std::uint64_t>(c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            mac = mac << 4 | static_cast<std::uint64_t>(lower - 'a' + 10);
        } else {
            return std::nullopt;
        }
    }
    const bool multicast = (mac >> 40 & 1) != 0;
    return mac == 0 || multicast ? std::nullopt : std::optional(mac);
}

std::uint64_t mac_for(const std::string& name) {
    std::uint32_t hash = 2166136261;  // FNV-1a
    for (const char c : name) {
        hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619;
    }
    return std::uint64_t{0x024449} << 24 | (hash >> 24 ^ (hash & 0xFFFFFF));
}

std::optional<Options> parse_options(int argc, char** argv, Exit& exit) {
    Options o;
    if (const auto engines = engine_names();
        !engines.empty() && std::find(engines.begin(), engines.end(), o.engine) == engines.end()) {
        o.engine = engines.front();  // this program was built without the model
    }
    std::string mac;
    std::uint64_t seed = 0;
    std::uint64_t spin_us = o.idle.spin / 1000;
    std::uint64_t nap_us = o.idle.nap / 1000;
    bool trapped = false;
    std::uint64_t memory_mib = 0;

    CLI::App app{std::string(kAbout), "dingo-card"};
    app.get_formatter()->column_width(34);
    app.set_version_flag("--version", fmt::format("dingo-card, contract {}.{}",
                                                  DINGO_CONTRACT_MAJOR, DINGO_CONTRACT_MINOR));
    app.footer("Wires (--wire SPEC):\n" + wire_help() + "\nFaults (--faults SPEC):\n" +
               faults_help());

    app.add_option("--vfio-user", o.vfio_user,
                   "Path of the UNIX socket where QEMU plugs the card in")
        ->type_name("SOCKET");
    app.add_option("--uverbs", o.uverbs.directory,
                   "Directory of a kernel-less card, for applications of this machine")
        ->type_name("DIR");
    app.add_option("--wire", o.wire.wire, "The wire; see below")
        ->type_name("SPEC")
        ->capture_default_str();
    app.add_option("--engine", o.engine, "Engine of the card: " + join(engine_names()))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--mac", mac,
                   "Factory MAC address (default: derived from the socket's path, so it is always "
                   "the same)")
        ->type_name("MAC");
    app.add_option("--control", o.control,
                   "Path of a UNIX socket for 'dingo-card ctl': counters, faults, link")
        ->type_name("SOCKET");

    const char* const qemu = "With --vfio-user";
    app.add_option("--card-memory", memory_mib,
                   "Memory of the card behind its own BAR, which NVMe disks and other cards reach; "
                   "a power of two; 0: none, and no BAR")
        ->type_name("MIB")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str()
        ->group(qemu);
    app.add_flag("--count-card-memory", o.memory.counted,
                 "Count each access of the guest and its devices to card memory, as a board does, "
                 "for 'dingo p2p report': slow, as each access becomes a message")
        ->group(qemu);

    const char* const kernel_less = "With --uverbs";
    app.add_option("--ip", o.uverbs.addresses, "Address of the port; may be given several times")
        ->type_name("ADDR/PREFIX")
        ->take_all()
        ->allow_extra_args(false)
        ->group(kernel_less);
    app.add_option("--name", o.uverbs.name, "Name of the RDMA device")
        ->type_name("IBNAME")
        ->capture_default_str()
        ->group(kernel_less);
    app.add_option("--mtu", o.uverbs.path_mtu, "Largest path MTU of the port")
        ->type_name("N")
        ->check(CLI::IsMember({256U, 512U, 1024U, 2048U, 4096U}))
        ->capture_default_str()
        ->group(kernel_less);
    app.add_option("--device-memory", o.uverbs.device_memory,
                   "Device memory for ibv_alloc_dm, of this process; 0: none")
        ->type_name("MIB")
        ->check(CLI::Range(0, 65'536))
        ->capture_default_str()
        ->group(kernel_less);
    app.add_flag(
           "--share", o.uverbs.share,
           "All users who can reach the directory may use the card, not only its user and root")
        ->group(kernel_less);
    app.add_flag("--adopt", o.adopt,
                 "Further cards may be started in this process (control command adopt), where one "
                 "thread serves them all: see 'dingo card start --one-process'")
        ->group(kernel_less);

    const char* const link = "Wire";
    app.add_option("--faults", o.wire.faults, "Faults on the wire; see below")
        ->type_name("SPEC")
        ->group(link);
    app.add_option("--pcap", o.wire.pcap, "Record every frame on the wire in this file")
        ->type_name("FILE")
        ->group(link);
    CLI::Option* const seed_option =
        app.add_option(
               "--seed", seed,
               "Seed of all random choices: keys, faults (default: a new one at each start)")
            ->type_name("N")
            ->group(link);
    app.add_option("--link-mbps", o.config.link_mbps, "Link speed that the card reports")
        ->type_name("N")
        ->check(CLI::Range(1, 800'000))
        ->capture_default_str()
        ->group(link);

    const char* const limits = "Limits that the card reports";
    const auto limit = [&](const char* name, std::uint32_t& value, const char* what, int max) {
        app.add_option(name, value, what)
            ->type_name("N")
            ->check(CLI::Range(1, max))
            ->capture_default_str()
            ->group(limits);
    };
    limit("--max-qp", o.config.max_qp, "Queue pairs", (1 << DINGO_QPN_INDEX_BITS) - 2);
    limit("--max-cq", o.config.max_cq, "Completion queues", 1 << 20);
    limit("--max-mr", o.config.max_mr, "Memory regions and windows", 1 << 16);
    limit("--max-srq", o.config.max_srq, "Shared receive queues", 1 << 20);

    // Capabilities that gate commands. Features of work requests are not checked against CAPS.
    const std::map<std::string, std::uint64_t> optional = {
        {"compute", DINGO_CAP_COMPUTE},
        {"cq_moderation", DINGO_CAP_CQ_MODERATION},
        {"eth_offload", DINGO_CAP_ETH_OFFLOAD},
        {"eth_rss", DINGO_CAP_ETH_RSS},
        {"gid_domains", DINGO_CAP_GID_DOMAINS},
        {"pause_mr", DINGO_CAP_PAUSE_MR},
        {"rereg_mr", DINGO_CAP_REREG_MR},
        {"resize_cq", DINGO_CAP_RESIZE_CQ},
        {"srq", DINGO_CAP_SRQ},
        {"uc", DINGO_CAP_UC}};
    std::vector<std::uint64_t> without;
    app.add_option("--without", without,
                   "Capabilities to leave out, as a smaller card may, to test its driver: compute, "
                   "cq_moderation, eth_offload, eth_rss, gid_domains, pause_mr, rereg_mr, "
                   "resize_cq, srq, uc")
        ->type_name("CAP,...")
        ->delimiter(',')
        ->transform(CLI::CheckedTransformer(optional))
        ->group(limits);

    std::vector<std::uint16_t> refused;
    app.add_option("--refuse", refused,
                   "Opcodes of admin commands that the card refuses (docs/reference/contract.md), "
                   "to test its driver, e.g. 0x43,0x41")
        ->type_name("OPCODE,...")
        ->delimiter(',')
        ->check(CLI::Range(0, 255))
        ->group(limits);

    const char* const tuning = "Tuning";
    const auto idle = [&](const char* name, std::uint64_t& value, const char* what) {
        return app.add_option(name, value, what)
            ->type_name("N")
            ->check(CLI::Range(0, 1'000'000))
            ->capture_default_str()
            ->group(tuning);
    };
    const CLI::Option* const spin =
        idle("--spin-us", spin_us,
             "Longest time in us that an idle card polls without pause; the card adapts it below "
             "this limit. With --uverbs the default is 50 with more than four processors, else 5");
    const CLI::Option* const nap = idle(
        "--nap-us", nap_us,
        "Longest time in us that it then polls with short pauses, before it sleeps and the guest "
        "has to wake it with a kick; adapted below this limit, too. For machines with idle cores");
    app.add_flag("--trapped-doorbells", trapped,
                 "Every doorbell is a message from QEMU, as on a card without capability "
                 "DB_MEMORY: slow, for tests")
        ->group(tuning);
    const CLI::Option* const log =
        app.add_option("--log", o.log_level,
                       "trace, debug, info, warning, error, critical or off; to stderr")
            ->type_name("LEVEL")
            ->capture_default_str()
            ->group(tuning);

    CLI::App* const ctl = app.add_subcommand("ctl", "Talk to a running card and exit");
    ctl->add_option("socket", o.ctl_path, "The --control socket of the card")->required();
    ctl->add_option(
           "request", o.ctl_words,
           "stats | faults [SPEC] (none: end all faults) | link up|down | admin "
           "[OPCODE=refuse|never|MS,...]: admin commands that a model with --vfio-user refuses, "
           "never answers or answers late, to test its driver | lose-interrupts VECTOR "
           "COUNT: the next COUNT interrupts of a card with --vfio-user do not reach the guest")
        ->required();

    std::string shell;
    CLI::App* const completion =
        app.add_subcommand("completion", "Print a completion script for a shell");
    cli::add_shell(*completion, shell);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        std::ostringstream text;
        std::ostringstream error;
        exit.status = app.exit(e, text, error) == 0 ? 0 : 2;
        exit.text = text.str();
        exit.error = error.str();
        return std::nullopt;
    }
    if (completion->parsed()) {
        exit.text =
            cli::completion(app, shell,
                            {{"--wire", "shm shm: roce roce: udp: unix: tap: packet: none", ""},
                             {"--engine", "model rtl", ""},
                             {"--log", "trace debug info warning error critical off", ""},
                             {"--vfio-user --control", "", "FILES"}});
        return std::nullopt;
    }
    if ((o.ctl = ctl->parsed())) {
        return o;
    }
    for (const std::uint64_t capability : without) {
        o.config.withheld |= capability;
    }
    for (const std::uint16_t opcode : refused) {
        o.admin_faults.refused.set(opcode);
    }
    o.memory.bytes = memory_mib << 20;
    const auto wrong = check(o, mac, trapped);
    if (!wrong.empty()) {
        for (const auto& text : wrong) {
            exit.error += fmt::format("dingo-card: {}\n", text);
        }
        exit.error += "dingo-card --help explains all options.\n";
        exit.status = 2;
        return std::nullopt;
    }
    if (spin->count() == 0 && !o.uverbs.directory.empty()) {
        spin_us = few_processors() ? 5 : 50;
    }
    o.idle = {.spin = spin_us * 1000, .nap = nap_us * 1000};
    o.tuned = spin->count() + nap->count() + log->count() != 0;
    o.config.memory_doorbells = !trapped;
    o.config.seed = o.wire.seed = seed_option->count() != 0 ? seed : random_seed();
    const std::string& place = o.vfio_user.empty() ? o.uverbs.directory : o.vfio_user;
    o.config.mac =
        mac.empty() ? mac_for(std::filesystem::absolute(place).string()) : *parse_mac(mac);
    if (!o.uverbs.directory.empty() && o.control.empty()) {
        o.control = o.uverbs.directory + "/control";
    }
    o.wire.mac = o.config.mac;
    return o;
}

}  // namespace dingo
