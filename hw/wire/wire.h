// SPDX-License-Identifier: BSD-2-Clause
//
// The wire of a card: the engine sends through it (dingo::WirePort) and receives from it.
//
//   engine -> FaultInjector -> PcapTee -> shm | roce | udp | unix | tap | packet | loop | none
//
// The tee is next to the wire: it records what is really on it, after transmit-side and before
// receive-side faults. A wire is not thread-safe, like the engine; it never blocks and calls back
// only into the FrameSink passed to receive().
//
// The loop of a card:
//     wire->advance(now);
//     while (wire->receive(sink, budget) == budget) ...;   // a full budget: maybe more is queued
//     engine->run(now, budget);
//     wire->flush();
//     poll on {fd(), POLLIN} and, where >= 0, {tx_blocked_fd(), POLLOUT}, until next_deadline()
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "dingo/engine.h"

namespace dingo {

/// Largest frame that every wire carries, from destination MAC to the last byte before the FCS.
inline constexpr std::size_t kMaxFrame = 9'728;
/// Largest frame of a packet train (dingo/packet/train.h).
inline constexpr std::size_t kMaxTrain = 33UL * 1024;
/// Bytes of the shortest frame: two MAC addresses and a type. Shorter ones are dropped and counted.
inline constexpr std::size_t kMinFrame = 14;

/// A wire cannot be created as requested; what() tells the user the reason and what to do.
class WireError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// Receiver of frames.
class FrameSink {
  public:
    virtual ~FrameSink() = default;
    /// Receives one frame; the bytes are valid until the call returns.
    virtual void on_frame(std::span<const std::byte> frame) = 0;
    /// Receives a frame that was sent without ICRC, and maybe without its payload. The default
    /// passes a complete copy to on_frame().
    virtual void on_frame_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload);
    /// Receives a train of `packets` packets. The default passes each packet to on_frame().
    virtual void on_train(std::span<const std::byte> frame, const Elsewhere& payload,
                          unsigned packets);
};

/// Counters of the fault injector's actions.
struct FaultStats {
    std::uint64_t dropped = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t delayed = 0;
    std::uint64_t ecn_marked = 0;
    /// not held or doubled, because too many frames were held already
    std::uint64_t overflowed = 0;
};

/// Counters of a wire since its creation. Frames and bytes are those on the wire; a train counts as
/// its packets, but with the bytes of one frame.
struct WireStats {
    std::uint64_t tx_frames = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_full = 0;      ///< begin_frame() returned no room
    std::uint64_t tx_no_peer = 0;   ///< lost: no listener at the other end
    std::uint64_t tx_errors = 0;    ///< lost: the kernel refused the frame
    std::uint64_t tx_dropped = 0;   ///< lost: a peer on a shm segment accepted nothing for too long
    std::uint64_t tx_not_roce = 0;  ///< lost: the wire carries RoCE v2 packets only
    std::uint64_t tx_referred = 0;  ///< of tx_frames: the payload stayed in the client's memory
    std::uint64_t rx_frames = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t rx_held = 0;   ///< of rx_frames: the payload may stay in the peer's buffer
    std::uint64_t rx_short = 0;  ///< dropped: less than kMinFrame
    std::uint64_t rx_long = 0;   ///< dropped: more than kMaxFrame
    /// lost because the receive queue was full; a GSO run counts once
    std::uint64_t rx_overrun = 0;
    std::uint64_t rx_errors = 0;     ///< receive calls that failed
    std::uint64_t rx_id_solved = 0;  ///< IPv4 identification found from the ICRC (`roce`)
    std::uint64_t pcap_errors = 0;   ///< frames that could not be written to the capture file
    FaultStats faults;
};

/// Calls fn(name, value) for every counter, in the order of the declarations.
template <typename Fn>
void for_each_counter(const WireStats& s, Fn&& fn) {
    fn("tx_frames", s.tx_frames);
    fn("tx_bytes", s.tx_bytes);
    fn("tx_full", s.tx_full);
    fn("tx_no_peer", s.tx_no_peer);
    fn("tx_errors", s.tx_errors);
    fn("tx_dropped", s.tx_dropped);
    fn("tx_not_roce", s.tx_not_roce);
    fn("tx_referred", s.tx_referred);
    fn("rx_frames", s.rx_frames);
    fn("rx_bytes", s.rx_bytes);
    fn("rx_held", s.rx_held);
    fn("rx_short", s.rx_short);
    fn("rx_long", s.rx_long);
    fn("rx_overrun", s.rx_overrun);
    fn("rx_errors", s.rx_errors);
    fn("rx_id_solved", s.rx_id_solved);
    fn("pcap_errors", s.pcap_errors);
    fn("fault_dropped", s.faults.dropped);
    fn("fault_duplicated", s.faults.duplicated);
    fn("fault_reordered", s.faults.reordered);
    fn("fault_corrupted", s.faults.corrupted);
    fn("fault_delayed", s.faults.delayed);
    fn("fault_ecn_marked", s.faults.ecn_marked);
    fn("fault_overflowed", s.faults.overflowed);
}

/// One end of a wire. Destruction sends nothing more: call flush() first.
class Wire : public dingo::WirePort {
  public:
    // begin_frame(max_len): empty also when max_len > kMaxFrame.
    // end_frame(len): queues; the frame leaves at flush() or earlier.

    /// Descriptor to poll for POLLIN; -1: none (then call receive() periodically).
    [[nodiscard]] virtual int fd() const = 0;

    /// Descriptor to poll for POLLOUT while the kernel accepts no frames; else, or if it cannot be
    /// polled, -1. Call flush() when it is writable.
    [[nodiscard]] virtual int tx_blocked_fd() const { return -1; }

    /// Delivers at most `budget` queued frames and returns their number (under a fault injector,
    /// the sink may get more or fewer). Never blocks. If it returns `budget`, more may be queued
    /// although fd() is not readable: call again before sleeping.
    virtual unsigned receive(FrameSink& sink, unsigned budget) = 0;

    /// Passes queued frames to the kernel, as many as it accepts.
    virtual void flush() = 0;

    /// Time at which advance(), receive() and flush() must be called even without events: for
    /// delayed frames or a capture file to flush. kNever if nothing is due.
    [[nodiscard]] virtual Nanoseconds next_deadline() const { return kNever; }

    /// Returns true if frames arrive through memory: fd() signals them only between prepare_sleep()
    /// and woke(), so receive() must be called in every round.
    [[nodiscard]] virtual bool polled() const { return false; }

    /// Asks the peers to make fd() readable from now on. Returns false if frames are queued, or
    /// there is room for those that were refused: do not sleep. After true, call woke() before
    /// anything else.
    [[nodiscard]] virtual bool prepare_sleep() { return true; }
    virtual void woke() {}
    /// Returns true if a card of this process has kicked this one since prepare_sleep(), which fd()
    /// does not signal.
    [[nodiscard]] virtual bool kicked() const { return false; }

    /// Returns true if the wire resolves addresses itself (the kernel's routes and neighbours): the
    /// card then resolves no MAC addresses.
    [[nodiscard]] virtual bool resolves() const { return false; }
    /// Returns the directory in which the cards of this host that share this wire find each other
    /// for other purposes than frames; "": none.
    [[nodiscard]] virtual std::string meeting_place() const { return {}; }
    /// Returns the UDP source port with which all frames leave, whatever they contain; 0: their
    /// own.
    [[nodiscard]] virtual std::uint16_t fixed_source_port() const { return 0; }

    /// Sets the time; call it in every round of the loop.
    virtual void advance(Nanoseconds now) = 0;

    /// Replaces the fault rules (grammar: faults.h); "" removes all. Frames held by the old rules
    /// are released at once. Throws WireError, and keeps the old rules, if spec is invalid.
    virtual void set_faults(std::string_view spec);

    /// Returns false if nothing is ever connected (`none`): the card reports link down.
    [[nodiscard]] virtual bool link() const { return true; }

    /// Returns one line for users: the wire and its layers.
    [[nodiscard]] virtual std::string describe() const = 0;

    [[nodiscard]] virtual WireStats stats() const = 0;
};

class LocalSegments;

/// The options --wire, --pcap, --faults and --seed.
struct WireOptions {
    std::string wire = "none";                ///< see wire_help()
    std::string pcap;                         ///< capture file; "" = none
    std::string faults;                       ///< fault rules, see faults_help(); "" = none
    std::uint64_t seed = 1;                   ///< seed of the fault injector
    std::uint64_t mac = 0x02'44'49'00'00'01;  ///< of the card
    /// Registry of the cards that one thread serves, for those on the same shm segment. Must
    /// outlive them.
    LocalSegments* local = nullptr;
};

/// Creates a wire with its layers. Throws WireError. Always includes a fault injector, so that
/// set_faults() works on a running card; without rules it costs one branch per frame.
std::unique_ptr<Wire> make_wire(const WireOptions& options);

/// Wraps a caller's wire, e.g. one end of a loop pair, in the layers of `options` (pcap, faults,
/// seed). Ignores options.wire. Throws WireError.
std::unique_ptr<Wire> wrap_wire(std::unique_ptr<Wire> wire, const WireOptions& options);

/// Creates the two ends of an in-process wire, each for one thread (the same, or two). Frames are
/// built in and delivered from a ring of `ring_bytes` per direction, without a copy; begin_frame()
/// returns nothing while the ring is full. No descriptor: poll with receive(). An end may outlive
/// the other one.
std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> make_loop_pair(
    std::size_t ring_bytes = 512 * 1024);

/// Text for --help about --wire and --faults.
std::string wire_help();
std::string faults_help();

}  // namespace dingo
