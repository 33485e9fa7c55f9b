// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs::handlers {

void alloc_pd(WriteCall& c) {
    (void)c.request<ib_uverbs_alloc_pd>();
    (void)c.call.context();
    auto& pd = c.call.add(std::make_unique<PdObject>(c.call.driver(), c.udata));
    c.respond(pd.handle());  // ib_uverbs_alloc_pd_resp
}

void dealloc_pd(WriteCall& c) {
    const auto request = c.request<ib_uverbs_dealloc_pd>();
    destroy(c.call, PdObject::kType, request.pd_handle);
}

void create_ah(WriteCall& c) {
    const auto request = c.request<ib_uverbs_create_ah>();
    (void)c.call.context();
    check_port(request.attr.port_num);
    auto& pd = c.call.objects().get<PdObject>(request.pd_handle);
    AhAttr attr;
    std::copy(std::begin(request.attr.grh.dgid), std::end(request.attr.grh.dgid),
              attr.dgid.begin());
    attr.flow_label = request.attr.grh.flow_label;
    attr.sgid_index = request.attr.grh.sgid_index;
    attr.hop_limit = request.attr.grh.hop_limit;
    attr.traffic_class = request.attr.grh.traffic_class;
    attr.sl = request.attr.sl;
    attr.is_global = request.attr.is_global != 0;
    attr.port_num = request.attr.port_num;
    c.call.driver().create_ah(attr, c.udata);
    auto& ah = c.call.add(std::make_unique<AhObject>(pd));
    c.respond(ah.handle());  // ib_uverbs_create_ah_resp
}

void destroy_ah(WriteCall& c) {
    const auto request = c.request<ib_uverbs_destroy_ah>();
    destroy(c.call, AhObject::kType, request.ah_handle);
}

}  // namespace dingo::uverbs::handlers
