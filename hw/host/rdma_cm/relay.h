// SPDX-License-Identifier: BSD-2-Clause
//
// A descriptor in a view of several cards: this card serves it, and relays to the others. An
// identifier without an address lives here. Bound to a wildcard address, it has a twin on each of
// the other cards. Bound to an address, it lives on the card with that address.
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

/// A request whose answer has to wait for another card.
struct Later {
    ForeignSocket reply;
    std::shared_ptr<uverbs::Arguments> arguments;
    int result = 0;          ///< when all goes well
    std::uint32_t left = 0;  ///< DINGO_UVERBS_IDLE_* of the descriptor that MIGRATE_ID left
};

/// Several answers of other cards.
struct Gathered {
    std::size_t left;
    int error = 0;
    /// True: this was the last one.
    bool take(int result) {
        if (result != 0 && result != -EIO) {  // a card that has gone is no obstacle
            error = result;
        }
        return --left == 0;
    }
};

class Relay final : private Link::Owner {
  public:
    static constexpr std::size_t kMostLinks = 63;
    /// Requests that wait at the same time: each keeps a descriptor.
    static constexpr std::size_t kMostOpen = 256;

    Relay(CmService& service, File& file) : service_(service), file_(file) {}

    /// DINGO_UVERBS_RDMA_CM_JOIN. ErrnoError; else it takes `later`.
    void join(ForeignSocket socket, Later& later);
    [[nodiscard]] std::size_t links() const { return links_.size(); }

    enum class Did {
        kNothing,  ///< it is this card's affair alone
        kAll,      ///< carried out
        kLater,    ///< the answer comes by File::answer()
    };
    /// What of a command concerns other cards. ErrnoError.
    Did execute(Command& command, uverbs::Message& message);
    /// The identifier is destroyed.
    void forget(const Id& id);
    /// It moves here from another descriptor.
    void adopt(Relay& from, const Id& id);

  private:
    using Then = std::function<void(int error)>;  ///< 0 or -errno
    struct Twin {
        Link* link;
        std::uint32_t number;
    };
    struct Entry {
        std::uint64_t key = 0;  ///< uid of the twins, which their events carry
        bool away = false;      ///< it lives on another card (its twin), which may have gone
        bool busy = false;      ///< it is moving between cards
        std::vector<Twin> twins;
        std::vector<Link::Command> options;    ///< for the twins to come
        std::vector<uverbs::Message> waiting;  ///< until it is there
    };
    /// A command that may go to another card.
    struct Layout {
        std::uint32_t number;  ///< RDMA_USER_CM_CMD_*
        std::size_t id_at;     ///< where the identifier's number is in the body
        std::optional<std::size_t> response_at;
    };
    static const Layout kLayouts[];
    /// A command that the relay is looking at.
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
    /// Whether that link of ours leads to a twin.
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
    /// Sends the command to the only twin; `then` is called before the answer is.
    [[nodiscard]] Did forward(Call& call, Then then = {});

    [[nodiscard]] Result later(uverbs::Message& message);
    void answer(const Result& result, int error);
    /// The identifier has reached its card: executes the commands that waited for that.
    void arrived(std::uint32_t id);
    [[nodiscard]] Entry* entry_of(std::uint32_t id, std::uint64_t key);
    /// Whether twins of the identifier with this key are on that link of ours.
    [[nodiscard]] bool expects(std::uint64_t key, const Link& link) const;

    /// Commands to twins.
    static Link::Command command_of(const Call& call);
    void make_twin(const Id& id, Link& link, Link::Command last, Then then);
    static void destroy_twin(const Twin& twin, Then then = {});
    void drop_twins(Entry& entry, const Link* but = nullptr);
    void bind_everywhere(Id& id, const Address& address, unsigned tries, const Then& then);
    void listen_everywhere(Id& id, std::uint32_t backlog, const Then& then);
    void migrate_rest(std::uint32_t id, std::uint64_t key, std::uint64_t response,
                      const Result& result);
    void migrate_twin(std::uint32_t id, std::uint64_t key, const Twin& twin, Then then);

    /// nullptr: this card.
    [[nodiscard]] Link* owner_of(const Address& address) const;
    [[nodiscard]] Link* way_to(const Address& destination) const;
    [[nodiscard]] bool owns(const Address& address) const;
    [[nodiscard]] Link* link_to(std::uint64_t node_guid) const;

    CmService& service_;
    File& file_;
    std::vector<std::unique_ptr<Link>> links_;
    std::map<std::uint32_t, Entry> entries_;
    std::size_t open_ = 0;                               ///< requests that wait
    std::map<std::uint64_t, std::vector<Twin>> coming_;  ///< by key: twins that have moved already
};

}  // namespace dingo::rdma_cm
