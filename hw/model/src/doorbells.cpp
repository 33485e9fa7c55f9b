// SPDX-License-Identifier: BSD-2-Clause
//
// Decodes doorbells and passes them to the object, if it belongs to the page.
#include "card.h"

namespace dingo::model {
namespace {

/// Returns the bits of word0 that a doorbell type uses besides object and type.
constexpr std::uint32_t extra_bits(std::uint32_t type) {
    switch (type) {
        case DINGO_DB_SQ:
            return DINGO_DOORBELL_WORD0_PUSHED_MASK;
        case DINGO_DB_CQ:
            return DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK | DINGO_DOORBELL_WORD0_ARM_SN_MASK;
        case DINGO_DB_EQ:
            return DINGO_DOORBELL_WORD0_ARM_MASK;
        default:
            return 0;
    }
}

}  // namespace

void ModelEngine::doorbell(std::uint32_t page, std::uint32_t word0, std::uint32_t index) {
    if (!ring(page, word0, index)) {
        card_.count(DINGO_CARD_DB_DROPPED);
    }
}

void ModelEngine::ring_sq(QueuePair& qp, std::uint32_t pushed, std::uint32_t index) {
    const std::uint32_t before = qp.sq_producer;
    state_->transport.sq_doorbell(qp, index);
    if (qp.sq_producer == before)
        return;
    if (pushed == 0)
        qp.pushed.reset();  // the indexes of old pushed blocks will come again
    else
        push_pages_.take(qp.db_page, pushed, index, qp.pushed);
}

/// Returns false if the object does not exist or belongs to another page, or if the index is
/// invalid.
bool ModelEngine::ring(std::uint32_t page, std::uint32_t word0, std::uint32_t index) {
    const std::uint32_t type = DINGO_GET(DINGO_DOORBELL_WORD0_TYPE_MASK, word0);
    const std::uint32_t object = DINGO_GET(DINGO_DOORBELL_WORD0_OBJECT_MASK, word0);
    const std::uint32_t known =
        DINGO_DOORBELL_WORD0_TYPE_MASK | DINGO_DOORBELL_WORD0_OBJECT_MASK | extra_bits(type);
    if ((word0 & ~known) != 0) {
        return false;
    }
    switch (type) {
        case DINGO_DB_SQ:
        case DINGO_DB_RQ: {
            QueuePair* qp = state_->find_qp(object);
            const std::uint32_t pushed =
                type == DINGO_DB_SQ ? DINGO_GET(DINGO_DOORBELL_WORD0_PUSHED_MASK, word0) : 0;
            if (qp == nullptr || qp->db_page != page ||
                (pushed != 0 && (pushed > DINGO_PUSH_BLOCKS || page >= push_page_count()))) {
                return false;
            }
            if (type == DINGO_DB_SQ) {
                ring_sq(*qp, pushed, index);
            } else {
                state_->transport.rq_doorbell(*qp, index);
            }
            return true;
        }
        case DINGO_DB_CQ: {
            CompletionQueue* cq = state_->cqs.find(object);
            if (cq == nullptr || cq->db_page != page) {
                return false;
            }
            cq->doorbell(card_, word0, index);
            return true;
        }
        case DINGO_DB_SRQ: {
            SharedReceiveQueue* srq = state_->srqs.find(object);
            if (srq == nullptr || srq->db_page != page) {
                return false;
            }
            state_->transport.srq_doorbell(*srq, index);
            return true;
        }
        case DINGO_DB_EQ: {
            EventQueue* eq = state_->eqs.find(object);
            return eq != nullptr && page == DINGO_DB_PAGE_KERNEL &&
                   eq->doorbell(card_, (word0 & DINGO_DOORBELL_WORD0_ARM_MASK) != 0, index);
        }
        case DINGO_DB_ETH_TX:
        case DINGO_DB_ETH_RX:
            return page == DINGO_DB_PAGE_KERNEL &&
                   state_->ethernet.doorbell(type == DINGO_DB_ETH_TX ? DINGO_ETH_TX : DINGO_ETH_RX,
                                             object, index);
        default:
            return false;
    }
}

}  // namespace dingo::model
