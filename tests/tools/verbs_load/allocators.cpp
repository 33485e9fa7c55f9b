// SPDX-License-Identifier: BSD-2-Clause
//
// Tests ibv_alloc_parent_domain(3) with the application's allocators.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

constexpr std::size_t kBytes = 1 << 16;
constexpr std::size_t kGuard = 64;  // bytes before and after each piece
constexpr int kGuardByte = 0xa5;

void need(bool good, const char* what) {
    if (!good)
        throw std::runtime_error(std::string(what) + " (errno " + std::to_string(errno) + ")");
}

/// The memory that the allocators give out; each piece has guard bytes around it.
struct Arena {
    enum class Mode { kOwn, kDefault, kFull };
    struct Piece {
        std::size_t size;
        std::uint64_t type;
        ibv_pd* pd;
    };
    Mode mode = Mode::kOwn;
    std::map<void*, Piece> pieces;
    std::map<std::uint64_t, unsigned> asked;  ///< number of allocations by resource type
    unsigned wrong = 0;
};

bool guarded(const std::uint8_t* at) {
    for (std::size_t i = 0; i < kGuard; ++i)
        if (at[i] != kGuardByte)
            return false;
    return true;
}

void* lend(ibv_pd* pd, void* context, std::size_t size, std::size_t alignment, std::uint64_t type) {
    auto& arena = *static_cast<Arena*>(context);
    ++arena.asked[type];
    if (arena.mode == Arena::Mode::kDefault)
        return IBV_ALLOCATOR_USE_DEFAULT;
    if (arena.mode == Arena::Mode::kFull)
        return nullptr;
    arena.wrong +=
        size == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kGuard ? 1
                                                                                                : 0;
    const std::size_t room = (size + 2 * kGuard + kGuard - 1) / kGuard * kGuard;
    auto* const all = static_cast<std::uint8_t*>(std::aligned_alloc(kGuard, room));
    std::memset(all, kGuardByte, kGuard);
    std::memset(all + kGuard, 0, size);
    std::memset(all + kGuard + size, kGuardByte, kGuard);
    arena.pieces[all + kGuard] = {size, type, pd};
    return all + kGuard;
}

void take_back(ibv_pd* pd, void* context, void* at, std::uint64_t type) {
    auto& arena = *static_cast<Arena*>(context);
    const auto piece = arena.pieces.find(at);
    if (piece == arena.pieces.end()) {
        ++arena.wrong;
        return;
    }
    auto* const data = static_cast<std::uint8_t*>(at);
    arena.wrong += piece->second.type != type || piece->second.pd != pd ? 1 : 0;
    arena.wrong += guarded(data - kGuard) && guarded(data + piece->second.size) ? 0 : 1;
    arena.pieces.erase(piece);
    std::free(data - kGuard);
}

ibv_pd* parent_domain(const SelfLink& link, Arena& arena) {
    ibv_parent_domain_init_attr attr{};
    attr.pd = link.pd();
    attr.comp_mask =
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    attr.alloc = lend;
    attr.free = take_back;
    attr.pd_context = &arena;
    return ibv_alloc_parent_domain(link.context(), &attr);
}

ibv_srq* create_srq(ibv_pd* pd) {
    ibv_srq_init_attr init{};
    init.attr = {64, 1, 0};
    return ibv_create_srq(pd, &init);
}

void refusals(const SelfLink& link) {
    ibv_parent_domain_init_attr attr{};
    attr.pd = link.pd();
    attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
    attr.free = take_back;
    errno = 0;
    need(ibv_alloc_parent_domain(link.context(), &attr) == nullptr && errno == EINVAL,
         "an allocator without alloc is refused");
    attr.comp_mask = 1U << 20;
    errno = 0;
    need(ibv_alloc_parent_domain(link.context(), &attr) == nullptr && errno == EOPNOTSUPP,
         "an unknown comp_mask bit is refused");
}

void traffic(const SelfLink& link, ibv_pd* domain, ibv_mr* mr, std::uint8_t* buffer) {
    SelfLink own({link.context(), domain, mr, buffer}, 3, kBytes);
    for (unsigned i = 0; i < 300; ++i)
        own.check(i % 3, static_cast<std::uint8_t>(i));
    need(ibv_dealloc_pd(domain) == EBUSY, "a domain in use stays");
}

}  // namespace

void allocators_test() {
    SelfLink link("", 1, 8192);
    auto* const buffer = static_cast<std::uint8_t*>(std::aligned_alloc(4096, kBytes));
    ibv_mr* const mr =
        ibv_reg_mr(link.pd(), buffer, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    need(mr != nullptr, "ibv_reg_mr");
    refusals(link);
    Arena arena;
    ibv_pd* const domain = parent_domain(link, arena);
    need(domain != nullptr, "ibv_alloc_parent_domain");

    traffic(link, domain, mr, buffer);
    need(arena.asked.size() == 1 && arena.asked.begin()->second == 3, "one piece for each QP");
    const std::uint64_t qp_type = arena.asked.begin()->first;
    ibv_srq* const srq = create_srq(domain);
    need(srq != nullptr && arena.pieces.size() == 1, "ibv_create_srq asks the allocator");
    need(arena.pieces.begin()->second.type != qp_type, "for another type of resource");
    need(ibv_destroy_srq(srq) == 0, "ibv_destroy_srq");
    need(arena.pieces.empty() && arena.wrong == 0, "all of it came back as it was lent");

    arena.mode = Arena::Mode::kDefault;
    arena.asked.clear();
    traffic(link, domain, mr, buffer);
    need(arena.asked[qp_type] == 3 && arena.wrong == 0, "the default is not given back to us");

    arena.mode = Arena::Mode::kFull;
    errno = 0;
    need(create_srq(domain) == nullptr && errno == ENOMEM, "no memory for an SRQ");
    try {
        traffic(link, domain, mr, buffer);
        throw std::logic_error("a QP was made without memory");
    } catch (const std::runtime_error&) {
        need(errno == ENOMEM, "no memory for a QP");
    }
    need(ibv_dealloc_pd(domain) == 0, "what could not be made holds nothing");
    link.check(0, 1);
    ibv_dereg_mr(mr);
    std::free(buffer);
}

}  // namespace verbs_load
