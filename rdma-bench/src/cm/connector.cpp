// SPDX-License-Identifier: BSD-2-Clause
#include "cm/connector.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cm/greeting.h"
#include "cm/ids.h"
#include "exit.h"
#include "verbs/explain.h"

namespace rdma_bench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kResolveMs = 2000;
constexpr int kPollMs = 100;
/// Concurrent connection attempts: a connection manager drops requests that exceed its backlog.
constexpr unsigned kAtOnce = 16;

[[noreturn]] void fail(Exit status, const std::string& text) {
    throw RunError(status, "-R: " + text);
}
void check(int result, const char* call, Exit status = Exit::kDevice) {
    if (result != 0) {
        fail(status, cm_failure(call, errno));
    }
}

unsigned interface_of(ibv_context* context, std::uint8_t port, int gid_index) {
    ibv_gid_entry entry{};
    return ibv_query_gid_ex(context, port, static_cast<std::uint32_t>(gid_index), &entry, 0) == 0
               ? entry.ndev_ifindex
               : 0;
}

}  // namespace

class CmConnector::Impl {
  public:
    Impl() : channel_(rdma_create_event_channel()) {
        if (!channel_) {
            fail(Exit::kDevice,
                 "the connection manager does not work here: " +
                     cm_failure("rdma_create_event_channel", errno) +
                     "; it needs an RDMA device and the module rdma_ucm: load it, or leave out "
                     "-R");
        }
        fcntl(channel_->fd, F_SETFL, O_NONBLOCK);
    }

    void connect(Link& link, const Options& options, const qpx::PathOptions& path,
                 const CmQps& what) {
        link_ = &link;
        options_ = &options;
        path_ = path;
        what_ = what;
        ids_.resize(what.qps.size());
        set_addresses();
        options.client() ? connect_all() : accept_all();
        for (unsigned qp = 0; qp < what_.qps.size(); ++qp) {
            learn(qp);
        }
    }

  private:
    // --- Addresses.

    /// On Ethernet a GID is an IP address. On InfiniBand the link's addresses must be those of
    /// IPoIB.
    void set_addresses() {
        const auto& local = what_.locals.front();
        ibv_context* context = what_.qps.front()->context;
        if (local.endpoint.lid == 0) {
            const unsigned interface = interface_of(context, local.endpoint.port, local.gid.index);
            local_ = cm_address(local.endpoint.gid, interface);
            peer_ = cm_address(what_.peers.front().gid, interface);
        } else {
            local_ = cm_address(link_->connection().local_address());
            peer_ = cm_address(link_->connection().peer_address());
        }
    }

    CmIdPtr make_id(void* context) {
        rdma_cm_id* id = nullptr;
        check(rdma_create_id(channel_.get(), &id, context, RDMA_PS_TCP), "rdma_create_id");
        CmIdPtr owned(id);
        if (path_.traffic_class != 0) {
            auto tos = path_.traffic_class;
            check(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos),
                  "rdma_set_option(TOS)");
        }
        return owned;
    }

    /// Checks that the address belongs to the device and port of the QPs.
    void check_device(const rdma_cm_id& id) {
        const ibv_qp* qp = what_.qps.front();
        const auto port = what_.locals.front().endpoint.port;
        const std::string mine = ibv_get_device_name(qp->context->device);
        const std::string theirs = id.verbs ? ibv_get_device_name(id.verbs->device) : "no device";
        if (mine != theirs || id.port_num != port) {
            fail(Exit::kDevice, "the address " + local_.text() + " belongs to " + theirs +
                                    " port " + std::to_string(id.port_num) +
                                    ", but the QPs are of " + mine + " port " +
                                    std::to_string(port) + "; choose with -d, -i and -x");
        }
    }

    // --- Events.

    /// Waits briefly for the next event. @return null if there is none yet, or the link has a
    /// message
    CmEventPtr next_event(bool look_at_link) {
        pollfd fds[3] = {{channel_->fd, POLLIN, 0},
                         {Interrupt::instance().fd(), POLLIN, 0},
                         {look_at_link ? link_->fd() : -1, POLLIN, 0}};
        poll(fds, 3, kPollMs);
        if (Interrupt::instance().seen()) {
            throw RunError(Exit::kInterrupted, "interrupted");
        }
        rdma_cm_event* event = nullptr;
        if (rdma_get_cm_event(channel_.get(), &event) == 0) {
            last_event_ = Clock::now();
            return CmEventPtr(event);
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            fail(Exit::kDevice, cm_failure("rdma_get_cm_event", errno));
        }
        if (Clock::now() - last_event_ >
            std::chrono::seconds(std::max(options_->connect_timeout, 2U))) {
            fail(Exit::kPeer, "the peer's connection manager does not answer (" +
                                  std::to_string(done_) + " of " +
                                  std::to_string(what_.qps.size()) + " QPs connected)");
        }
        return nullptr;
    }

    // --- QPs.

    /// Modifies a QP with the connection manager's attributes and those requested by the user.
    void modify(rdma_cm_id* id, unsigned qp, ibv_qp_state state) {
        const auto& local = what_.locals[qp];
        const auto& peer = what_.peers[qp];
        ibv_qp_attr attr{};
        int mask = 0;
        attr.qp_state = state;
        check(rdma_init_qp_attr(id, &attr, &mask), "rdma_init_qp_attr");
        if (state == IBV_QPS_RTR) {
            attr.path_mtu =
                std::min(attr.path_mtu, qpx::mtu_code(qpx::path_mtu(local.endpoint, peer)));
            attr.max_dest_rd_atomic = qpx::responder_resources(local.endpoint, peer);
            attr.min_rnr_timer = path_.min_rnr_timer;
            set_path(attr.ah_attr);
        } else {
            attr.max_rd_atomic = qpx::initiator_depth(local.endpoint, peer);
            attr.timeout = path_.timeout;
            attr.retry_cnt = path_.retry_cnt;
            attr.rnr_retry = path_.rnr_retry;
        }
        if (int error = ibv_modify_qp(what_.qps[qp], &attr, mask); error != 0) {
            error = error < 0 ? errno : error;
            fail(Exit::kDevice, "QP " + std::to_string(qp) + " to " +
                                    (state == IBV_QPS_RTR ? "RTR" : "RTS") + ": " +
                                    explain_errno("ibv_modify_qp", error));
        }
    }

    void set_path(ibv_ah_attr& ah) const {
        ah.grh.hop_limit = path_.hop_limit;
        if (path_.traffic_class != 0) {
            ah.grh.traffic_class = path_.traffic_class;
        }
        if (path_.flow_label != 0) {
            ah.grh.flow_label = path_.flow_label;
        }
        if (path_.sl != 0) {
            ah.sl = path_.sl;
        }
    }

    void to_init(unsigned qp) {
        try {
            qpx::to_init(what_.qps[qp], what_.locals[qp], path_);
        } catch (const qpx::Error& error) {
            fail(Exit::kDevice, "QP " + std::to_string(qp) + ": " + error.what());
        }
    }

    [[nodiscard]] rdma_conn_param parameters(unsigned qp) const {
        const auto& local = what_.locals[qp].endpoint;
        const auto& peer = what_.peers[qp];
        rdma_conn_param param{};
        param.responder_resources = qpx::responder_resources(local, peer);
        param.initiator_depth = qpx::initiator_depth(local, peer);
        param.flow_control = 1;
        param.retry_count = path_.retry_cnt;
        param.rnr_retry_count = path_.rnr_retry;
        param.srq = what_.qps[qp]->srq != nullptr;
        param.qp_num = what_.qps[qp]->qp_num;
        return param;
    }

    /// Queries what the connection manager chose, for the table.
    void learn(unsigned qp) {
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        if (ibv_query_qp(what_.qps[qp], &attr, IBV_QP_SQ_PSN | IBV_QP_RQ_PSN | IBV_QP_AV, &init)) {
            return;
        }
        auto& local = what_.locals[qp];
        local.endpoint.psn = attr.sq_psn;
        what_.peers[qp].psn = attr.rq_psn;
        for (const auto& gid : qpx::gids(what_.qps[qp]->context, local.endpoint.port)) {
            if (attr.ah_attr.is_global && gid.index == attr.ah_attr.grh.sgid_index) {
                local.gid = gid;
            }
        }
    }

    // --- The server.

    void accept_all() {
        // Source of the connections' identifiers; not needed once all exist.
        const CmIdPtr listener = make_id(nullptr);
        local_.set_port(0);
        if (rdma_bind_addr(listener.get(), local_.get()) != 0) {
            fail(Exit::kDevice, "no RDMA device of this host has the address " + local_.text() +
                                    ": " + cm_failure("rdma_bind_addr", errno) +
                                    "; choose another GID with -x");
        }
        check_device(*listener);
        check(rdma_listen(listener.get(), static_cast<int>(what_.qps.size())), "rdma_listen");
        token_ = random_token();
        link_->send("cm", {{"port", ntohs(rdma_get_src_port(listener.get()))},
                           {"token", token_text(token_)}});
        last_event_ = Clock::now();
        bool client_done = false;
        while (done_ < what_.qps.size() || !client_done) {
            if (auto event = next_event(!client_done)) {
                serve(std::move(event));
            }
            if (!client_done) {
                client_done = link_->look("cm-done").has_value();
            }
        }
    }

    void serve(CmEventPtr event) {
        rdma_cm_id* id = event->id;
        switch (event->event) {
            case RDMA_CM_EVENT_CONNECT_REQUEST: {
                CmIdPtr owned(id);
                const auto* data = static_cast<const std::byte*>(event->param.conn.private_data);
                const auto qp = qp_of_greeting(
                    {data, data ? event->param.conn.private_data_len : std::size_t{0}}, token_);
                event.reset();
                if (!qp || *qp >= ids_.size() || ids_[*qp]) {
                    // Not a client of this run.
                    rdma_reject(id, nullptr, 0);
                    return;
                }
                ids_[*qp] = std::move(owned);
                accept(id, *qp);
                return;
            }
            case RDMA_CM_EVENT_ESTABLISHED:
                ++done_;
                return;
            default:
                fail(Exit::kPeer, cm_event_text(*event));
        }
    }

    void accept(rdma_cm_id* id, unsigned qp) {
        to_init(qp);
        modify(id, qp, IBV_QPS_RTR);
        modify(id, qp, IBV_QPS_RTS);
        auto param = parameters(qp);
        check(rdma_accept(id, &param), "rdma_accept", Exit::kPeer);
    }

    // --- The client.

    void connect_all() {
        const auto message = link_->expect("cm");
        peer_.set_port(message.at("port").get<std::uint16_t>());
        const auto token = parse_token(message.at("token").get<std::string>());
        if (!token) {
            fail(Exit::kPeer, "the peer's token is invalid; is it another version?");
        }
        token_ = *token;
        last_event_ = Clock::now();
        unsigned started = 0;
        while (done_ < ids_.size()) {
            while (started < ids_.size() && started - done_ < kAtOnce) {
                start(started++);
            }
            if (const auto event = next_event(true)) {
                advance(*event);
            }
            // Throws if the peer gives up; no other message is expected now.
            link_->look("cm-done");
        }
        link_->send("cm-done", json::object());
    }

    void start(unsigned qp) {
        ids_[qp] = make_id(&ids_[qp]);
        if (rdma_resolve_addr(ids_[qp].get(), local_.get(), peer_.get(), kResolveMs) != 0) {
            fail(Exit::kDevice, "no RDMA device of this host leads from " + local_.text() + " to " +
                                    peer_.text() + ": " + cm_failure("rdma_resolve_addr", errno));
        }
    }

    void advance(const rdma_cm_event& event) {
        rdma_cm_id* id = event.id;
        const auto qp = static_cast<unsigned>(static_cast<CmIdPtr*>(id->context) - ids_.data());
        switch (event.event) {
            case RDMA_CM_EVENT_ADDR_RESOLVED:
                check_device(*id);
                check(rdma_resolve_route(id, kResolveMs), "rdma_resolve_route", Exit::kPeer);
                return;
            case RDMA_CM_EVENT_ROUTE_RESOLVED: {
                to_init(qp);
                auto param = parameters(qp);
                const auto greeting = make_greeting(token_, qp);
                param.private_data = greeting.data();
                param.private_data_len = static_cast<std::uint8_t>(greeting.size());
                check(rdma_connect(id, &param), "rdma_connect", Exit::kPeer);
                return;
            }
            case RDMA_CM_EVENT_CONNECT_RESPONSE:
                modify(id, qp, IBV_QPS_RTR);
                modify(id, qp, IBV_QPS_RTS);
                check(rdma_establish(id), "rdma_establish", Exit::kPeer);
                ++done_;
                return;
            default:
                fail(Exit::kPeer, "QP " + std::to_string(qp) + ": " + cm_event_text(event));
        }
    }

    CmChannelPtr channel_;
    std::vector<CmIdPtr> ids_;  ///< by the QP's number in the run
    Link* link_ = nullptr;
    const Options* options_ = nullptr;
    qpx::PathOptions path_;
    CmQps what_;
    CmAddress local_, peer_;
    CmToken token_{};
    unsigned done_ = 0;
    Clock::time_point last_event_;
};

CmConnector::CmConnector() : impl_(std::make_unique<Impl>()) {}
CmConnector::~CmConnector() = default;

void CmConnector::connect(Link& link, const Options& options, const qpx::PathOptions& path,
                          const CmQps& what) {
    impl_->connect(link, options, path, what);
}

}  // namespace rdma_bench
