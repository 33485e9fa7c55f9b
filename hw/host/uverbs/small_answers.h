/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of RDMA_VERBS_IOCTL of 1 to 8 bytes that are room for an answer: `data` is an address
 * there, while in other attributes of that length it is the value. The length does not tell them
 * apart, so this is the list. A test compares it with the card's own tables.
 */
#ifndef DINGO_UVERBS_SMALL_ANSWERS_H
#define DINGO_UVERBS_SMALL_ANSWERS_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dingo_small_answer {
    uint16_t object;
    uint16_t method;
    uint16_t attribute;
};

static const struct dingo_small_answer dingo_small_answers[] = {
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES, UVERBS_ATTR_INFO_TOTAL_HANDLES},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES, UVERBS_ATTR_INFO_HANDLES_LIST},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE,
     UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, UVERBS_ATTR_QUERY_MR_RESP_RKEY},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, UVERBS_ATTR_QUERY_MR_RESP_LKEY},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, UVERBS_ATTR_QUERY_MR_RESP_LENGTH},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, UVERBS_ATTR_QUERY_MR_RESP_IOVA},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, UVERBS_ATTR_REG_DM_MR_RESP_LKEY},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, UVERBS_ATTR_REG_DM_MR_RESP_RKEY},
    {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, UVERBS_ATTR_CREATE_CQ_RESP_CQE},
    {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, UVERBS_ATTR_DESTROY_CQ_RESP},
    {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM},
    {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, UVERBS_ATTR_DESTROY_QP_RESP},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, UVERBS_ATTR_DESTROY_SRQ_RESP},
};

static inline bool dingo_is_small_answer(uint16_t object, uint16_t method, uint16_t attribute) {
    const size_t count = sizeof(dingo_small_answers) / sizeof(dingo_small_answers[0]);

    /* of any method: an answer of the driver's, by whatever name, and of a command by
     * UVERBS_METHOD_INVOKE_WRITE */
    if (attribute == UVERBS_ATTR_UHW_OUT ||
        (object == UVERBS_OBJECT_DEVICE && method == UVERBS_METHOD_INVOKE_WRITE &&
         attribute == UVERBS_ATTR_CORE_OUT)) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (dingo_small_answers[i].object == object && dingo_small_answers[i].method == method &&
            dingo_small_answers[i].attribute == attribute) {
            return true;
        }
    }
    return false;
}

#endif
