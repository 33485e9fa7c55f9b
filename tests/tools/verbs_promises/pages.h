// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of the files of cases; each adds the promises of some man pages.
#pragma once

#include "promise.h"

namespace verbs_promises {

void add_device(Promises& all);
void add_port(Promises& all);
void add_text(Promises& all);
void add_pd(Promises& all);
void add_parent_domain(Promises& all);
void add_mr(Promises& all);
void add_rereg(Promises& all);
void add_mw(Promises& all);
void add_dm(Promises& all);
void add_import(Promises& all);
void add_ah(Promises& all);
void add_cq(Promises& all);
void add_resize(Promises& all);
void add_cq_ex(Promises& all);
void add_cq_events(Promises& all);
void add_srq(Promises& all);
void add_srq_receives(Promises& all);
void add_qp(Promises& all);
void add_qp_ex(Promises& all);
void add_qp_steps(Promises& all);
void add_qp_state(Promises& all);
void add_post_send(Promises& all);
void add_post_recv(Promises& all);
void add_operations(Promises& all);
void add_remote_errors(Promises& all);
void add_wr_post(Promises& all);
void add_async(Promises& all);
void add_lacking(Promises& all);
void add_cm_id(Promises& all);
void add_cm_connect(Promises& all);
void add_cm_endpoint(Promises& all);

inline Promises all_promises() {
    Promises all;
    for (const auto add :
         {add_device,     add_port,         add_text,      add_pd,         add_parent_domain,
          add_mr,         add_rereg,        add_mw,        add_dm,         add_import,
          add_ah,         add_cq,           add_resize,    add_cq_ex,      add_cq_events,
          add_srq,        add_srq_receives, add_qp,        add_qp_ex,      add_qp_steps,
          add_qp_state,   add_post_send,    add_post_recv, add_operations, add_remote_errors,
          add_wr_post,    add_async,        add_lacking,   add_cm_id,      add_cm_connect,
          add_cm_endpoint}) {
        add(all);
    }
    return all;
}

}  // namespace verbs_promises
