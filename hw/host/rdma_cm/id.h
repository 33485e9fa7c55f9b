// SPDX-License-Identifier: BSD-2-Clause
// One rdma_cm identifier: an address, a route and a communication, as in the kernel's rdma_cm for
// user space. Failures are ErrnoError with the kernel's errno.
#pragma once

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_cm.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "base/errno_error.h"
#include "base/quota.h"
#include "host/driver/waiter.h"
#include "host/not_yet.h"
#include "host/rdma_cm/address.h"
#include "host/rdma_cm/cm/manager.h"
#include "host/rdma_cm/group_join.h"
#include "host/rdma_cm/ports.h"

namespace dingo::rdma_cm {

/// Fails a command with this errno.
[[noreturn]] inline void fail(int code) {
    throw ErrnoError(code);
}

class File;
class CmService;

/// enum rdma_cm_event_type of <rdma/rdma_cma.h>.
enum class EventType : std::uint32_t {
    kAddrResolved = 0,
    kAddrError = 1,
    kRouteResolved = 2,
    kRouteError = 3,
    kConnectRequest = 4,
    kConnectResponse = 5,
    kConnectError = 6,
    kUnreachable = 7,
    kRejected = 8,
    kEstablished = 9,
    kDisconnected = 10,
    kDeviceRemoval = 11,
    kMulticastJoin = 12,
    kMulticastError = 13,
    kTimewaitExit = 15,
};

enum class IdState : std::uint8_t {
    kIdle,
    kAddressBound,
    kAddressQuery,
    kAddressResolved,
    kRouteResolved,
    kConnect,
    kDisconnect,
    kListen,
};

class Id final : private cm::Owner {
  public:
    Id(CmService& service, File& file, std::uint32_t number, std::uint64_t uid, std::uint16_t space,
       std::uint8_t qp_type, Charge charge);
    ~Id() override;
    Id(const Id&) = delete;
    Id& operator=(const Id&) = delete;

    // Commands.
    void bind(const Address& address);
    void resolve_address(const Address& source, const Address& destination,
                         std::uint32_t timeout_ms);
    void resolve_route();
    /// RDMA_OPTION_IB_PATH: sets a path supplied by the application.
    void set_path(std::span<const std::byte> records);
    void connect(const rdma_ucm_conn_param& param);
    void listen(std::uint32_t backlog);
    void accept(std::uint64_t uid, const rdma_ucm_conn_param& param);
    void reject(std::uint8_t reason, std::span<const std::uint8_t> private_data);
    void disconnect();
    void notify(std::uint32_t event);
    void set_option(std::uint32_t name, std::span<const std::byte> value);
    [[nodiscard]] ib_uverbs_qp_attr qp_attr(std::uint32_t qp_state) const;
    /// Joins a group. joined() posts the event.
    GroupJoin& join(std::uint64_t uid, const Address& group, bool send_only);
    void joined(GroupJoin& join, const Address& group);
    /// Leaves the group and removes its unread events.
    void leave(GroupJoin& join);

    // Getters.
    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] std::uint64_t uid() const { return uid_; }
    [[nodiscard]] File& file() const { return *file_; }
    [[nodiscard]] bool has_device() const { return gid_index_ >= 0; }
    [[nodiscard]] bool has_path() const { return has_path_; }
    [[nodiscard]] const cm::Path& path() const { return path_; }
    [[nodiscard]] const Address& source() const { return binding_.address; }
    [[nodiscard]] const Address& destination() const { return destination_; }
    /// GID of the peer's card. It differs from destination() if that is an address for this host.
    [[nodiscard]] const Gid& remote_gid() const { return remote_gid_; }
    [[nodiscard]] bool is_wildcard() const { return binding_.is_any(); }
    [[nodiscard]] IdState state() const { return state_; }
    [[nodiscard]] std::uint16_t space() const { return space_; }
    [[nodiscard]] std::uint8_t qp_type() const { return qp_type_; }
    [[nodiscard]] bool is_datagram() const { return qp_type_ == kUd; }

    // Called by the service:
    /// Returns true if this identifier listens to that address.
    [[nodiscard]] bool listens_to(std::uint16_t space, const Address& destination) const;
    /// Returns true if this listener accepts the type of `request`.
    [[nodiscard]] bool takes(const cm::Request& request) const;
    /// Creates an identifier for a request to this listener. Returns nullptr if there is no room
    /// for it.
    Id* take_request(cm::Communication& connection, const cm::Request& request,
                     const Address& source, const Address& destination);
    /// Allows `backlog` unread requests.
    void expect(std::uint32_t backlog);
    /// Reserves room for a request from another card. Returns false if there is none left.
    bool reserve_place() { return backlog_ != 0 && backlog_-- != 0; }
    /// Called when a request event of this listener was read: there is room for another one.
    void request_read() { ++backlog_; }
    /// Continues to resolve the address. Returns true if the state has changed.
    bool poll(Nanoseconds now);
    /// Time at which resolving is given up.
    [[nodiscard]] Nanoseconds deadline() const { return resolve_until_; }
    void device_removed();
    void move_to(File& file) { file_ = &file; }
    void set_uid(std::uint64_t uid) { uid_ = uid; }
    /// Adds a join whose group is on another card.
    GroupJoin& add_join(std::uint64_t uid);
    [[nodiscard]] std::size_t joins() const { return joins_.size(); }
    /// Releases port and address; the state is that before bind().
    void unbind();

    std::uint32_t events_reported = 0;
    /// A connection request whose event is unread: its number is not known to the client, so
    /// commands may not name it, and it stays with its listener.
    bool unread_request = false;

  private:
    static constexpr std::uint8_t kRc = IB_UVERBS_QPT_RC;
    static constexpr std::uint8_t kUc = IB_UVERBS_QPT_UC;
    static constexpr std::uint8_t kUd = IB_UVERBS_QPT_UD;

    struct Wait final : uverbs::Waiter {
        explicit Wait(Id& i) : id(i) {}
        void settled(int error) override;
        Id& id;
    };

    void on_cm(const cm::Event& event) override;
    void require(IdState state) const;
    void use_gid(int index);
    /// Throws NotYet until the destination's MAC address is known; ErrnoError.
    void ask_neighbour() const;
    void release_port();
    void make_path();
    void post(EventType type, int status, const cm::Parameters* parameters = nullptr);
    void post_datagram(EventType type, int status, const cm::Parameters& parameters);
    [[nodiscard]] ib_uverbs_ah_attr ah_attr() const;
    [[nodiscard]] std::uint32_t qkey() const;
    [[nodiscard]] std::uint8_t service_level() const;
    void leave_all();

    CmService& service_;
    Charge charge_;  ///< charged to the creator, wherever the identifier moves
    File* file_;
    std::uint32_t number_;
    std::uint64_t uid_;
    std::uint16_t space_;
    std::uint8_t qp_type_;
    IdState state_ = IdState::kIdle;
    Binding binding_;
    bool bound_ = false;  ///< binding_ is registered in the ports
    Charge port_charge_;
    bool af_only_set_ = false;
    Address destination_;
    Gid remote_gid_{};
    int gid_index_ = -1;
    cm::Path path_;
    bool has_path_ = false;
    Nanoseconds resolve_until_ = kNever;
    /// What resolve_address() changes, kept in case it fails.
    struct Source {
        int gid_index = -1;
        cm::Path path;
        Binding binding;
    } before_;
    Wait wait_{*this};
    std::uint8_t traffic_class_ = 0;
    std::optional<std::uint8_t> ack_timeout_;  ///< RDMA_OPTION_ID_ACK_TIMEOUT
    std::uint32_t psn_ = 0;
    std::uint32_t qkey_ = 0;
    std::uint32_t backlog_ = 0;
    cm::Communication* connection_ = nullptr;
    std::set<GroupJoin*> joins_;
};

}  // namespace dingo::rdma_cm
