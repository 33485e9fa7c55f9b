// SPDX-License-Identifier: BSD-2-Clause
#include "transport.h"

#include "transport_state.h"

namespace dingo::model {

Qp::Qp() = default;
Qp::~Qp() = default;

struct Transport::Impl {
    CardContext& card;
    TransportHost& host;
    MemoryTable& memory;
    Port& port;
};

Transport::Transport(CardContext& card, TransportHost& host, MemoryTable& memory, Port& port)
    : impl_(new Impl{card, host, memory, port}) {}
Transport::~Transport() = default;

void Transport::qp_created(Qp& qp) { qp.transport = std::make_unique<TransportState>(); }
void Transport::qp_destroyed(Qp& qp) { qp.transport.reset(); }
void Transport::qp_modified(Qp&, QpState, std::uint32_t) {}
void Transport::fill_info(const Qp& qp, dingo_qp_info& info) const { info.sq_producer = qp.sq_producer; }
void Transport::sq_doorbell(Qp& qp, std::uint32_t producer) { qp.sq_producer = producer; }
void Transport::rq_doorbell(Qp& qp, std::uint32_t producer) { qp.rq.ring(producer); }
void Transport::srq_doorbell(SharedReceiveQueue& srq, std::uint32_t producer) { srq.ring.ring(producer); }
void Transport::receive(const packet::Packet&, std::span<const std::byte>) {}
bool Transport::run(unsigned) { return false; }
Nanoseconds Transport::next_deadline() const { return kNever; }
void Transport::fail(Qp& qp) { qp.state = QpState::kErr; }
void Transport::reset() {}

}  // namespace dingo::model
