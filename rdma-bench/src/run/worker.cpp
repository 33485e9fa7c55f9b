// SPDX-License-Identifier: BSD-2-Clause
#include "run/worker.h"

#include <poll.h>

#include "exit.h"
#include "verbs/explain.h"

namespace rdma_bench {

void fail_completion(const Worker& worker, const ibv_wc& wc) {
    ibv_wc root = wc;
    // If an error affects two queues, flushed requests may be polled first: look for the root cause
    // in the other queue.
    for (CompletionQueue* queue : {worker.send_cq.get(), worker.recv_cq.get()}) {
        ibv_wc next;
        for (int i = 0; queue && root.status == IBV_WC_WR_FLUSH_ERR && i < 65536 &&
                        ibv_poll_cq(queue->cq.get(), 1, &next) > 0;
             ++i) {
            if (next.status != IBV_WC_SUCCESS && next.status != IBV_WC_WR_FLUSH_ERR) {
                root = next;
            }
        }
    }
    throw RunError(Exit::kFailed, explain_completion(root, worker.qp_of(root)));
}

void fail_post(const char* verb, int error, ibv_qp* qp) {
    throw RunError(Exit::kFailed,
                   explain_errno(verb, error) + (qp ? " [QP state " + qp_state(qp) + "]" : ""));
}

void fail_poll() {
    throw RunError(Exit::kFailed, "ibv_poll_cq failed: the device is gone");
}

void sleep_on(CompletionQueue* first, CompletionQueue* second) {
    pollfd fds[2];
    CompletionQueue* queues[2];
    nfds_t count = 0;
    for (CompletionQueue* queue : {first, second}) {
        if (queue && queue->channel) {
            queues[count] = queue;
            fds[count++] = {queue->channel->fd, POLLIN, 0};
        }
    }
    if (poll(fds, count, 100) <= 0) {
        // In case an event was lost, request it again.
        for (nfds_t i = 0; i < count; ++i) {
            queues[i]->armed = false;
        }
        return;
    }
    for (nfds_t i = 0; i < count; ++i) {
        if (fds[i].revents == 0) {
            continue;
        }
        ibv_cq* cq;
        void* context;
        if (ibv_get_cq_event(queues[i]->channel.get(), &cq, &context)) {
            throw RunError(Exit::kFailed, "ibv_get_cq_event failed: the device is gone");
        }
        ++queues[i]->unacknowledged;
        queues[i]->armed = false;
    }
}

}  // namespace rdma_bench
