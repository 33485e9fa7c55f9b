// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/mr.h"

#include <rdma/ib_user_ioctl_verbs.h>

#include <cerrno>
#include <utility>

#include "host/driver/access.h"
#include "host/driver/dm.h"
#include "host/driver/driver.h"
#include "host/driver/mr_memory.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

/// Access flags that are supported or may be ignored.
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

void check_access(const Capabilities& card, std::uint32_t access) {
    if ((access & ~kMrAccess) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if ((access & IB_UVERBS_ACCESS_MW_BIND) != 0) {
        card.need(DINGO_CAP_MW);
    }
}

/// Checks common to all registrations of client memory.
void check_registration(const Capabilities& card, std::uint64_t length, std::uint64_t iova,
                        std::uint32_t access) {
    check_access(card, access);
    // A length of 0 must never mean all memory.
    if (length == 0 || length > card.max_mr_size() || iova + (length - 1) < iova) {
        throw ErrnoError(EINVAL);
    }
}

/// Returns the pool of region indexes if the region's parameters are valid.
IdPool& checked_pool(Driver& driver, std::uint64_t length, std::uint64_t iova,
                     std::uint32_t access) {
    check_registration(driver.capabilities(), length, iova, access);
    return driver.keys().indexes();
}

IdPool& checked_pool(Driver& driver, const Dm& dm, std::uint64_t offset, std::uint64_t length,
                     std::uint32_t access) {
    check_access(driver.capabilities(), access);
    if ((access & IB_UVERBS_ACCESS_ZERO_BASED) == 0 || offset > dm.length() ||
        length > dm.length() - offset) {
        throw ErrnoError(EINVAL);
    }
    return driver.keys().indexes();
}

}  // namespace

Mr::Mr(Driver& driver, Pd& pd, const Range& range, std::uint32_t access, Udata& udata)
    : driver_(driver),
      index_((udata_none(udata), checked_pool(driver, range.length, range.iova, access))),
      memory_(
          std::make_shared<MrMemory>(driver.bus(), driver.segments(), range, needs_write(access))) {
    create(pd, range.iova, range.length, access);
}

Mr::Mr(Driver& driver, Pd& pd, int dmabuf_fd, std::uint64_t offset, std::uint64_t length,
       std::uint64_t iova, std::uint32_t access, const std::shared_ptr<Account>& account)
    : driver_(driver),
      index_(checked_pool(driver, length, iova, access)),
      memory_(std::make_shared<MrMemory>(driver.bus(), dmabuf_fd, offset, length,
                                         needs_write(access), account)),
      fixed_(true) {
    create(pd, iova, length, access);
}

Mr::Mr(Driver& driver, Pd& pd, std::shared_ptr<FarPlace> place, std::uint64_t offset,
       std::uint64_t length, std::uint64_t iova, std::uint32_t access)
    : driver_(driver),
      index_(checked_pool(driver, length, iova, access)),
      memory_(std::make_shared<MrMemory>(driver.bus(), std::move(place), offset, length,
                                         needs_write(access))),
      fixed_(true) {
    create(pd, iova, length, access);
}

Mr::Mr(Driver& driver, Pd& pd, const Dm& dm, std::uint64_t offset, std::uint64_t length,
       std::uint32_t access)
    : driver_(driver),
      index_(checked_pool(driver, dm, offset, length, access)),
      device_memory_(dm.memory()),
      mem_(device_memory_->describe()),
      fixed_(true) {
    mem_.addr += offset;
    create(pd, 0, length, access);
}

Mr::~Mr() = default;

void Mr::create(Pd& pd, std::uint64_t first, std::uint64_t bytes, std::uint32_t verbs_access) {
    pdn_ = pd.pdn();
    access_ = card_access(verbs_access);
    iova_ = (verbs_access & IB_UVERBS_ACCESS_ZERO_BASED) != 0 ? 0 : first;
    length_ = bytes;
    key_ = driver_.keys().make_key(index_.get());
    // A region without bytes has a key unknown to the card, which gives access to nothing.
    if (bytes != 0) {
        driver_.card().gate()->run([this] {
            if (memory_) {
                memory_->attach();
                mem_ = memory_->describe();
            }
            driver_.admin().execute(DINGO_OP_CREATE_MR, command());
        });
        on_card_.emplace(driver_.admin(), DINGO_OP_DESTROY_MR, key_, [this] {
            index_.lose();
            driver_.keep(memory_);
            driver_.keep(device_memory_);
        });
    }
}

dingo_cmd_create_mr Mr::command() const {
    dingo_cmd_create_mr cmd{};
    cmd.key = key_;
    cmd.pdn = pdn_;
    cmd.access = access_;
    cmd.kind = DINGO_MRT_MR;
    cmd.mem = mem_;
    cmd.iova = iova_;
    cmd.length = length_;
    return cmd;
}

void Mr::rereg(std::uint32_t flags, Pd* pd, const Range* range, std::uint32_t access) {
    driver_.capabilities().need(DINGO_CAP_REREG_MR);
    const bool trans = (flags & kReregTrans) != 0;
    const bool new_access = (flags & kReregAccess) != 0;
    if ((flags & ~(kReregTrans | kReregPd | kReregAccess)) != 0 || fixed_) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if ((trans && range == nullptr) || ((flags & kReregPd) != 0 && pd == nullptr)) {
        throw ErrnoError(EINVAL);
    }
    if (!new_access) {  // protection of the pages only
        access = memory_->writable() ? IB_UVERBS_ACCESS_LOCAL_WRITE : 0;
    }
    check_registration(driver_.capabilities(), trans ? range->length : length_,
                       trans ? range->iova : iova_, access);

    dingo_cmd_create_mr cmd = command();
    cmd.old_key = key_;
    const bool writable = needs_write(access);
    std::shared_ptr<MrMemory> memory;
    bool upgraded = false;
    if (trans) {
        memory = std::make_shared<MrMemory>(driver_.bus(), driver_.segments(), *range, writable);
        cmd.iova = (access & IB_UVERBS_ACCESS_ZERO_BASED) != 0 ? 0 : range->iova;
        cmd.length = range->length;
    } else if (writable && !memory_->writable()) {
        memory_->check_writable();
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
        memory_->set_writable(true);
    }
    try {
        driver_.card().gate()->run([&] {
            if (memory) {
                memory->attach();
                cmd.mem = memory->describe();
            }
            driver_.admin().execute(DINGO_OP_REREG_MR, cmd);
        });
    } catch (const ErrnoError&) {
        if (upgraded) {
            memory_->set_writable(false);
        }
        throw;
    }
    if (memory) {
        memory_ = std::move(memory);
        mem_ = cmd.mem;
    }
    access_ = cmd.access;
    pdn_ = cmd.pdn;
    iova_ = cmd.iova;
    length_ = cmd.length;
}

void Mr::destroy() {
    if (on_card_) {
        on_card_->destroy();
    }
}

}  // namespace dingo::uverbs
