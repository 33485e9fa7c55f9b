// SPDX-License-Identifier: BSD-2-Clause
//
// Protection domains, thread domains and parent domains.
#include <cstdlib>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {

void add_pd(Promises& all) {
    Page pd(all, "ibv_alloc_pd.3");
    pd("returns a PD of the context", [] {
        Bench b;
        CHECK(b.pd->context == b.ctx());
    });
    pd("PDs differ", [] {
        Bench b;
        Pd other(made(ibv_alloc_pd(b.ctx()), "PD"));
        CHECK(other->handle != b.pd->handle);
    });
    pd("ibv_dealloc_pd() returns 0", [] {
        Bench b;
        CHECK_RETURNS(0, ibv_dealloc_pd(b.pd.release()));
    });
    pd("ibv_dealloc_pd() with a memory region in it fails with EBUSY", [] {
        Bench b;
        Region region(b.pd.get(), 64);
        CHECK_RETURNS(EBUSY, ibv_dealloc_pd(b.pd.get()));
    });
    pd("ibv_dealloc_pd() with a queue pair in it fails with EBUSY, and the queue pair works on",
       [] {
           Bench b;
           Cq cq = b.cq();
           Qp qp = b.qp(cq.get());
           CHECK_RETURNS(EBUSY, ibv_dealloc_pd(b.pd.get()));
           CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
       });
    pd("ibv_dealloc_pd() with a shared receive queue in it fails with EBUSY", [] {
        Bench b;
        Srq srq = b.srq();
        CHECK_RETURNS(EBUSY, ibv_dealloc_pd(b.pd.get()));
    });
    pd("ibv_dealloc_pd() with an address handle in it fails with EBUSY", [] {
        Bench b;
        auto self = b.self();
        Ah ah(made(ibv_create_ah(b.pd.get(), &self), "AH"));
        CHECK_RETURNS(EBUSY, ibv_dealloc_pd(b.pd.get()));
    });
    pd("ibv_dealloc_pd() with a memory window in it fails with EBUSY", [] {
        Bench b;
        Mw mw(made(ibv_alloc_mw(b.pd.get(), IBV_MW_TYPE_1), "memory windows"));
        CHECK_RETURNS(EBUSY, ibv_dealloc_pd(b.pd.get()));
    });
    pd("a hundred at a time", [] {
        Bench b;
        std::vector<Pd> many;
        for (int i = 0; i < 100; ++i) {
            many.emplace_back(made(ibv_alloc_pd(b.ctx()), "PD"));
        }
    });
}

namespace {

using Td = std::unique_ptr<ibv_td, Destroyer<&ibv_dealloc_td>>;

Td new_td(Bench& b) {
    ibv_td_init_attr attr{};
    return Td(made(ibv_alloc_td(b.ctx(), &attr), "thread domains"));
}

Pd parent_of(Bench& b, ibv_td* td, std::uint32_t comp_mask = 0) {
    ibv_parent_domain_init_attr attr{};
    attr.pd = b.pd.get();
    attr.td = td;
    attr.comp_mask = comp_mask;
    return Pd(made(ibv_alloc_parent_domain(b.ctx(), &attr), "parent domains"));
}

}  // namespace

void add_parent_domain(Promises& all) {
    Page td(all, "ibv_alloc_td.3");
    td("returns a TD; ibv_dealloc_td() returns 0", [] {
        Bench b;
        CHECK_RETURNS(0, ibv_dealloc_td(new_td(b).release()));
    });
    td("an unknown bit of comp_mask is refused", [] {
        Bench b;
        new_td(b);
        ibv_td_init_attr attr{1};
        CHECK_NULL(EOPNOTSUPP, ibv_alloc_td(b.ctx(), &attr));
    });
    Page domain(all, "ibv_alloc_parent_domain.3");
    domain("without a PD it is refused with EINVAL", [] {
        Bench b;
        Td with = new_td(b);
        ibv_parent_domain_init_attr attr{};
        attr.td = with.get();
        CHECK_NULL(EINVAL, ibv_alloc_parent_domain(b.ctx(), &attr));
    });
    domain("without a TD it is a PD like another", [] {
        Bench b;
        Pd parent = parent_of(b, nullptr);
        Region region(parent.get(), 64);
        CHECK(region.mr()->pd == parent.get());
    });
    domain("holds its PD: ibv_dealloc_pd() of that fails with EBUSY", [] {
        Bench b;
        Pd parent = parent_of(b, nullptr);
        CHECK_RETURNS(EBUSY, ibv_dealloc_pd(b.pd.get()));
    });
    domain("holds its TD: ibv_dealloc_td() fails with EBUSY", [] {
        Bench b;
        Td with = new_td(b);
        Pd parent = parent_of(b, with.get());
        CHECK_RETURNS(EBUSY, ibv_dealloc_td(with.get()));
    });
    domain("ibv_dealloc_pd() with a queue pair in it fails with EBUSY", [] {
        Bench b;
        Td with = new_td(b);
        Pd parent = parent_of(b, with.get());
        Cq cq = b.cq();
        auto init = b.init(cq.get());
        Qp qp(made(ibv_create_qp(parent.get(), &init), "QP in a parent domain"));
        CHECK_RETURNS(EBUSY, ibv_dealloc_pd(parent.get()));
    });
    domain("an unknown bit of comp_mask is refused", [] {
        Bench b;
        parent_of(b, nullptr);
        ibv_parent_domain_init_attr attr{};
        attr.pd = b.pd.get();
        attr.comp_mask = 1U << 31;
        CHECK(ibv_alloc_parent_domain(b.ctx(), &attr) == nullptr);
        CHECK(errno == EINVAL || errno == EOPNOTSUPP);
    });
    domain("allocators are both there, or it is refused with EINVAL", [] {
        Bench b;
        parent_of(b, nullptr);
        ibv_parent_domain_init_attr attr{};
        attr.pd = b.pd.get();
        attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
        CHECK_NULL(EINVAL, ibv_alloc_parent_domain(b.ctx(), &attr));
    });
    domain("its allocator gives memory for a queue pair, and gets it back", [] {
        struct Count {
            int taken = 0, given = 0;
        } count;
        Bench b;
        ibv_parent_domain_init_attr attr{};
        attr.pd = b.pd.get();
        attr.comp_mask =
            IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
        attr.pd_context = &count;
        attr.alloc = [](ibv_pd*, void* context, std::size_t size, std::size_t alignment,
                        std::uint64_t) {
            ++static_cast<Count*>(context)->taken;
            return std::aligned_alloc(alignment, size);
        };
        attr.free = [](ibv_pd*, void* context, void* at, std::uint64_t) {
            ++static_cast<Count*>(context)->given;
            std::free(at);
        };
        Pd parent(made(ibv_alloc_parent_domain(b.ctx(), &attr), "parent domains"));
        Cq cq = b.cq();
        auto init = b.init(cq.get());
        Qp qp(made(ibv_create_qp(parent.get(), &init), "QP"));
        CHECK(count.taken > 0);
        qp.reset();
        CHECK(count.given == count.taken);
    });
}

}  // namespace verbs_promises
