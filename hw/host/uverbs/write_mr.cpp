// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <array>
#include <utility>

#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs::handlers {
namespace {

bool same_page_offset(std::uint64_t a, std::uint64_t b) {
    return ((a ^ b) & (static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) - 1)) == 0;
}

// Checked before the client is asked to share the memory.
void check_range(std::uint64_t start, std::uint64_t length, std::uint64_t iova) {
    if (!same_page_offset(start, iova) || length == 0 || start > UINT64_MAX - length ||
        iova > UINT64_MAX - (length - 1)) {
        throw ErrnoError(EINVAL);
    }
}

bool needs_writable(std::uint32_t access) {
    return (access & (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
                      IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND)) != 0;
}

Mr::Range range_of(const Call& call, std::uint64_t start, std::uint64_t length, std::uint64_t iova,
                   bool writable) {
    Mr::Range range;
    range.segments = call.shared(start, length, writable);
    range.client = call.memory();
    range.start = start;
    range.length = length;
    range.iova = iova;
    return range;
}

}  // namespace

void reg_mr(WriteCall& c) {
    const auto r = c.request<ib_uverbs_reg_mr>();
    (void)c.call.context();
    check_mr_access(r.access_flags);
    auto& pd = c.call.objects().get<PdObject>(r.pd_handle);
    check_range(r.start, r.length, r.hca_va);
    auto object = std::make_unique<MrObject>(pd, r.length, r.hca_va);
    object->access = r.access_flags;
    if (auto place = c.call.gpu_memory(r.length)) {
        object->take_mapping(c.call.memory()->account());
        object->mr.emplace(c.call.driver(), pd.pd, std::move(place), c.call.gpu_offset(), r.length,
                           r.hca_va, r.access_flags);
    } else {
        const Mr::Range range =
            range_of(c.call, r.start, r.length, r.hca_va, needs_writable(r.access_flags));
        object->mr.emplace(c.call.driver(), pd.pd, range, r.access_flags, c.udata);
        if (DirectContext* const direct = c.call.file().direct()) {
            object->direct = direct->show(*object->mr, range);
        }
    }
    const auto& mr = c.call.add(std::move(object));
    const std::uint32_t key = mr.mr->key();
    c.respond(std::array{mr.handle(), key, key});  // ib_uverbs_reg_mr_resp
}

void rereg_mr(WriteCall& c) {
    constexpr std::uint32_t kTrans = 1;  // IB_MR_REREG_*
    constexpr std::uint32_t kPd = 2;
    constexpr std::uint32_t kAccess = 4;
    const auto r = c.request<ib_uverbs_rereg_mr>();
    if (r.flags == 0) {
        throw ErrnoError(EINVAL);
    }
    if ((r.flags & ~(kTrans | kPd | kAccess)) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    auto& mr = static_cast<MrObject&>(c.call.objects().lookup(MrObject::kType, r.mr_handle));
    if ((r.flags & kAccess) != 0) {
        check_mr_access(r.access_flags);
    }
    PdObject* const pd =
        (r.flags & kPd) != 0 ? &c.call.objects().get<PdObject>(r.pd_handle) : nullptr;
    const std::uint32_t access = (r.flags & kAccess) != 0 ? r.access_flags : mr.access;
    Mr::Range range;
    if ((r.flags & kTrans) != 0) {
        check_range(r.start, r.length, r.hca_va);
        range = range_of(c.call, r.start, r.length, r.hca_va, needs_writable(access));
    }
    if (mr.direct) {
        withdraw_direct(c.call, mr);
        mr.direct.reset();  // from now on only the card accesses the region
    }
    const std::uint32_t key = mr.mr->key();
    // ib_uverbs_rereg_mr_resp: the key stays the same. Written now, as the following step cannot be
    // undone.
    c.respond(std::array{key, key});
    mr.mr->rereg(r.flags, pd != nullptr ? &pd->pd : nullptr,
                 (r.flags & kTrans) != 0 ? &range : nullptr, access);
    mr.access = access;
    if (pd != nullptr) {
        mr.pd = Ref<PdObject>(pd);
    }
    if ((r.flags & kTrans) != 0) {
        mr.length = r.length;
        mr.iova = r.hca_va;
    }
}

void dereg_mr(WriteCall& c) {
    const auto request = c.request<ib_uverbs_dereg_mr>();
    destroy(c.call, MrObject::kType, request.mr_handle);
}

void alloc_mw(WriteCall& c) {
    const auto request = c.request<ib_uverbs_alloc_mw>();
    (void)c.call.context();
    auto& pd = c.call.objects().get<PdObject>(request.pd_handle);
    if (request.mw_type != 1 && request.mw_type != 2) {
        throw ErrnoError(EINVAL);
    }
    auto& mw =
        c.call.add(std::make_unique<MwObject>(c.call.driver(), pd, request.mw_type, c.udata));
    c.respond(std::array{mw.handle(), mw.mw.key()});  // ib_uverbs_alloc_mw_resp
}

void dealloc_mw(WriteCall& c) {
    const auto request = c.request<ib_uverbs_dealloc_mw>();
    destroy(c.call, MwObject::kType, request.mw_handle);
}

}  // namespace dingo::uverbs::handlers
