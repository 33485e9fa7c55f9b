// SPDX-License-Identifier: BSD-2-Clause
// A vfio-user server for one PCIe function: config space, BARs, DMA windows, MSI-X. It has no
// thread and no listening socket: the card's loop passes it a connected socket, calls service()
// when the socket is ready, and settle() after every call into the engine.
//
// The client may be hostile or disappear. All input is validated: an invalid request gets an error
// reply, a stream that cannot be trusted is closed, and a client that disconnects resets the
// device.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "dingo/engine.h"
#include "dma_table.h"
#include "host/pci_function.h"
#include "irq.h"
#include "message_stream.h"
#include "pci_config.h"
#include "protocol.h"

namespace dingo::vfio_user {

struct ServerStats {
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;
    std::uint64_t request_errors = 0;     ///< answered with an error
    std::uint64_t protocol_errors = 0;    ///< connections closed because of a malformed message
    std::uint64_t resets = 0;             ///< FLR, DEVICE_RESET or a client that disconnected
    std::uint64_t dma_errors = 0;         ///< bus errors reported to the engine
    std::uint64_t dma_messages = 0;       ///< DMA_READ and DMA_WRITE sent to the client
    std::uint64_t dma_aborted = 0;        ///< DMA messages given up because the client waited for
                                          ///< us
    std::uint64_t dma_message_bytes = 0;  ///< bytes of the answered DMA messages
    std::uint64_t card_memory_bytes = 0;  ///< bytes of the engine's DMA to its own BAR4
    std::uint64_t dma_faults = 0;         ///< pages missing from files that the client has shrunk
};

template <typename Fn>
void for_each_counter(const ServerStats& s, Fn&& fn) {
    fn("connections", s.connections);
    fn("requests", s.requests);
    fn("request_errors", s.request_errors);
    fn("protocol_errors", s.protocol_errors);
    fn("resets", s.resets);
    fn("dma_errors", s.dma_errors);
    fn("dma_messages", s.dma_messages);
    fn("dma_aborted", s.dma_aborted);
    fn("dma_message_bytes", s.dma_message_bytes);
    fn("card_memory_bytes", s.card_memory_bytes);
    fn("dma_faults", s.dma_faults);
}

class Server final : public HostPort {
  public:
    /// A client that does not answer a DMA message within dma_timeout is disconnected, as the
    /// engine waits meanwhile.
    explicit Server(std::chrono::milliseconds dma_timeout = std::chrono::seconds(5));
    ~Server() override;

    /// Call it before the first attach(). Not part of the constructor, as the engine's constructor
    /// needs a HostPort and the identity comes from the engine. `device` must outlive all use of
    /// the server.
    void bind(PciFunction& device, const PciIdentity& identity);

    /// Starts to serve a connected socket; requires !connected().
    void attach(UniqueFd socket);
    [[nodiscard]] bool connected() const { return stream_ != nullptr; }
    /// The client's socket, -1 without a client.
    [[nodiscard]] int fd() const { return connected() ? stream_->fd() : -1; }
    [[nodiscard]] bool wants_write() const { return connected() && stream_->wants_write(); }

    /// Called before the client's socket is closed, to stop watching it.
    std::function<void()> on_closing;

    /// Serves up to `budget` received requests and sends queued data. Never blocks, except as
    /// limited by dma_timeout.
    void service(unsigned budget = 64);
    /// Finishes what had to wait for the engine's return. Call it after every call into the engine.
    void settle();

    /// Closes the connection and resets the device; `why` is logged.
    void detach(std::string_view why);

    // HostPort. Unless bus-master is enabled, all DMA is a bus error and no message is sent.
    bool dma_read(std::uint64_t addr, std::span<std::byte> dst) override;
    bool dma_write(std::uint64_t addr, std::span<const std::byte> src) override;
    bool dma_atomic(std::uint64_t addr, const FarMemory::Atomic& request,
                    std::uint64_t& before) override;
    std::byte* dma_pointer(std::uint64_t addr, std::size_t len) override;
    void raise_msix(unsigned vector) override;

    [[nodiscard]] const ServerStats& stats() const { return stats_; }
    [[nodiscard]] const DmaTable& dma() const { return dma_; }
    [[nodiscard]] std::uint64_t interrupts() const { return irq_->sent(); }
    /// Drops the next `count` interrupts of `vector`. Throws std::invalid_argument.
    void lose_interrupts(unsigned vector, unsigned count) { irq_->lose(vector, count); }

  private:
    struct Reply {
        std::vector<std::byte> bytes;
        int fd = -1;
    };
    struct Deferred {
        VfioMessage message;
        bool answered = false;
    };
    using Handler = int (Server::*)(VfioMessage&, Reply&);
    struct CommandEntry {
        Command command;
        std::size_t min_payload;
        Handler handler;
    };
    static const CommandEntry kCommands[];
    static constexpr std::string_view kGone = "client is gone";

    // server.cpp: requests
    void dispatch(VfioMessage& message);
    int execute(VfioMessage& message, Reply& reply);
    void answer(const VfioMessage& message, int error, const Reply& reply);
    void fail(std::string_view why);
    /// As fail(), but the client has apparently done nothing wrong.
    void lose(std::string_view why);
    /// Handles the result of sending a message. Returns false if the connection must be closed.
    bool was_sent(MessageStream::Sent sent);
    void reset_device();
    [[nodiscard]] bool needs_engine(const VfioMessage& message) const;
    void serve_nested(VfioMessage& message);
    bool answer_nested_read(const VfioMessage& message);

    // server_commands.cpp: one function per command; they return 0 or an errno
    int do_version(VfioMessage& m, Reply& reply);
    int do_dma_map(VfioMessage& m, Reply& reply);
    int do_dma_unmap(VfioMessage& m, Reply& reply);
    int do_get_info(VfioMessage& m, Reply& reply);
    int do_get_region_info(VfioMessage& m, Reply& reply);
    int do_get_irq_info(VfioMessage& m, Reply& reply);
    int do_set_irqs(VfioMessage& m, Reply& reply);
    int do_region_read(VfioMessage& m, Reply& reply);
    int do_region_write(VfioMessage& m, Reply& reply);
    int do_region_write_multi(VfioMessage& m, Reply& reply);
    int do_reset(VfioMessage& m, Reply& reply);
    [[nodiscard]] std::uint64_t region_size(std::uint32_t region) const;
    [[nodiscard]] bool valid_access(const RegionAccess& access) const;
    void read_region(const RegionAccess& access, std::span<std::byte> out);
    void write_region(const RegionAccess& access, std::span<const std::byte> in);
    void read_msix(std::uint64_t offset, std::span<std::byte> out) const;
    void write_msix(std::uint64_t offset, std::span<const std::byte> in);
    [[nodiscard]] bool in_msix_area(std::uint64_t offset) const;
    [[nodiscard]] std::span<std::byte> memory_at(const RegionAccess& access, bool write);

    // server_dma.cpp: DMA by messages
    bool read_by_message(std::uint64_t addr, std::span<std::byte> dst);
    bool write_by_message(std::uint64_t addr, std::span<const std::byte> src);
    /// Sends a DMA request and serves the client until the reply is in nested_. Returns false if
    /// there is none.
    bool call_client(Command command, const DmaAccess& access, std::span<const std::byte> data);
    bool dma_error();
    /// Returns the memory of this card's own BAR4 at the address; empty if the address is outside
    /// it.
    [[nodiscard]] std::span<std::byte> card_memory(std::uint64_t addr) const;

    const std::chrono::milliseconds dma_timeout_;
    PciFunction* device_ = nullptr;
    PciIdentity identity_;
    std::optional<PciConfig> pci_;
    std::optional<MsixVectors> irq_;
    std::vector<std::byte> msix_table_;  ///< storage only: the client has the real table
    DmaTable dma_;
    ServerStats stats_;

    std::unique_ptr<MessageStream> stream_;
    bool negotiated_ = false;
    std::uint32_t client_max_transfer_ = kMaxTransfer;
    std::uint16_t next_id_ = 0;
    VfioMessage message_;
    VfioMessage nested_;
    std::vector<std::uint16_t> abandoned_;  ///< ids of DMA requests that were given up

    bool in_call_ = false;       ///< inside call_client() and so inside the engine
    bool abort_dma_ = false;     ///< the client waits for the engine: no more DMA by message now
    bool reset_wanted_ = false;  ///< FLR requested while the engine was busy
    std::string failed_;         ///< why the connection must be closed after the engine has
                                 ///< returned
    std::deque<Deferred> deferred_;  ///< requests that need the engine
};

}  // namespace dingo::vfio_user
