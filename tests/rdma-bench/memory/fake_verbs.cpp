// SPDX-License-Identifier: BSD-2-Clause
#include "fake_verbs.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#undef ibv_reg_mr

namespace fake_verbs {
namespace {

struct Dm {
    ibv_dm dm{};
    std::vector<std::byte> memory;
};

std::map<const ibv_mr*, Registration> registrations;
std::map<const ibv_dm*, std::unique_ptr<Dm>> device_memories;
std::size_t device_memory_limit = 0;
int next_error = 0;

ibv_mr* add(ibv_pd* in, const Registration& registration) {
    auto* mr = new ibv_mr{};
    mr->context = in->context;
    mr->pd = in;
    mr->length = registration.length;
    mr->lkey = mr->rkey = static_cast<std::uint32_t>(registrations.size() + 1);
    registrations[mr] = registration;
    return mr;
}

int query(ibv_context* /*context*/, const ibv_query_device_ex_input* /*input*/,
          ibv_device_attr_ex* attributes, std::size_t /*size*/) {
    attributes->max_dm_size = device_memory_limit;
    return 0;
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
    if (attributes->length > device_memory_limit) {
        errno = ENOMEM;
        return nullptr;
    }
    auto dm = std::make_unique<Dm>();
    dm->dm.context = context;
    // Device memory is not zeroed, and is copied in words of 4 bytes.
    dm->memory.assign(attributes->length, std::byte{0xAA});
    const auto copy = [](ibv_dm* of, std::uint64_t offset, std::size_t length) -> std::byte* {
        auto& memory = device_memories.at(of)->memory;
        const bool fits = offset % 4 == 0 && length % 4 == 0 && offset + length <= memory.size();
        return fits ? memory.data() + offset : nullptr;
    };
    static const auto kCopy = copy;
    dm->dm.memcpy_to_dm = [](ibv_dm* to, std::uint64_t offset, const void* from,
                             std::size_t length) {
        std::byte* at = kCopy(to, offset, length);
        return at == nullptr ? EINVAL : (std::memcpy(at, from, length), 0);
    };
    dm->dm.memcpy_from_dm = [](void* to, ibv_dm* from, std::uint64_t offset, std::size_t length) {
        const std::byte* at = kCopy(from, offset, length);
        return at == nullptr ? EINVAL : (std::memcpy(to, at, length), 0);
    };
    ibv_dm* handle = &dm->dm;
    device_memories[handle] = std::move(dm);
    return handle;
}

int free_dm(ibv_dm* dm) {
    return device_memories.erase(dm) == 1 ? 0 : EINVAL;
}

ibv_mr* reg_dm_mr(ibv_pd* in, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access) {
    if ((access & IBV_ACCESS_ZERO_BASED) == 0 || (access & IBV_ACCESS_RELAXED_ORDERING) != 0) {
        errno = EINVAL;
        return nullptr;
    }
    Registration r;
    r.length = length;
    r.access = access;
    r.data = device_memories.at(dm)->memory.data() + offset;
    return add(in, r);
}

struct Device {
    ibv_device device{};
    verbs_context extended{};
    ibv_pd pd{};

    Device() {
        std::strcpy(device.name, "fake0");
        extended.sz = sizeof(extended);
        extended.query_device_ex = query;
        extended.alloc_dm = alloc_dm;
        extended.free_dm = free_dm;
        extended.reg_dm_mr = reg_dm_mr;
        extended.context.device = &device;
        extended.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        pd.context = &extended.context;
    }
};

}  // namespace

ibv_pd* pd(std::size_t device_memory) {
    static Device device;
    device_memory_limit = device_memory;
    next_error = 0;
    return &device.pd;
}

void fail_next_dmabuf(int error) {
    next_error = error;
}

const Registration& registration(const ibv_mr* mr) {
    return registrations.at(mr);
}
std::size_t live_registrations() {
    return registrations.size();
}
std::size_t live_device_memory() {
    return device_memories.size();
}

}  // namespace fake_verbs

using fake_verbs::Registration;

extern "C" {

// These take precedence over libibverbs' functions.
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
    Registration r;
    r.length = length;
    r.iova = reinterpret_cast<std::uintptr_t>(address);
    r.access = static_cast<unsigned>(access);
    r.data = static_cast<std::byte*>(address);
    return fake_verbs::add(pd, r);
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t /*iova*/,
                         unsigned access) {
    return ibv_reg_mr(pd, address, length, static_cast<int>(access));
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                          int fd, int access) {
    errno = fake_verbs::next_error;
    // The kernel's check (ib_uverbs_handler(UVERBS_METHOD_REG_DMABUF_MR)).
    if (errno == 0 && ((offset ^ iova) & 4095U) != 0) {
        errno = EINVAL;
    }
    if (errno != 0) {
        return nullptr;
    }
    Registration r;
    r.dmabuf = true;
    r.offset = offset;
    r.length = length;
    r.iova = iova;
    r.access = static_cast<unsigned>(access);
    r.mapped = offset + length;
    r.map = mmap(nullptr, r.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (r.map == MAP_FAILED) {
        return nullptr;
    }
    r.data = static_cast<std::byte*>(r.map) + offset;
    return fake_verbs::add(pd, r);
}

int ibv_dereg_mr(ibv_mr* mr) {
    const Registration r = fake_verbs::registration(mr);
    if (r.map != nullptr) {
        munmap(r.map, r.mapped);
    }
    fake_verbs::registrations.erase(mr);
    delete mr;
    return 0;
}

}  // extern "C"
