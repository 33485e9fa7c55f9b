// SPDX-License-Identifier: BSD-2-Clause
//
// One rdma_cm identifier: an address, a route and a communication, as the kernel's rdma_cm has them
// for user space. Failures are ErrnoError with the errno of the kernel's in the same case.
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

/// Ends a command with this errno.
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
    /// RDMA_OPTION_IB_PATH: a path that the application knows.
    void set_path(std::span<const std::byte> records);
    void connect(const rdma_ucm_conn_param& param);
    void listen(std::uint32_t backlog);
    void accept(std::uint64_t uid, const rdma_ucm_conn_param& param);
    void reject(std::uint8_t reason, std::span<const std::uint8_t> private_data);
    void disconnect();
    void notify(std::uint32_t event);
    void set_option(std::uint32_t name, std::span<const std::byte> value);
    [[nodiscard]] ib_uverbs_qp_attr qp_attr(std::uint32_t qp_state) const;
    /// Joins a group. The event is posted by joined().
    GroupJoin& join(std::uint64_t uid, const Address& group, bool send_only);
    void joined(GroupJoin& join, const Address& group);
    /// Removes its unread events, too.
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
    /// GID of the peer's card. Differs from destination() when that means "this host".
    [[nodiscard]] const Gid& remote_gid() const { return remote_gid_; }
    [[nodiscard]] bool is_wildcard() const { return binding_.is_any(); }
    [[nodiscard]] IdState state() const { return state_; }
    [[nodiscard]] std::uint16_t space() const { return space_; }
    [[nodiscard]] std::uint8_t qp_type() const { return qp_type_; }
    [[nodiscard]] bool is_datagram() const { return qp_type_ == kUd; }

    // Called by the service: whether this identifier listens to that address.
    /// Whether it listens to that address.
    [[nodiscard]] bool listens_to(std::uint16_t space, const Address& destination) const;
    /// Whether it wants what this listener offers.
    [[nodiscard]] bool takes(const cm::Request& request) const;
    /// A request has come for this listener; nullptr: no room for it.
    Id* take_request(cm::Communication& connection, const cm::Request& request,
                     const Address& source, const Address& destination);
    /// Makes room for `backlog` requests.
    void expect(std::uint32_t backlog);
    /// Takes a place for a request from another card; false: there is none left.
    bool reserve_place() { return backlog_ != 0 && backlog_-- != 0; }
    /// A request event of this listener was read: there is room for another.
    void request_read() { ++backlog_; }
    /// Goes on with resolving; true: it did something.
    bool poll(Nanoseconds now);
    /// When resolving gives up.
    [[nodiscard]] Nanoseconds deadline() const { return resolve_until_; }
    void device_removed();
    void move_to(File& file) { file_ = &file; }
    void set_uid(std::uint64_t uid) { uid_ = uid; }
    /// A join whose group another card knows.
    GroupJoin& add_join(std::uint64_t uid);
    [[nodiscard]] std::size_t joins() const { return joins_.size(); }
    /// Gives port and address back, as before bind().
    void unbind();

    std::uint32_t events_reported = 0;

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
    bool bound_ = false;  ///< binding_ is in the ports
    bool af_only_set_ = false;
    Address destination_;
    Gid remote_gid_{};
    int gid_index_ = -1;
    cm::Path path_;
    bool has_path_ = false;
    Nanoseconds resolve_until_ = kNever;
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
