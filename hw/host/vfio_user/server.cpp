// SPDX-License-Identifier: BSD-2-Clause
#include "server.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace dingo::vfio_user {
namespace {

/// Maximum number of requests that wait for the engine; a client that sends more meanwhile is
/// broken.
constexpr std::size_t kMaxDeferred = 4096;

}  // namespace

// Payload sizes are those of the fixed parts; the handlers check the rest.
const Server::CommandEntry Server::kCommands[] = {
    {Command::kVersion, sizeof(Version), &Server::do_version},
    {Command::kDmaMap, sizeof(DmaMap), &Server::do_dma_map},
    {Command::kDmaUnmap, sizeof(DmaUnmap), &Server::do_dma_unmap},
    {Command::kDeviceGetInfo, sizeof(DeviceInfo), &Server::do_get_info},
    {Command::kDeviceGetRegionInfo, sizeof(RegionInfo), &Server::do_get_region_info},
    {Command::kDeviceGetIrqInfo, sizeof(IrqInfo), &Server::do_get_irq_info},
    {Command::kDeviceSetIrqs, sizeof(IrqSet), &Server::do_set_irqs},
    {Command::kRegionRead, sizeof(RegionAccess), &Server::do_region_read},
    {Command::kRegionWrite, sizeof(RegionAccess), &Server::do_region_write},
    {Command::kDeviceReset, 0, &Server::do_reset},
    {Command::kRegionWriteMulti, sizeof(std::uint64_t), &Server::do_region_write_multi},
};

Server::Server(std::chrono::milliseconds dma_timeout) : dma_timeout_(dma_timeout) {}

Server::~Server() = default;

void Server::bind(PciFunction& device, const PciIdentity& identity) {
    device_ = &device;
    identity_ = identity;
    pci_.emplace(identity);
    irq_.emplace(identity.msix_vectors);
    msix_table_.assign(identity.msix_vectors * 16u, std::byte{0});
}

void Server::attach(UniqueFd socket) {
    stream_ = std::make_unique<MessageStream>(std::move(socket));
    ++stats_.connections;
    log::info("vfio-user: client connected");
}

void Server::detach(std::string_view why) {
    if (!connected()) {
        return;
    }
    log::info("vfio-user: connection closed: {}", why);
    if (on_closing) {
        on_closing();
    }
    stream_.reset();
    negotiated_ = false;
    client_max_transfer_ = kMaxTransfer;
    abandoned_.clear();
    deferred_.clear();
    failed_.clear();
    dma_.unmap_all();
    reset_device();
    irq_->reset();
    // The machine was switched off: the next one must not find its data.
    if (const auto memory = device_->memory(); !memory.empty()) {
        ::madvise(memory.data(), memory.size(), MADV_REMOVE);
    }
}

// Nothing may be torn down while the engine is inside a DMA call; settle() does it afterwards.
void Server::lose(std::string_view why) {
    if (failed_.empty()) {
        failed_ = why;
    }
    abort_dma_ = true;
}

void Server::fail(std::string_view why) {
    stats_.protocol_errors += failed_.empty();
    lose(why);
}

bool Server::was_sent(MessageStream::Sent sent) {
    switch (sent) {
        case MessageStream::Sent::kTaken:
            return true;
        case MessageStream::Sent::kGone:
            lose(kGone);
            return false;
        case MessageStream::Sent::kFull:
            fail("client does not read its replies");
            return false;
        case MessageStream::Sent::kRefused:
            break;
    }
    lose("the socket takes no message");
    return false;
}

void Server::reset_device() {
    ++stats_.resets;
    reset_wanted_ = false;
    pci_->reset();
    irq_->clear_pending();
    device_->reset();
}

void Server::service(unsigned budget) {
    while (connected() && budget-- > 0) {
        switch (stream_->read(message_)) {
            case MessageStream::Read::kMessage:
                dispatch(message_);
                break;
            case MessageStream::Read::kWouldBlock:
                if (!was_sent(stream_->flush())) {
                    settle();
                }
                return;
            case MessageStream::Read::kClosed:
                detach(kGone);
                return;
            case MessageStream::Read::kMalformed:
                ++stats_.protocol_errors;
                detach("malformed message");
                return;
        }
        settle();
    }
}

void Server::settle() {
    if (dma_.take_faults() != 0) {
        ++stats_.dma_faults;
        fail("the client has shrunk a file that it gave us for DMA");
    }
    dma_.release();
    // A deferred request can call the engine, during which further requests are deferred.
    while (failed_.empty() && (reset_wanted_ || !deferred_.empty())) {
        abort_dma_ = false;
        if (reset_wanted_) {
            reset_device();
            continue;
        }
        Deferred next = std::move(deferred_.front());
        deferred_.pop_front();
        Reply reply;
        const int error = execute(next.message, reply);
        if (!next.answered) {
            answer(next.message, error, reply);
        }
        dma_.release();
    }
    abort_dma_ = false;
    if (!failed_.empty()) {
        detach(std::exchange(failed_, {}));
    }
}

void Server::dispatch(VfioMessage& message) {
    const std::uint32_t type = message.header.flags & kTypeMask;
    if (type == kTypeReply) {
        const auto late = std::find(abandoned_.begin(), abandoned_.end(), message.header.id);
        if (late == abandoned_.end()) {
            fail("reply without request");
            return;
        }
        abandoned_.erase(late);
        return;
    }
    if (type != kTypeCommand) {
        fail("message that is neither command nor reply");
        return;
    }
    ++stats_.requests;
    if (in_call_ && needs_engine(message)) {
        serve_nested(message);
        return;
    }
    Reply reply;
    const int error = execute(message, reply);
    answer(message, error, reply);
}

int Server::execute(VfioMessage& message, Reply& reply) {
    const auto* entry =
        std::find_if(std::begin(kCommands), std::end(kCommands), [&](const CommandEntry& e) {
            return static_cast<std::uint16_t>(e.command) == message.header.command;
        });
    if (entry == std::end(kCommands)) {
        return ENOTSUP;
    }
    if (!negotiated_ && entry->command != Command::kVersion) {
        fail("first message is not VERSION");
        return EPROTO;
    }
    const bool takes_fds =
        entry->command == Command::kDmaMap || entry->command == Command::kDeviceSetIrqs;
    if (message.payload.size() < entry->min_payload || (!takes_fds && !message.fds.empty())) {
        return EINVAL;
    }
    return (this->*entry->handler)(message, reply);
}

void Server::answer(const VfioMessage& message, int error, const Reply& reply) {
    stats_.request_errors += error != 0;
    if (error != 0) {
        log::debug("vfio-user: request {} failed: {}", message.header.command,
                   std::strerror(error));
    }
    if (!connected() || (message.header.flags & kFlagNoReply) != 0) {
        return;
    }
    Header header = message.header;
    header.flags = kTypeReply | (error != 0 ? kFlagError : 0);
    header.error = static_cast<std::uint32_t>(error);
    was_sent(error != 0 ? stream_->send(header, {})
                        : stream_->send(header, reply.bytes, {}, reply.fd));
}

bool Server::needs_engine(const VfioMessage& message) const {
    const auto command = static_cast<Command>(message.header.command);
    if (command == Command::kDeviceReset || command == Command::kRegionWriteMulti) {
        return true;
    }
    if ((command != Command::kRegionRead && command != Command::kRegionWrite) ||
        message.payload.size() < sizeof(RegionAccess)) {
        return false;
    }
    RegionAccess access;
    std::memcpy(&access, message.payload.data(), sizeof access);
    return valid_access(access) &&
           (access.region == VFIO_PCI_BAR2_REGION_INDEX ||
            (access.region == VFIO_PCI_BAR0_REGION_INDEX && !in_msix_area(access.offset)));
}

// Answers a read of a register whose value is available while the engine waits.
bool Server::answer_nested_read(const VfioMessage& message) {
    RegionAccess access;
    std::memcpy(&access, message.payload.data(), sizeof access);
    const auto aligned = access.count == 4 || access.count == 8;
    if (static_cast<Command>(message.header.command) != Command::kRegionRead ||
        access.region != VFIO_PCI_BAR0_REGION_INDEX || !aligned ||
        access.offset % access.count != 0 || message.payload.size() != sizeof access) {
        return false;
    }
    const auto value = device_->peek(Bar::kRegisters, access.offset, access.count);
    if (!value) {
        return false;
    }
    Reply reply;
    reply.bytes.resize(sizeof access + access.count);
    std::memcpy(reply.bytes.data(), &access, sizeof access);
    std::memcpy(reply.bytes.data() + sizeof access, &*value, access.count);
    answer(message, 0, reply);
    return true;
}

// Called when the engine waits for the client (DMA by message) and the client needs the engine.
// Writes to BARs are posted, as on PCIe: answered now, executed later. A reset, or a read that the
// engine cannot answer now, cannot wait for the DMA, as the client may be unable to serve the DMA
// before it has its answer (QEMU holds its lock). So the DMA is aborted with a bus error.
void Server::serve_nested(VfioMessage& message) {
    if (deferred_.size() >= kMaxDeferred) {
        fail("too many requests while it owes us a DMA reply");
        return;
    }
    Deferred item;
    const auto command = static_cast<Command>(message.header.command);
    if (command == Command::kRegionWrite) {
        RegionAccess access;
        std::memcpy(&access, message.payload.data(), sizeof access);
        if (message.payload.size() != sizeof access + access.count) {
            answer(message, EINVAL, {});
            return;
        }
        Reply reply;
        reply.bytes.assign(message.payload.begin(), message.payload.begin() + sizeof access);
        answer(message, 0, reply);
        item.answered = true;
    } else if (command == Command::kRegionRead && deferred_.empty() &&
               answer_nested_read(message)) {
        return;
    } else if ((message.header.flags & kFlagNoReply) == 0) {
        abort_dma_ = true;
        ++stats_.dma_aborted;
        log::warn("vfio-user: aborted a DMA by message, as the client waits for request {}",
                  message.header.command);
    }
    item.message = std::move(message);
    deferred_.push_back(std::move(item));
}

}  // namespace dingo::vfio_user
