// SPDX-License-Identifier: BSD-2-Clause
// A descriptor in a view of several cards: this card serves it and relays commands to the others.
// An identifier without an address is on this card. If it is bound to a wildcard address, it has a
// twin on each other card. If it is bound to an address, it is on the card with that address.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/foreign_fd.h"
#include "host/rdma_cm/address.h"
#include "host/rdma_cm/link.h"
#include "host/uverbs/message.h"

namespace dingo::rdma_cm {

class File;
class Id;
class CmService;
struct Command;

/// A request whose answer must wait for another card.
struct Later {
    ForeignSocket reply;
    std::shared_ptr<uverbs::Arguments> arguments;
    int result = 0;          ///< if all succeeds
    std::uint32_t left = 0;  ///< DINGO_UVERBS_IDLE_* of the descriptor that MIGRATE_ID has taken
                             ///< the identifier from
};

/// Collects the answers of several other cards.
struct Gathered {
    std::size_t left;
    int error = 0;
    /// Returns true for the last answer.
    bool take(int result) {
        if (result != 0 && result != -EIO) {  // a card that has died is ignored
            error = result;
        }
        return --left == 0;
    }
};

class Relay final : private Link::Owner {
  public:
    static constexpr std::size_t kMostLinks = 63;
    /// Maximum number of requests that wait at the same time; each keeps a descriptor.
    static constexpr std::size_t kMostOpen = 256;

    Relay(CmService& service, File& file) : service_(service), file_(file) {}
    ~Relay() override;
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    /// DINGO_UVERBS_RDMA_CM_JOIN. Moves `later` unless it throws ErrnoError.
    void join(ForeignSocket socket, Later& later);
    [[nodiscard]] std::size_t links() const { return links_.size(); }

    enum class Did {
        kNothing,  ///< only this card is concerned
        kAll,      ///< executed
        kLater,    ///< File::answer() will send the answer
    };
    /// Executes the part of a command that concerns other cards. Throws ErrnoError.
    Did execute(Command& command, uverbs::Message& message);
    /// Called when the identifier is destroyed.
    void forget(const Id& id);
    /// Takes over an identifier of another descriptor.
    void adopt(Relay& from, const Id& id);

  private:
    using Then = std::function<void(int error)>;  ///< 0 or -errno
    struct Twin {
        std::shared_ptr<Link> link;  ///< may be one of another descriptor while it moves
        std::uint32_t number;
    };
    struct Entry {
        std::uint64_t key = 0;  ///< uid of the twins, carried by their events
        bool away = false;      ///< the identifier is on another card (its twin), which may have
                                ///< died
        bool busy = false;      ///< it is moving between cards
        std::vector<Twin> twins;
        std::vector<Link::Command> options;    ///< options to set on future twins
        std::vector<uverbs::Message> waiting;  ///< commands that wait until it has moved
    };
    /// A command that may be sent to another card.
    struct Layout {
        std::uint32_t number;  ///< RDMA_USER_CM_CMD_*
        std::size_t id_at;     ///< offset of the identifier's number in the body
        std::optional<std::size_t> response_at;
    };
    static const Layout kLayouts[];
    /// A command being handled by the relay.
    struct Call {
        Command& command;
        uverbs::Message& message;
        const Layout& layout;
        std::span<const std::byte> body;
        std::size_t room;
        Id& id;
        Entry& entry;
    };
    using Result = std::shared_ptr<Later>;

    // Link::Owner
    void on_event(Link& link, const rdma_ucm_event_resp& event) override;
    void on_lost(Link& link) override;
    void on_request(Link& link, Id& listener, rdma_ucm_event_resp event);
    void on_group_event(Link& link, const rdma_ucm_event_resp& event);
    /// Returns true if the identifier has a twin on that link.
    [[nodiscard]] bool leads_to_twin(const Entry& entry, const Link& link) const;

    [[nodiscard]] Did handle(Call& call);
    [[nodiscard]] Did migrate(Command& command, uverbs::Message& message);
    [[nodiscard]] Did join_group(Call& call);
    [[nodiscard]] Did leave_group(const Command& command, uverbs::Message& message);
    [[nodiscard]] Did bind(Call& call, const Address& address);
    [[nodiscard]] Did resolve(Call& call, const Address& source, const Address& destination);
    [[nodiscard]] Did listen(Call& call);
    [[nodiscard]] Did set_option(Call& call);
    [[nodiscard]] Did destroy(Call& call);
    /// Sends the command to the only twin; `then` is called before the answer is sent.
    [[nodiscard]] Did forward(Call& call, Then then = {});

    /// Sends a command to a link, which may be another relay's: `done` is not called if this relay
    /// has ended before the answer.
    void send(Link& link, Link::Command command, Link::Done done);
    [[nodiscard]] Result later(uverbs::Message& message);
    void answer(const Result& result, int error);
    /// Executes the commands that waited until the identifier reached its card.
    void arrived(std::uint32_t id);
    [[nodiscard]] Entry* entry_of(std::uint32_t id, std::uint64_t key);
    /// Returns true if that link has twins of the identifier with this key.
    [[nodiscard]] bool expects(std::uint64_t key, const Link& link) const;

    /// Commands to twins.
    static Link::Command command_of(const Call& call);
    void make_twin(const Id& id, Link& link, Link::Command last, Then then);
    void destroy_twin(const Twin& twin, Then then = {});
    void drop_twins(Entry& entry, const Link* but = nullptr);
    void bind_everywhere(Id& id, const Address& address, unsigned tries, const Then& then);
    void listen_everywhere(Id& id, std::uint32_t backlog, const Then& then);
    void migrate_rest(std::uint32_t id, std::uint64_t key, std::uint64_t response,
                      const Result& result);
    void migrate_twin(std::uint32_t id, std::uint64_t key, const Twin& twin, Then then);

    /// These return nullptr for this card.
    [[nodiscard]] Link* owner_of(const Address& address) const;
    [[nodiscard]] Link* way_to(const Address& destination) const;
    [[nodiscard]] bool owns(const Address& address) const;
    [[nodiscard]] Link* link_to(std::uint64_t node_guid) const;

    CmService& service_;
    File& file_;
    std::shared_ptr<char> here_ = std::make_shared<char>();
    std::vector<std::shared_ptr<Link>> links_;
    std::map<std::uint32_t, Entry> entries_;
    std::size_t open_ = 0;                               ///< requests that wait
    std::map<std::uint64_t, std::vector<Twin>> coming_;  ///< twins that have moved already, by key
    std::map<std::uint64_t, std::uint32_t> migrating_;   ///< identifiers on their way here, by key
};

}  // namespace dingo::rdma_cm
