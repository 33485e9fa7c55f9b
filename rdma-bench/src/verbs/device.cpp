// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/device.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/link_rate.h"
#include "exit.h"

namespace rdma_bench {
namespace {

/// Owner of the list of ibv_get_device_list().
class DeviceList {
  public:
    DeviceList() : list_(ibv_get_device_list(&count_)), error_(list_ ? 0 : errno) {}
    ~DeviceList() {
        if (list_) {
            ibv_free_device_list(list_);
        }
    }
    DeviceList(const DeviceList&) = delete;
    DeviceList& operator=(const DeviceList&) = delete;
    [[nodiscard]] ibv_device** begin() const { return list_; }
    [[nodiscard]] ibv_device** end() const { return list_ ? list_ + count_ : nullptr; }
    [[nodiscard]] int error() const { return error_; }

  private:
    int count_ = 0;
    ibv_device** list_;
    int error_;
};

[[noreturn]] void fail(const std::string& text) {
    throw RunError(Exit::kDevice, text);
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

ibv_context* open(const std::string& name) {
    const DeviceList list;
    std::vector<std::string> names;
    for (ibv_device* device : list) {
        names.emplace_back(ibv_get_device_name(device));
        if (name.empty() || names.back() == name) {
            ibv_context* context = ibv_open_device(device);
            if (!context) {
                fail("ibv_open_device " + names.back() + ": " + std::strerror(errno) +
                     (errno == EACCES || errno == EPERM ? " (may this user open /dev/infiniband?)"
                                                        : ""));
            }
            return context;
        }
    }
    if (names.empty()) {
        fail(std::string("no RDMA device on this machine") +
             (list.error() ? std::string(": ibv_get_device_list: ") + std::strerror(list.error())
                           : "") +
             "; `dingo run -- rdma-bench ...` makes one for this program (see `dingo run --help`), "
             "`rdma link add` makes a software device of the kernel, `ibv_devices` lists all "
             "devices");
    }
    fail("no device '" + name + "'; there are: " + joined(names));
}

const char* state_name(ibv_port_state state) {
    switch (state) {
        case IBV_PORT_DOWN:
            return "DOWN";
        case IBV_PORT_INIT:
            return "INIT";
        case IBV_PORT_ARMED:
            return "ARMED";
        case IBV_PORT_ACTIVE:
            return "ACTIVE";
        default:
            return "NOP";
    }
}

double rate_gbits(const ibv_port_attr& port) {
    const dingo::LaneRate* const lane = dingo::lane_rate(port.active_speed);
    return lane == nullptr ? 0 : lane->deci_gbps * dingo::lanes_of(port.active_width) / 10.0;
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("model name")) {
            const auto colon = line.find(": ");
            return colon == line.npos ? "" : line.substr(colon + 2);
        }
    }
    return "";
}

}  // namespace

std::vector<std::string> device_names() {
    std::vector<std::string> names;
    for (ibv_device* device : DeviceList()) {
        names.emplace_back(ibv_get_device_name(device));
    }
    return names;
}

Device::Device(const std::string& wanted, std::uint8_t port) : port_(port), context_(open(wanted)) {
    if (const int error = ibv_query_device(context(), &limits_)) {
        fail("ibv_query_device " + name() + ": " + std::strerror(error));
    }
    if (port > limits_.phys_port_cnt) {
        fail(name() + " has " + std::to_string(limits_.phys_port_cnt) + " port(s), no port " +
             std::to_string(port) + " (-i)");
    }
    if (const int error = ibv_query_port(context(), port, &port_attr_)) {
        fail("ibv_query_port " + name() + " " + std::to_string(port) + ": " + std::strerror(error));
    }
    if (port_attr_.state != IBV_PORT_ACTIVE) {
        fail("port " + std::to_string(port) + " of " + name() + " is " +
             state_name(port_attr_.state) + ", not ACTIVE: is the link up?");
    }
    pd_.reset(ibv_alloc_pd(context()));
    if (!pd_) {
        fail("ibv_alloc_pd " + name() + ": " + std::strerror(errno));
    }
}

std::string Device::name() const {
    return ibv_get_device_name(context_->device);
}
std::uint32_t Device::active_mtu() const {
    return 128U << port_attr_.active_mtu;
}

DeviceFacts Device::facts() const {
    DeviceFacts facts;
    facts.name = name();
    facts.firmware = limits_.fw_ver;
    facts.vendor_id = limits_.vendor_id;
    facts.part_id = limits_.vendor_part_id;
    char guid[17];
    std::snprintf(guid, sizeof guid, "%016llx",
                  static_cast<unsigned long long>(be64toh(limits_.node_guid)));
    facts.node_guid = guid;
    facts.port = port_;
    facts.link_layer = ethernet() ? "Ethernet" : "InfiniBand";
    facts.state = state_name(port_attr_.state);
    facts.active_mtu = active_mtu();
    facts.rate_gbits = rate_gbits(port_attr_);
    return facts;
}

HostFacts host_facts(const Device& device) {
    HostFacts facts;
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    facts.name = name;
    utsname system{};
    uname(&system);
    facts.kernel = system.release;
    facts.cpu = cpu_model();
    cpu_set_t set;
    facts.cpus =
        sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 0;
    facts.device = device.facts();
    return facts;
}

}  // namespace rdma_bench
