// SPDX-License-Identifier: BSD-2-Clause
//
// Registration of memory.
#include <sys/mman.h>

#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

struct Access {
    const char* name;
    int flags;
    int error;  ///< expected errno; 0: allowed
};
constexpr Access kAccess[] = {
    {"0 (local read)", 0, 0},
    {"LOCAL_WRITE", IBV_ACCESS_LOCAL_WRITE, 0},
    {"REMOTE_READ", IBV_ACCESS_REMOTE_READ, 0},
    {"LOCAL_WRITE | REMOTE_WRITE", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 0},
    {"all of READ and WRITE", kAllAccess, 0},
    {"RELAXED_ORDERING, which is a hint", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, 0},
    {"REMOTE_WRITE without LOCAL_WRITE", IBV_ACCESS_REMOTE_WRITE, EINVAL},
    {"REMOTE_ATOMIC without LOCAL_WRITE", IBV_ACCESS_REMOTE_ATOMIC, EINVAL},
    {"an unknown bit of the optional ones", 1 << 28, 0},
    {"an unknown bit", 1 << 15, EINVAL},
};

void add_reg(Promises& all) {
    Page reg(all, "ibv_reg_mr.3");
    for (const Access& access : kAccess) {
        reg(std::string(access.name) +
                (access.error == 0 ? " is granted" : " is refused with EINVAL"),
            [access] {
                Bench b;
                std::vector<char> memory(4096);
                errno = 0;
                Mr mr(ibv_reg_mr(b.pd.get(), memory.data(), memory.size(), access.flags));
                CHECK((mr != nullptr) == (access.error == 0));
                CHECK(access.error == 0 || errno == access.error);
            });
    }
    reg("returns address, length, PD and keys", [] {
        Bench b;
        std::vector<char> memory(12345);
        Mr mr(made(ibv_reg_mr(b.pd.get(), memory.data() + 7, 12000, kAllAccess), "MR"));
        CHECK(mr->addr == memory.data() + 7 && mr->length == 12000);
        CHECK(mr->pd == b.pd.get() && mr->context == b.ctx());
        CHECK(mr->lkey != 0 && mr->rkey != 0);
    });
    reg("keys of two regions differ, of the same memory too", [] {
        Bench b;
        std::vector<char> memory(4096);
        Mr one(made(ibv_reg_mr(b.pd.get(), memory.data(), 4096, kAllAccess), "MR"));
        Mr two(made(ibv_reg_mr(b.pd.get(), memory.data(), 4096, kAllAccess), "MR"));
        CHECK(one->lkey != two->lkey && one->rkey != two->rkey);
    });
    reg("one byte can be registered", [] {
        Bench b;
        char byte = 0;
        Mr mr(made(ibv_reg_mr(b.pd.get(), &byte, 1, IBV_ACCESS_LOCAL_WRITE), "MR"));
    });
    reg("memory that is not mapped is refused with EFAULT", [] {
        Bench b;
        void* const hole = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(hole != MAP_FAILED && munmap(hole, 8192) == 0);
        CHECK_NULL(EFAULT, ibv_reg_mr(b.pd.get(), hole, 8192, IBV_ACCESS_LOCAL_WRITE));
    });
    reg("a length that wraps around is refused with EINVAL", [] {
        Bench b;
        char byte = 0;
        CHECK_NULL(EINVAL, ibv_reg_mr(b.pd.get(), &byte, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE));
    });
    reg("memory that may only be read can be registered for reading", [] {
        Bench b;
        void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED);
        Mr mr(made(ibv_reg_mr(b.pd.get(), page, 4096, IBV_ACCESS_REMOTE_READ), "MR"));
    });
    reg("ibv_dereg_mr() returns 0, and leaves the memory as it is", [] {
        Bench b;
        std::vector<char> memory(4096, 'x');
        CHECK_RETURNS(
            0, ibv_dereg_mr(made(ibv_reg_mr(b.pd.get(), memory.data(), 4096, kAllAccess), "MR")));
        CHECK(memory == std::vector<char>(4096, 'x'));
    });
    reg("a region of half a gigabyte that nobody has touched", [] {
        Bench b;
        constexpr std::size_t kBytes = std::size_t{512} << 20;
        void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(at != MAP_FAILED);
        Mr mr(ibv_reg_mr(b.pd.get(), at, kBytes, IBV_ACCESS_REMOTE_READ));
        if (!mr && errno == ENOMEM) {
            throw Lacking("there is not so much memory");
        }
        CHECK(mr != nullptr && mr->length == kBytes);
    });
    reg("a hundred regions at a time", [] {
        Bench b;
        std::vector<char> memory(100 * 64);
        std::vector<Mr> regions;
        for (std::size_t i = 0; i < 100; ++i) {
            regions.emplace_back(
                made(ibv_reg_mr(b.pd.get(), memory.data() + 64 * i, 64, kAllAccess), "MR"));
        }
    });
}

/// Side 0 READs from side 1's memory at this address and rkey.
ibv_wc read_from(Pair& pair, std::uint64_t address, std::uint32_t rkey, std::uint32_t bytes = 64) {
    ibv_send_wr wr = pair.request(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, bytes);
    wr.wr.rdma.remote_addr = address;
    wr.wr.rdma.rkey = rkey;
    return pair.run(wr);
}

void add_iova(Promises& all) {
    Page iova(all, "ibv_reg_mr_iova.3");
    iova("remote operations use the given address", [] {
        Bench b;
        Pair pair(b);
        Region page(b.pd.get(), 4096);
        std::memset(page.data(), 'z', 4096);
        Mr mr(made(ibv_reg_mr_iova(b.pd.get(), page.data(), 4096, 0x1000000, kAllAccess), "MR"));
        CHECK(read_from(pair, 0x1000000, mr->rkey).status == IBV_WC_SUCCESS);
        CHECK(std::memcmp(pair.memory(0).data(), page.data(), 64) == 0);
    });
    iova("and no other", [] {
        Bench b;
        Pair pair(b);
        Region page(b.pd.get(), 4096);
        Mr mr(made(ibv_reg_mr_iova(b.pd.get(), page.data(), 4096, 0x1000000, kAllAccess), "MR"));
        CHECK(read_from(pair, page.address(), mr->rkey).status == IBV_WC_REM_ACCESS_ERR);
    });
    iova("an offset in the page other than the memory's is refused with EINVAL", [] {
        Bench b;
        Region page(b.pd.get(), 4096);
        CHECK_NULL(EINVAL, ibv_reg_mr_iova(b.pd.get(), page.data(), 4096, 0x1000001, kAllAccess));
    });
    Page zero(all, "ibv_reg_mr.3");
    zero("ZERO_BASED: addresses are offsets from the begin", [] {
        Bench b;
        Pair pair(b);
        std::vector<char> memory(4096, 'q');
        Mr mr(made(ibv_reg_mr(b.pd.get(), memory.data(), 4096, kAllAccess | IBV_ACCESS_ZERO_BASED),
                   "MR"));
        CHECK(read_from(pair, 0, mr->rkey).status == IBV_WC_SUCCESS);
        CHECK(std::memcmp(pair.memory(0).data(), memory.data(), 64) == 0);
    });
    zero("after ibv_dereg_mr() the key grants nothing", [] {
        Bench b;
        Pair pair(b);
        Region region(b.pd.get(), 4096);
        Mr second(made(ibv_reg_mr(b.pd.get(), region.data(), 4096, kAllAccess), "MR"));
        const std::uint32_t key = second->rkey;
        second.reset();
        CHECK(read_from(pair, region.address(), key).status == IBV_WC_REM_ACCESS_ERR);
    });
    zero("the first and the last byte are in the region, the next is not", [] {
        for (const std::size_t past : {0U, 1U}) {
            Bench b;
            Pair pair(b);
            std::vector<char> memory(3 * 4096);
            Mr mr(made(ibv_reg_mr(b.pd.get(), memory.data() + 100, 1000, kAllAccess), "MR"));
            const auto at = reinterpret_cast<std::uintptr_t>(memory.data()) + 100;
            CHECK(read_from(pair, at, mr->rkey, 1).status == IBV_WC_SUCCESS);
            CHECK(read_from(pair, at + 999 + past, mr->rkey, 1).status ==
                  (past == 0 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR));
        }
    });
}

/// Two registered pages of private memory, whose mapping the test then changes.
class MappedRegion {
  public:
    static constexpr std::size_t kBytes = 8192;
    explicit MappedRegion(Bench& b)
        : at_(static_cast<std::uint8_t*>(
              mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        CHECK(at_ != MAP_FAILED);
        std::memset(at_, 'm', kBytes);
        mr_.reset(made(ibv_reg_mr(b.pd.get(), at_, kBytes, kAllAccess), "MR"));
    }
    std::uint8_t* at() { return at_; }
    /// Runs a request of 64 bytes between the begin of this region (side 0) and side 1.
    ibv_wc run(Pair& pair, ibv_wr_opcode opcode) {
        ibv_send_wr wr = pair.request(opcode);
        ibv_sge sge{reinterpret_cast<std::uintptr_t>(at_), 64, mr_->lkey};
        wr.sg_list = &sge;
        return pair.run(wr);
    }
    /// Repeats a request, so that the device may cache the mapping.
    void use(Pair& pair) {
        for (int i = 0; i < 3; ++i) {
            CHECK(run(pair, IBV_WR_RDMA_WRITE).status == IBV_WC_SUCCESS);
        }
    }

  private:
    std::uint8_t* at_;
    Mr mr_;
};

void add_pinned(Promises& all) {
    Page pinned(all, "ibv_reg_mr.3");
    pinned("the device reads registered memory that the program has unmapped", [] {
        Bench b;
        Pair pair(b);
        MappedRegion region(b);
        region.use(pair);
        std::memset(region.at(), 'u', 64);
        CHECK(munmap(region.at(), MappedRegion::kBytes) == 0);
        CHECK(region.run(pair, IBV_WR_RDMA_WRITE).status == IBV_WC_SUCCESS);
        CHECK(pair.memory(1).data()[0] == 'u');
    });
    pinned("and writes registered memory that the program has protected", [] {
        Bench b;
        Pair pair(b);
        MappedRegion region(b);
        region.use(pair);
        std::memset(pair.memory(1).data(), 'p', 64);
        CHECK(mprotect(region.at(), MappedRegion::kBytes, PROT_NONE) == 0);
        CHECK(region.run(pair, IBV_WR_RDMA_READ).status == IBV_WC_SUCCESS);
        CHECK(mprotect(region.at(), MappedRegion::kBytes, PROT_READ) == 0);
        CHECK(region.at()[0] == 'p' && region.at()[64] == 'm');
        CHECK(munmap(region.at(), MappedRegion::kBytes) == 0);
    });
    pinned("or moved", [] {
        Bench b;
        Pair pair(b);
        MappedRegion region(b);
        region.use(pair);
        std::memset(pair.memory(1).data(), 'v', 64);
        void* const place =
            mmap(nullptr, MappedRegion::kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(place != MAP_FAILED);
        const auto* const there = static_cast<std::uint8_t*>(
            mremap(region.at(), MappedRegion::kBytes, MappedRegion::kBytes,
                   MREMAP_MAYMOVE | MREMAP_FIXED, place));
        CHECK(there == place);
        CHECK(region.run(pair, IBV_WR_RDMA_READ).status == IBV_WC_SUCCESS);
        CHECK(there[0] == 'v' && there[64] == 'm');
        CHECK(munmap(place, MappedRegion::kBytes) == 0);
    });
}

/// Checks that ibv_rereg_mr() returned 0. It has its own error codes; errno tells why the command
/// failed.
void reregistered(int rc) {
    done(rc == IBV_REREG_MR_ERR_CMD ? errno : rc, "ibv_rereg_mr");
}

}  // namespace

void add_mr(Promises& all) {
    add_reg(all);
    add_iova(all);
    add_pinned(all);
}

void add_rereg(Promises& all) {
    Page rereg(all, "ibv_rereg_mr.3");
    rereg("IBV_REREG_MR_CHANGE_ACCESS changes what is granted", [] {
        Bench b;
        Pair pair(b);
        Region region(b.pd.get(), 4096, IBV_ACCESS_LOCAL_WRITE);
        reregistered(
            ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAllAccess));
        CHECK(read_from(pair, region.address(), region.mr()->rkey).status == IBV_WC_SUCCESS);
    });
    rereg("IBV_REREG_MR_CHANGE_TRANSLATION moves the region to other memory", [] {
        Bench b;
        Pair pair(b);
        Region region(b.pd.get(), 4096);
        std::vector<char> other(8192, 'o');
        reregistered(ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                                  other.data(), 8192, 0));
        CHECK(region.mr()->addr == other.data() && region.mr()->length == 8192);
        const auto at = reinterpret_cast<std::uintptr_t>(other.data());
        CHECK(read_from(pair, at, region.mr()->rkey).status == IBV_WC_SUCCESS);
        CHECK(pair.memory(0).data()[0] == 'o');
    });
    rereg("IBV_REREG_MR_CHANGE_PD moves the region to another PD", [] {
        Bench b;
        Region region(b.pd.get(), 4096);
        Pd other(made(ibv_alloc_pd(b.ctx()), "PD"));
        reregistered(ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0, 0));
        CHECK(region.mr()->pd == other.get());
        CHECK_RETURNS(EBUSY, ibv_dealloc_pd(other.get()));
        reregistered(ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_PD, b.pd.get(), nullptr, 0, 0));
        CHECK_RETURNS(0, ibv_dealloc_pd(other.release()));
    });
    struct Wrong {
        const char* name;
        int flags;
        bool length;
    };
    rereg("access without IBV_REREG_MR_CHANGE_ACCESS is IBV_REREG_MR_ERR_INPUT", [] {
        Bench b;
        Region region(b.pd.get(), 4096);
        Pd other(made(ibv_alloc_pd(b.ctx()), "PD"));
        CHECK(ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0,
                           kAllAccess) == IBV_REREG_MR_ERR_INPUT);
        CHECK(region.mr()->pd == b.pd.get());
    });
    for (const Wrong& wrong :
         {Wrong{"no flag", 0, true}, Wrong{"an unknown flag", 1 << 10, true},
          Wrong{"CHANGE_TRANSLATION to length 0", IBV_REREG_MR_CHANGE_TRANSLATION, false}}) {
        rereg(
            std::string(wrong.name) + " is IBV_REREG_MR_ERR_INPUT, and the region stays", [wrong] {
                Bench b;
                Region region(b.pd.get(), 4096);
                reregistered(ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr,
                                          0, kAllAccess));
                CHECK(ibv_rereg_mr(region.mr(), wrong.flags, b.pd.get(), region.data(),
                                   wrong.length ? 4096 : 0, kAllAccess) == IBV_REREG_MR_ERR_INPUT);
                Pair pair(b);
                CHECK(read_from(pair, region.address(), region.mr()->rkey).status ==
                      IBV_WC_SUCCESS);
            });
    }
    rereg("after a failed command ibv_dereg_mr() still takes it", [] {
        Bench b;
        std::vector<char> memory(4096);
        Mr mr(made(ibv_reg_mr(b.pd.get(), memory.data(), 4096, kAllAccess), "MR"));
        const int rc = ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                                    IBV_ACCESS_REMOTE_WRITE);
        CHECK(rc != 0);
        CHECK_RETURNS(0, ibv_dereg_mr(mr.release()));
    });
}

}  // namespace verbs_promises
