// SPDX-License-Identifier: BSD-2-Clause
#include <rdma/ib_user_ioctl_verbs.h>

#include <cerrno>

#include "host/driver/dm.h"

namespace dingo::uverbs {
namespace {

/// Flags of a registration that we understand or may ignore.
constexpr std::uint32_t kMrAccess = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
                                    IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |
                                    IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |
                                    IB_UVERBS_ACCESS_HUGETLB | IB_UVERBS_ACCESS_OPTIONAL_RANGE;

// IB_UVERBS_REREG_*
constexpr std::uint32_t kReregTrans = 1;
constexpr std::uint32_t kReregPd = 2;
constexpr std::uint32_t kReregAccess = 4;

bool needs_write(std::uint32_t access) {
    return (access & (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
                      IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND)) != 0;
}

void check_access(const Driver::State& d, std::uint32_t access) {
    if ((access & ~kMrAccess) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if ((access & IB_UVERBS_ACCESS_MW_BIND) != 0) {
        d.need(DINGO_CAP_MW);
    }
}

/// What all registrations of a client's memory check.
void check_registration(const Driver::State& d, std::uint64_t length, std::uint64_t iova,
                        std::uint32_t access) {
    check_access(d, access);
    // No length must never mean all memory.
    if (length == 0 || length > d.query_max_mr_size() || iova + (length - 1) < iova) {
        throw ErrnoError(EINVAL);
    }
}

}  // namespace

/// Memory of a region: mappings and a window. Its first byte keeps its place in the page.
struct MrMemory {
    MrMemory(Driver::State& d, const Mr::Range& range, bool rw)
        : bus(d.bus), in_page(range.start % kPageBytes), writable(rw) {
        const std::uint64_t va = range.start - in_page;
        const std::uint64_t length = in_page + range.length;
        if (va + length < va) {
            throw ErrnoError(EINVAL);
        }
        mapped = d.segments.map(va, page_align(length), range.segments, rw);
        window = bus.add(range.client, va, length, mapped.parts, rw, mapped.files);
    }
    MrMemory(Driver::State& d, int dmabuf, std::uint64_t offset, std::uint64_t length, bool rw)
        : bus(d.bus), in_page(offset % kPageBytes), writable(rw) {
        mapped = map_dmabuf(dmabuf, offset, length, rw);
        window = bus.add(nullptr, 0, in_page + length, mapped.parts, rw);
    }
    ~MrMemory() { bus.remove(window); }
    MrMemory(const MrMemory&) = delete;
    MrMemory& operator=(const MrMemory&) = delete;

    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = window + in_page;
        return mem;
    }

    BusMap& bus;
    MappedRange mapped;
    std::uint64_t in_page;
    bool writable;
    std::uint64_t window = 0;
};

std::uint32_t card_access(std::uint32_t access) {
    constexpr std::pair<std::uint32_t, std::uint32_t> kMap[] = {
        {IB_UVERBS_ACCESS_LOCAL_WRITE, DINGO_ACC_LOCAL_WRITE},
        {IB_UVERBS_ACCESS_REMOTE_WRITE, DINGO_ACC_REMOTE_WRITE},
        {IB_UVERBS_ACCESS_REMOTE_READ, DINGO_ACC_REMOTE_READ},
        {IB_UVERBS_ACCESS_REMOTE_ATOMIC, DINGO_ACC_REMOTE_ATOMIC},
        {IB_UVERBS_ACCESS_MW_BIND, DINGO_ACC_MW_BIND}};
    std::uint32_t card = 0;
    for (const auto& [verbs, ours] : kMap) {
        card |= (access & verbs) != 0 ? ours : 0;
    }
    return card;
}

struct Mr::State {
    explicit State(Driver::State& d) : driver(d), index(d.mr_ids) {}
    ~State() {
        if (on_card && !driver.destroy(DINGO_OP_DESTROY_MR, key)) {
            index.lose();
        }
    }

    [[nodiscard]] dingo_cmd_create_mr command() const {
        dingo_cmd_create_mr cmd{};
        cmd.key = key;
        cmd.pdn = pdn;
        cmd.access = access;
        cmd.kind = DINGO_MRT_MR;
        cmd.mem = mem;
        cmd.iova = iova;
        cmd.length = length;
        return cmd;
    }

    void create(Pd& pd, std::uint64_t first, std::uint64_t bytes, std::uint32_t verbs_access) {
        if (memory) {
            mem = memory->describe();
        }
        pdn = pd.pdn();
        access = card_access(verbs_access);
        iova = (verbs_access & IB_UVERBS_ACCESS_ZERO_BASED) != 0 ? 0 : first;
        length = bytes;
        key = driver.make_key(index.get());
        // A key that the card does not know opens nothing: that is a region without a byte.
        if (bytes != 0) {
            driver.admin->execute(DINGO_OP_CREATE_MR, command());
            on_card = true;
        }
    }

    Driver::State& driver;
    std::unique_ptr<MrMemory> memory;  ///< none: device memory
    dingo_mem mem{};
    OwnedId index;
    std::uint32_t key = 0;
    std::uint32_t pdn = 0;
    std::uint32_t access = 0;  ///< DINGO_ACC_*
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    bool fixed = false;  ///< no memory of the client: rereg() is refused
    bool on_card = false;
};

Mr::Mr(Driver& driver, Pd& pd, const Range& range, std::uint32_t access, Udata& udata) {
    Driver::State& d = driver.state();
    udata_none(udata);
    check_registration(d, range.length, range.iova, access);
    state_ = std::make_unique<State>(d);
    state_->memory = std::make_unique<MrMemory>(d, range, needs_write(access));
    state_->create(pd, range.iova, range.length, access);
}

Mr::Mr(Driver& driver, Pd& pd, int dmabuf_fd, std::uint64_t offset, std::uint64_t length,
       std::uint64_t iova, std::uint32_t access) {
    Driver::State& d = driver.state();
    check_registration(d, length, iova, access);
    state_ = std::make_unique<State>(d);
    state_->fixed = true;
    state_->memory = std::make_unique<MrMemory>(d, dmabuf_fd, offset, length, needs_write(access));
    state_->create(pd, iova, length, access);
}

Mr::Mr(Driver& driver, Pd& pd, const Dm& dm, std::uint64_t offset, std::uint64_t length,
       std::uint32_t access) {
    Driver::State& d = driver.state();
    check_access(d, access);
    if ((access & IB_UVERBS_ACCESS_ZERO_BASED) == 0 || offset > dm.length() ||
        length > dm.length() - offset) {
        throw ErrnoError(EINVAL);
    }
    state_ = std::make_unique<State>(d);
    state_->fixed = true;
    state_->mem = dm.state().memory.describe();
    state_->mem.addr += offset;
    state_->create(pd, 0, length, access);
}

Mr::~Mr() = default;

void Mr::rereg(std::uint32_t flags, Pd* pd, const Range* range, std::uint32_t access) {
    State& mr = *state_;
    Driver::State& d = mr.driver;
    d.need(DINGO_CAP_REREG_MR);
    const bool trans = (flags & kReregTrans) != 0;
    const bool new_access = (flags & kReregAccess) != 0;
    if ((flags & ~(kReregTrans | kReregPd | kReregAccess)) != 0 || mr.fixed) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if ((trans && range == nullptr) || ((flags & kReregPd) != 0 && pd == nullptr)) {
        throw ErrnoError(EINVAL);
    }
    if (!new_access) {  // protection of the pages only
        access = mr.memory->writable ? IB_UVERBS_ACCESS_LOCAL_WRITE : 0;
    }
    check_registration(d, trans ? range->length : mr.length, trans ? range->iova : mr.iova, access);

    dingo_cmd_create_mr cmd = mr.command();
    cmd.old_key = mr.key;
    const bool writable = needs_write(access);
    std::unique_ptr<MrMemory> memory;
    bool upgraded = false;
    if (trans) {
        memory = std::make_unique<MrMemory>(d, *range, writable);
        cmd.mem = memory->describe();
        cmd.iova = (access & IB_UVERBS_ACCESS_ZERO_BASED) != 0 ? 0 : range->iova;
        cmd.length = range->length;
    } else if (writable && !mr.memory->writable) {
        if (!mr.memory->mapped.may_write) {
            throw ErrnoError(EFAULT);
        }
        for (const auto& mapping : mr.memory->mapped.mappings) {
            if (!mapping->make_writable()) {
                throw ErrnoError(EFAULT);
            }
        }
        upgraded = true;
    }
    if (new_access) {
        cmd.access = card_access(access);
    }
    if ((flags & kReregPd) != 0) {
        cmd.pdn = pd->pdn();
    }
    // Before the command: the engine may use the new rights at once.
    if (upgraded) {
        d.bus.set_writable(mr.memory->window, true);
    }
    try {
        d.admin->execute(DINGO_OP_REREG_MR, cmd);
    } catch (const ErrnoError&) {
        if (upgraded) {
            d.bus.set_writable(mr.memory->window, false);
        }
        throw;
    }
    mr.memory->writable |= upgraded;
    if (memory) {
        mr.memory = std::move(memory);
        mr.mem = cmd.mem;
    }
    mr.access = cmd.access;
    mr.pdn = cmd.pdn;
    mr.iova = cmd.iova;
    mr.length = cmd.length;
}

std::uint32_t Mr::key() const {
    return state_->key;
}

// REREG_MR to what it is already: it changes nothing, and is refused while windows are bound.
bool Mr::busy() const {
    State& mr = *state_;
    if (!mr.on_card || mr.driver.windows == 0 || !mr.driver.has(DINGO_CAP_REREG_MR)) {
        return false;
    }
    dingo_cmd_create_mr cmd = mr.command();
    cmd.old_key = mr.key;
    try {
        mr.driver.admin->execute(DINGO_OP_REREG_MR, cmd);
    } catch (const ErrnoError& error) {
        return error.code() == EBUSY;
    }
    return false;
}

}  // namespace dingo::uverbs
