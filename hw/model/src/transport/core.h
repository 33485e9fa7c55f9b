// SPDX-License-Identifier: BSD-2-Clause
//
// The transport's parts in one class, one source file a subject; transport.cpp is its outside.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "frame_writer.h"
#include "scheduler.h"
#include "send_wqe.h"
#include "timers.h"
#include "transport.h"
#include "transport_state.h"

namespace dingo::model {

/// Why a requester stopped sending.
enum class SendStop : std::uint8_t {
    kTurnOver,  ///< burst used up or wire busy: more to send at once
    kIdle,      ///< nothing posted, or not allowed to start
    kBlocked,   ///< until an acknowledgement or a timer
};

/// What moving payload came to.
enum class Move : std::uint8_t { kDone, kPaused, kFault };

class Core {
  public:
    Core(CardContext& card, TransportHost& host, MemoryTable& memory, Port& port)
        : card_(card), host_(host), memory_(memory), port_(port), frame_(card, port) {}

    // transport.cpp
    void qp_created(Qp& qp);
    void qp_destroyed(Qp& qp);
    void fill_info(const Qp& qp, dingo_qp_info& info) const;
    void sq_doorbell(Qp& qp, std::uint32_t producer);
    void rq_doorbell(Qp& qp, std::uint32_t producer);
    void srq_doorbell(SharedReceiveQueue& srq, std::uint32_t producer);
    bool run(unsigned budget);
    [[nodiscard]] Nanoseconds next_deadline() const {
        return std::min(timers_.earliest(), wire_retry_);
    }
    void reset();

    // qp_states.cpp: entry actions of the QP states
    void qp_modified(Qp& qp, QpState old_state, std::uint32_t mask);

    // dispatch.cpp
    /// `looped`: it comes by the loopback, so it has no ICRC.
    void receive(const packet::Packet& packet, std::span<const std::byte> frame, bool looped);

    // error_flow.cpp
    void fail(Qp& qp);

  private:
    // --- dispatch.cpp: checks that all QP types share, in the order of the headers
    bool check_transport(const Qp& qp, const packet::Packet& packet);
    bool check_state(const Qp& qp, const packet::Packet& packet);
    bool check_pkey(const packet::Packet& packet);
    bool check_path(const Qp& qp, const packet::Packet& packet);
    /// The source port is the one that the peer has used so far, when it is known.
    static bool check_port(const Qp& qp, const packet::Packet& packet);

    // --- retransmit.cpp: timers
    void arm(Qp& qp);
    void fire(Qp& qp);
    void ack_timeout(Qp& qp);
    void restart_ack_timer(Qp& qp);
    /// Frames arrive between two run()s, when only the time of the earlier one is known.
    void note_time(Qp& qp, bool& stale);
    void correct_times();

    // --- path.cpp
    /// The header template of a connected QP, made anew when the GID table changed; nullptr: no
    /// source GID.
    const packet::HeaderTemplate* path_of(Qp& qp);
    /// Template of a datagram; nullptr: no source GID.
    const packet::HeaderTemplate* path_of(const dingo_wqe_ud& av);
    /// Destination is a GID of ours, or a multicast group, on its VLAN.
    bool is_local_address(const packet::Packet& packet);
    /// In the VLAN of a GID of ours.
    [[nodiscard]] bool is_on_own_vlan(const packet::Packet& packet) const;

    // --- payload.cpp
    /// Checks all gather or scatter entries as a whole.
    Move check_sges(const Qp& qp, const SendWqe& wqe, std::uint32_t access, WqeFault& fault);
    /// Message bytes [offset, offset + data.size()) between the WQE's entries and `data`.
    Move gather(const Qp& qp, const SendWqe& wqe, std::uint32_t offset, std::span<std::byte> data,
                WqeFault& fault);
    /// Gives the open frame its payload: bytes of a SEND or WRITE from `offset` on, through the
    /// QP's compute kernel.
    Move fill_payload(const Qp& qp, const SendWqe& wqe, std::uint32_t offset, WqeFault& fault);
    /// The payload where it lies in host memory, when nothing changes it on its way; else nullptr.
    const std::byte* payload_in_place(const Qp& qp, const SendWqe& wqe, std::uint64_t offset,
                                      std::uint64_t bytes);
    Move scatter(const Qp& qp, const SendWqe& wqe, std::uint32_t offset,
                 std::span<const std::byte> data, WqeFault& fault);
    Move scatter(const Qp& qp, const ReceiveWqe& wqe, std::uint64_t offset,
                 std::span<const std::byte> data, WqeFault& fault);

    // --- requester.cpp: RC and UC
    SendStop send(Qp& qp, unsigned burst, unsigned& used);
    SendStop start_wqe(Qp& qp);
    SendStop start_message(Qp& qp);
    void push_error(Qp& qp, WqeFault fault);
    void fail_at_cursor(Qp& qp, WqeFault fault);
    bool reload_wqe(Qp& qp, const SendRecord& record);
    [[nodiscard]] bool window_closed(const Qp& qp) const;

    // --- request_packet.cpp
    SendStop send_packet(Qp& qp, const SendRecord& record);
    SendStop send_data_packet(Qp& qp, const SendRecord& record, std::uint32_t packet_index);
    SendStop send_read_request(Qp& qp, const SendRecord& record, std::uint32_t packet_index);
    SendStop send_atomic_request(Qp& qp, const SendRecord& record);
    void request_sent(Qp& qp, std::uint32_t next_psn, bool ack_requested);

    // --- local_ops.cpp
    SendStop start_local_operation(Qp& qp);

    // --- completer.cpp
    void receive_response(Qp& qp, const packet::Packet& packet);
    void receive_acknowledge(Qp& qp, const packet::Packet& packet, std::uint32_t psn);
    void receive_sequence_nak(Qp& qp, std::uint32_t psn);
    void receive_rnr_nak(Qp& qp, std::uint8_t syndrome, std::uint32_t psn);
    void receive_fatal_nak(Qp& qp, std::uint8_t syndrome, std::uint32_t psn);
    void receive_read_data(Qp& qp, const packet::Packet& packet, std::uint32_t psn);
    void receive_atomic_ack(Qp& qp, const packet::Packet& packet, std::uint32_t psn);
    /// acknowledge() and what follows from it. False: the response skipped a READ or atomic, or the
    /// QP failed.
    bool advance(Qp& qp, std::uint32_t psn);
    void bad_response(Qp& qp, std::uint32_t psn);
    bool take_response_data(Qp& qp, std::uint32_t offset, std::span<const std::byte> data);
    /// Everything before `psn` is acknowledged: completes. False: a READ or atomic before it still
    /// waits.
    bool acknowledge(Qp& qp, std::uint32_t psn);
    void complete_front(Qp& qp);
    void after_progress(Qp& qp);
    void check_drained(Qp& qp);

    // --- retransmit.cpp
    void go_back(Qp& qp);
    void implied_nak(Qp& qp);
    bool use_retry(Qp& qp, std::uint8_t vendor_err);
    /// Sends nothing before `delay` is over.
    void pause_sending(Qp& qp, Nanoseconds delay);

    // --- responder.cpp: one function per check, in the order of the specification
    void receive_request(Qp& qp, const packet::Packet& packet);
    bool check_psn(Qp& qp, const packet::Packet& packet);
    bool check_opcode_sequence(Qp& qp, const packet::Packet& packet);
    bool check_opcode_valid(Qp& qp, const packet::Packet& packet);
    bool check_resource(Qp& qp, const packet::Packet& packet);
    bool check_length(Qp& qp, const packet::Packet& packet);
    bool check_rkey(Qp& qp, const packet::Packet& packet);
    /// What a failed key check means; true for kOk.
    bool check_remote(Qp& qp, KeyVerdict verdict);

    // --- responder_execute.cpp
    void execute(Qp& qp, const packet::Packet& packet);
    bool execute_send(Qp& qp, const packet::Packet& packet);
    bool execute_write(Qp& qp, const packet::Packet& packet);
    void execute_read(Qp& qp, const packet::Packet& packet);
    void execute_atomic(Qp& qp, const packet::Packet& packet);
    bool finish_message(Qp& qp, const packet::Packet& packet, std::uint32_t bytes);
    static ReadResource& new_resource(Responder& responder, const packet::Packet& packet);

    // --- nak.cpp: the one ACK or NAK that a responder owes
    void reply(Qp& qp, std::uint8_t syndrome, std::uint32_t psn);
    void nak_sequence(Qp& qp);
    void nak_not_ready(Qp& qp);
    /// NAK for `psn`; the QP goes to ERR when it has left. `kind` = enum ev of the event, 0 = none.
    void nak_fatal(Qp& qp, std::uint8_t syndrome, std::uint32_t psn, std::uint8_t kind);

    // --- receive_wqe.cpp: taking, giving back and completing receive WQEs
    /// Makes `receive_` the receive WQE of the message in progress, or takes the next one.
    ReceiveRing::Fetch take_receive(Qp& qp);
    /// Gives back what take_receive() took for this packet.
    void put_back_receive(Qp& qp);
    /// The message goes on: keeps the WQE for its next packet.
    void hold_receive(Qp& qp);
    void receive_consumed(Qp& qp);
    bool complete_receive(Qp& qp, const packet::Packet& packet, std::uint32_t bytes);
    void fail_receive(Qp& qp, WqeFault fault);
    [[nodiscard]] std::uint64_t receive_capacity() const;

    // --- duplicate.cpp
    void receive_duplicate(Qp& qp, const packet::Packet& packet);
    void repeat_read(Qp& qp, const packet::Packet& packet);
    void repeat_atomic(Qp& qp, const packet::Packet& packet);

    // --- response.cpp
    enum class Sent : std::uint8_t { kYes, kBusy, kNo };
    /// Sends READ responses, atomic acknowledgements and then the ACK or NAK. True: more at once.
    bool respond(Qp& qp, unsigned burst, unsigned& used);
    Sent send_response(Qp& qp, ReadResource& resource);
    Sent send_read_response(Qp& qp, ReadResource& resource, packet::TransportHeaders& headers);
    Sent send_atomic_response(Qp& qp, ReadResource& resource, packet::TransportHeaders& headers);
    Sent send_reply(Qp& qp);
    /// The owner leaves: what it saw completed is acknowledged, lest the peer repeat it to nobody.
    void send_owed_reply(Qp& qp);
    /// Schedules packets [start, stop) of a resource, `end` = bytes of the READ that they reach to.
    void start_response(Qp& qp, ReadResource& resource, std::uint32_t start, std::uint32_t stop,
                        std::uint32_t end);
    static void pick_response(Responder& responder);

    // --- error_flow.cpp
    void enter_error(Qp& qp);
    void enter_send_error(Qp& qp);
    void fail_front(Qp& qp, WqeFault fault);
    bool flush(Qp& qp, unsigned burst, unsigned& used);
    bool flush_sends(Qp& qp, unsigned burst, unsigned& used);
    bool flush_receives(Qp& qp, unsigned burst, unsigned& used);
    void last_wqe_event(Qp& qp);

    // --- datagram.cpp: UD and GSI
    SendStop send_datagrams(Qp& qp, unsigned burst, unsigned& used);
    SendStop send_datagram(Qp& qp);
    /// Of a QP that goes: as many as the wire takes.
    void send_last_datagrams(Qp& qp);
    void receive_datagram(Qp& qp, const packet::Packet& packet, std::span<const std::byte> frame);
    /// A copy to each QP that is attached to the group.
    void receive_multicast(const packet::Packet& packet, std::span<const std::byte> frame);
    /// QPs of this card are attached to the group that it goes to.
    [[nodiscard]] bool is_in_own_group(const dingo_wqe_ud& av) const;

    // --- unreliable_connected.cpp
    void receive_unreliable(Qp& qp, const packet::Packet& packet);
    bool unreliable_send(Qp& qp, const packet::Packet& packet);
    bool unreliable_write(Qp& qp, const packet::Packet& packet);
    void drop_unreliable(Qp& qp);

    // --- cqe.cpp
    void complete_send(Qp& qp, std::uint32_t index, std::uint8_t opcode, std::uint32_t byte_len);
    void complete_send_error(Qp& qp, std::uint32_t index, std::uint8_t opcode, WqeFault fault);
    bool post_receive(Qp& qp, dingo_cqe entry);
    void post_receive_error(Qp& qp, std::uint32_t tag, std::uint8_t opcode, WqeFault fault);

    // --- qp_states.cpp
    void forget(Qp& qp);
    void start_requester(Qp& qp);
    void start_responder(Qp& qp);

    // --- transport.cpp
    unsigned turn(Qp& qp);
    void prefetch_next() const;
    void wake(Qp& qp) { scheduler_.add(qp); }
    void drop(dingo_card_counter counter) { card_.count(counter); }
    void event(const Qp& qp, std::uint8_t kind) { host_.async_event(kind, qp.qpn); }

    CardContext& card_;
    TransportHost& host_;
    MemoryTable& memory_;
    Port& port_;
    FrameWriter frame_;
    Scheduler scheduler_;
    Timers timers_;

    // One of each for the card, not for each QP: they hold nothing from one call to the next that
    // could not be read again.
    SendWqe send_wqe_;                 ///< WQE of the turn
    SendWqe response_wqe_;             ///< READ or atomic that responses are scattered to
    const Qp* response_qp_ = nullptr;  ///< whose response_wqe_ is
    std::uint32_t response_index_ = 0;
    ReceiveWqe receive_scratch_;
    ReceiveWqe* receive_ = nullptr;  ///< WQE of the packet that is being executed
    packet::HeaderTemplate datagram_path_;
    std::uint32_t last_gid_ = 0;  ///< where is_local_address() looks first
    std::vector<Qp*> stale_;      ///< see note_time()
    Nanoseconds last_now_ = 0;    ///< time of the last run()
    bool running_ = false;
    Nanoseconds wire_retry_ = kNever;  ///< the wire was busy: try again then
};

/// Looks again after this time at a paused region.
inline constexpr Nanoseconds kPauseRetry = 100'000;

/// A payload of so many bytes is left where it is until it is copied to where it goes.
inline constexpr std::size_t kReferredBytes = 512;

/// Payload bytes of a full packet.
inline std::uint32_t pmtu_bytes(const Qp& qp) noexcept {
    return 128U << qp.attr.path_mtu;
}

/// Packets of a message; an empty one takes one.
constexpr std::uint32_t packets_of(std::uint32_t length, std::uint32_t pmtu) noexcept {
    return length == 0 ? 1 : static_cast<std::uint32_t>((std::uint64_t{length} + pmtu - 1) / pmtu);
}

/// Order of free-running PSNs and indices.
constexpr bool is_before(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

inline bool is_reliable(const Qp& qp) noexcept {
    return qp.type == QpType::kRc;
}

}  // namespace dingo::model
