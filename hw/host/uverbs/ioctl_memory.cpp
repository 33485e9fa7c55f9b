// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <utility>

#include "dingo-abi.h"
#include "host/uverbs/ioctl.h"
#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"

namespace dingo::uverbs {
namespace {

using namespace spec;

template <typename T, std::uint16_t Id>
void destroy_handler(IoctlCall& c) {
    destroy(c.call, c.object(Id));
}

template <typename T, std::uint16_t Id>
IoctlMethod destroy_method(std::uint16_t method) {
    return {T::kType, method, false, {destroyed(Id, T::kType)}, destroy_handler<T, Id>};
}

void query_pd(IoctlCall& c) {
    c.out(DINGO_ATTR_PD_QUERY_RESP_PDN, c.object<PdObject>(DINGO_ATTR_PD_QUERY_HANDLE).pd.pdn());
}

void query_mr(IoctlCall& c) {
    const auto& mr = c.object<MrObject>(UVERBS_ATTR_QUERY_MR_HANDLE);
    const std::uint32_t key = mr.mr->key();
    c.out(UVERBS_ATTR_QUERY_MR_RESP_LKEY, key);
    c.out(UVERBS_ATTR_QUERY_MR_RESP_RKEY, key);
    c.out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, mr.length);
    c.out(UVERBS_ATTR_QUERY_MR_RESP_IOVA, mr.iova);
}

void advise_mr(IoctlCall& /*c*/) {
    throw ErrnoError(EOPNOTSUPP);  // advice applies to on-demand paging only
}

void reg_dmabuf_mr(IoctlCall& c) {
    constexpr std::uint32_t kAllowed = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
                                       IB_UVERBS_ACCESS_REMOTE_WRITE |
                                       IB_UVERBS_ACCESS_REMOTE_ATOMIC |
                                       IB_UVERBS_ACCESS_RELAXED_ORDERING;
    const auto offset = c.in<std::uint64_t>(UVERBS_ATTR_REG_DMABUF_MR_OFFSET);
    const auto length = c.in<std::uint64_t>(UVERBS_ATTR_REG_DMABUF_MR_LENGTH);
    const auto iova = c.in<std::uint64_t>(UVERBS_ATTR_REG_DMABUF_MR_IOVA);
    const auto number = c.in<std::int32_t>(UVERBS_ATTR_REG_DMABUF_MR_FD);
    auto& pd = c.object<PdObject>(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE);
    if (((offset ^ iova) & 4095) != 0) {
        throw ErrnoError(EINVAL);
    }
    const std::uint32_t access = c.flags(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, kAllowed);
    check_mr_access(access);
    auto object = std::make_unique<MrObject>(pd, length, iova);
    object->access = access;
    if (auto place = c.call.gpu_memory(length)) {
        object->take_mapping(c.call.memory()->account());
        object->mr.emplace(c.call.driver(), pd.pd, std::move(place), c.call.gpu_offset(), length,
                           iova, access);
    } else {
        const int fd = c.call.dmabuf(number, offset, iova, length);
        object->mr.emplace(c.call.driver(), pd.pd, fd, offset, length, iova, access,
                           c.call.memory()->account());
    }
    const auto& mr = c.call.add(std::move(object));
    const std::uint32_t key = mr.mr->key();
    c.put_object(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, mr);
    c.out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, key);
    c.out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, key);
}

}  // namespace

std::vector<IoctlMethod> memory_methods() {
    constexpr std::uint16_t kMr = UVERBS_OBJECT_MR;
    constexpr std::uint16_t kPd = UVERBS_OBJECT_PD;
    return {
        destroy_method<PdObject, UVERBS_ATTR_DESTROY_PD_HANDLE>(UVERBS_METHOD_PD_DESTROY),
        destroy_method<MwObject, UVERBS_ATTR_DESTROY_MW_HANDLE>(UVERBS_METHOD_MW_DESTROY),
        destroy_method<AhObject, UVERBS_ATTR_DESTROY_AH_HANDLE>(UVERBS_METHOD_AH_DESTROY),
        destroy_method<MrObject, UVERBS_ATTR_DESTROY_MR_HANDLE>(UVERBS_METHOD_MR_DESTROY),
        {kPd,
         DINGO_METHOD_PD_QUERY,
         false,
         {object(DINGO_ATTR_PD_QUERY_HANDLE, kPd, kMandatory),
          out<std::uint32_t>(DINGO_ATTR_PD_QUERY_RESP_PDN, kMandatory)},
         query_pd},
        {kMr,
         UVERBS_METHOD_QUERY_MR,
         false,
         {object(UVERBS_ATTR_QUERY_MR_HANDLE, kMr, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_QUERY_MR_RESP_RKEY, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_QUERY_MR_RESP_LKEY, kMandatory),
          out<std::uint64_t>(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, kMandatory),
          out<std::uint64_t>(UVERBS_ATTR_QUERY_MR_RESP_IOVA, kOptional)},
         query_mr},
        {kMr,
         UVERBS_METHOD_ADVISE_MR,
         false,
         {object(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, kPd, kMandatory),
          constant(UVERBS_ATTR_ADVISE_MR_ADVICE),
          flags(UVERBS_ATTR_ADVISE_MR_FLAGS, kMandatory),
          {UVERBS_ATTR_ADVISE_MR_SGE_LIST, AttributeKind::kIn, kMandatory, 16, UINT16_MAX}},
         advise_mr},
        {kMr,
         UVERBS_METHOD_REG_DMABUF_MR,
         false,
         {created(UVERBS_ATTR_REG_DMABUF_MR_HANDLE),
          object(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, kPd, kMandatory),
          in<std::uint64_t>(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, kMandatory),
          in<std::uint64_t>(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, kMandatory),
          in<std::uint64_t>(UVERBS_ATTR_REG_DMABUF_MR_IOVA, kMandatory),
          in<std::uint32_t>(UVERBS_ATTR_REG_DMABUF_MR_FD, kMandatory),
          flags(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, kMandatory)},
         reg_dmabuf_mr},
    };
}

}  // namespace dingo::uverbs
