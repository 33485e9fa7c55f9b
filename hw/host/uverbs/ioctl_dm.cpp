// SPDX-License-Identifier: BSD-2-Clause
#include "dingo-abi.h"
#include "host/uverbs/ioctl.h"
#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"

namespace dingo::uverbs {
namespace {

using namespace spec;

constexpr std::uint32_t kAccess = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
                                  IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |
                                  IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |
                                  IB_UVERBS_ACCESS_OPTIONAL_RANGE;

void alloc_dm(IoctlCall& c) {
    const auto length = c.in<std::uint64_t>(UVERBS_ATTR_ALLOC_DM_LENGTH);
    const auto alignment = c.in<std::uint32_t>(UVERBS_ATTR_ALLOC_DM_ALIGNMENT);
    Context& context = c.call.context();
    const auto& object = c.call.add(std::make_unique<DmObject>(c.call.driver(), context, length,
                                                               alignment, c.call.file().account()));
    c.put_object(UVERBS_ATTR_ALLOC_DM_HANDLE, object);
    c.out(DINGO_ATTR_ALLOC_DM_RESP, object.dm.describe());
}

void free_dm(IoctlCall& c) {
    destroy(c.call, c.object(UVERBS_ATTR_FREE_DM_HANDLE));
}

void query_dm(IoctlCall& c) {
    c.out(DINGO_ATTR_DM_QUERY_RESP, c.object<DmObject>(DINGO_ATTR_DM_QUERY_HANDLE).dm.describe());
}

void reg_dm_mr(IoctlCall& c) {
    const auto offset = c.in<std::uint64_t>(UVERBS_ATTR_REG_DM_MR_OFFSET);
    const auto length = c.in<std::uint64_t>(UVERBS_ATTR_REG_DM_MR_LENGTH);
    auto& pd = c.object<PdObject>(UVERBS_ATTR_REG_DM_MR_PD_HANDLE);
    auto& dm = c.object<DmObject>(UVERBS_ATTR_REG_DM_MR_DM_HANDLE);
    const std::uint32_t access = c.flags(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, kAccess);
    check_mr_access(access);
    auto object = std::make_unique<MrObject>(pd, length, 0);
    object->access = access;
    object->mr.emplace(c.call.driver(), pd.pd, dm.dm, offset, length, access);
    object->dm = Ref<DmObject>(&dm);
    const auto& mr = c.call.add(std::move(object));
    const std::uint32_t key = mr.mr->key();
    c.put_object(UVERBS_ATTR_REG_DM_MR_HANDLE, mr);
    c.out(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, key);
    c.out(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, key);
}

}  // namespace

std::vector<IoctlMethod> dm_methods() {
    constexpr std::uint16_t kDm = UVERBS_OBJECT_DM;
    return {
        {kDm,
         UVERBS_METHOD_DM_ALLOC,
         false,
         {created(UVERBS_ATTR_ALLOC_DM_HANDLE),
          in<std::uint64_t>(UVERBS_ATTR_ALLOC_DM_LENGTH, kMandatory),
          in<std::uint32_t>(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, kMandatory),
          out<dingo_dm_resp>(DINGO_ATTR_ALLOC_DM_RESP, kMandatory)},
         alloc_dm},
        {kDm, UVERBS_METHOD_DM_FREE, false, {destroyed(UVERBS_ATTR_FREE_DM_HANDLE, kDm)}, free_dm},
        {kDm,
         DINGO_METHOD_DM_QUERY,
         false,
         {object(DINGO_ATTR_DM_QUERY_HANDLE, kDm, kMandatory),
          out<dingo_dm_resp>(DINGO_ATTR_DM_QUERY_RESP, kMandatory)},
         query_dm},
        {UVERBS_OBJECT_MR,
         UVERBS_METHOD_DM_MR_REG,
         false,
         {created(UVERBS_ATTR_REG_DM_MR_HANDLE),
          in<std::uint64_t>(UVERBS_ATTR_REG_DM_MR_OFFSET, kMandatory),
          in<std::uint64_t>(UVERBS_ATTR_REG_DM_MR_LENGTH, kMandatory),
          object(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, UVERBS_OBJECT_PD, kMandatory),
          flags(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, kMandatory),
          object(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, kDm, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, kMandatory)},
         reg_dm_mr},
    };
}

}  // namespace dingo::uverbs
