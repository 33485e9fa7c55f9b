// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/netlink.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_netlink.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "dingo-abi.h"
#include "host/uverbs/netlink_message.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kPort = 1;
/// Upper bound of the bytes of a table entry.
constexpr std::size_t kMostEntryBytes = 512;
/// Maximum number of QPs listed in the entry of an SRQ.
constexpr unsigned kMostUsers = 16;

/// A request: its header and the attributes that the operation uses.
class NetlinkRequest {
  public:
    explicit NetlinkRequest(std::span<const std::byte> bytes) {
        const auto* const header = reinterpret_cast<const nlmsghdr*>(bytes.data());
        if (bytes.size() < sizeof *header || header->nlmsg_len < sizeof *header ||
            header->nlmsg_len > bytes.size() ||
            RDMA_NL_GET_CLIENT(header->nlmsg_type) != RDMA_NL_NLDEV ||
            nla_parse(attributes_.data(), RDMA_NLDEV_ATTR_MAX - 1,
                      nlmsg_attrdata(const_cast<nlmsghdr*>(header), 0), nlmsg_attrlen(header, 0),
                      nullptr) < 0) {
            throw ErrnoError(EINVAL);
        }
        operation = RDMA_NL_GET_OP(header->nlmsg_type);
        type = header->nlmsg_type;
        sequence = header->nlmsg_seq;
        dump = (header->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    }
    [[nodiscard]] std::optional<std::uint32_t> number(int attribute) const {
        const nlattr* const a = attributes_[static_cast<std::size_t>(attribute)];
        if (a == nullptr) {
            return std::nullopt;
        }
        if (nla_len(a) < static_cast<int>(sizeof(std::uint32_t))) {
            throw ErrnoError(EINVAL);
        }
        return nla_get_u32(a);
    }
    [[nodiscard]] std::string text(int attribute) const {
        const nlattr* const a = attributes_[static_cast<std::size_t>(attribute)];
        if (a == nullptr) {
            throw ErrnoError(EINVAL);
        }
        const auto* const at = static_cast<const char*>(nla_data(a));
        return {at, ::strnlen(at, static_cast<std::size_t>(nla_len(a)))};
    }

    unsigned operation;
    int type;
    std::uint32_t sequence;
    bool dump;

  private:
    std::array<nlattr*, RDMA_NLDEV_ATTR_MAX> attributes_{};
};

class NetlinkAnswer {
  public:
    NetlinkAnswer(const NetlinkDevice& device, const NetlinkRequest& request, std::uint64_t from)
        : device_(device), request_(request), from_(from) {}

    NetlinkPiece make() {
        if (from_ != 0 && !request_.dump) {
            throw ErrnoError(EINVAL);
        }
        switch (request_.operation) {
            case RDMA_NLDEV_CMD_GET:
                about_us();
                one([&](NetlinkMessage& m) { describe_device(m); });
                break;
            case RDMA_NLDEV_CMD_PORT_GET:
                about_us();
                if (!request_.dump) {
                    about_our_port();
                }
                one([&](NetlinkMessage& m) { describe_port(m); });
                break;
            case RDMA_NLDEV_CMD_SYS_GET:
                one([&](NetlinkMessage& m) { m.u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1); });
                break;
            case RDMA_NLDEV_CMD_GET_CHARDEV:
                one([&](NetlinkMessage& m) { describe_chardev(m); });
                break;
            case RDMA_NLDEV_CMD_STAT_GET:
                statistics();
                break;
            case RDMA_NLDEV_CMD_RES_GET:
                about_us();
                one([&](NetlinkMessage& m) { summarize(m); });
                break;
            case RDMA_NLDEV_CMD_RES_QP_GET:
                list(RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, UVERBS_OBJECT_QP,
                     RDMA_NLDEV_ATTR_RES_LQPN);
                break;
            case RDMA_NLDEV_CMD_RES_CQ_GET:
                list(RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, UVERBS_OBJECT_CQ,
                     RDMA_NLDEV_ATTR_RES_CQN);
                break;
            case RDMA_NLDEV_CMD_RES_MR_GET:
                list(RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, UVERBS_OBJECT_MR,
                     RDMA_NLDEV_ATTR_RES_MRN);
                break;
            case RDMA_NLDEV_CMD_RES_PD_GET:
                list(RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY, UVERBS_OBJECT_PD,
                     RDMA_NLDEV_ATTR_RES_PDN);
                break;
            case RDMA_NLDEV_CMD_RES_SRQ_GET:
                list(RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, UVERBS_OBJECT_SRQ,
                     RDMA_NLDEV_ATTR_RES_SRQN);
                break;
            case RDMA_NLDEV_CMD_RES_CTX_GET:
                contexts();
                break;
            default:
                throw ErrnoError(EOPNOTSUPP);
        }
        return std::move(piece_);
    }

  private:
    /// Checks the device index. A dump without an index is about all devices.
    void about_us() const {
        const auto index = request_.number(RDMA_NLDEV_ATTR_DEV_INDEX);
        if (!index && !request_.dump) {
            throw ErrnoError(EINVAL);
        }
        if (index && *index != device_.number) {
            throw ErrnoError(ENODEV);
        }
    }
    void about_our_port() const {
        if (request_.number(RDMA_NLDEV_ATTR_PORT_INDEX) != kPort) {
            throw ErrnoError(EINVAL);
        }
    }

    NetlinkMessage message() const {
        return {request_.sequence, request_.type, request_.dump ? NLM_F_MULTI : 0};
    }
    void handle(NetlinkMessage& m) const {
        m.u32(RDMA_NLDEV_ATTR_DEV_INDEX, device_.number);
        m.text(RDMA_NLDEV_ATTR_DEV_NAME, device_.driver.config().ib_name);
    }
    template <typename Fill>
    void one(Fill fill) {
        NetlinkMessage m = message();
        fill(m);
        m.append_to(piece_.message);
    }

    void describe_device(NetlinkMessage& m) const {
        const DeviceAttr attr = device_.driver.query_device();
        handle(m);
        m.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
        m.u64(RDMA_NLDEV_ATTR_CAP_FLAGS, attr.device_cap_flags);
        m.text(RDMA_NLDEV_ATTR_FW_VERSION, firmware(attr.fw_ver));
        m.u64(RDMA_NLDEV_ATTR_NODE_GUID, attr.node_guid);
        m.u64(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, attr.sys_image_guid);
        m.u8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, IBV_NODE_CA);
        m.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
    }
    static std::string firmware(std::uint64_t version) {
        return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 0xff) + "." +
               std::to_string(version & 0xff);
    }
    /// No network interface is reported, as the card has none in the kernel.
    void describe_port(NetlinkMessage& m) const {
        const PortAttr port = device_.driver.query_port();
        handle(m);
        m.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
        m.u8(RDMA_NLDEV_ATTR_PORT_STATE, port.state);
        m.u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, port.phys_state);
    }
    void describe_chardev(NetlinkMessage& m) const {
        const std::string type = request_.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE);
        about_us();
        if (type != "uverbs") {
            throw ErrnoError(ENODEV);
        }
        handle(m);
        m.u64(RDMA_NLDEV_ATTR_CHARDEV, ::makedev(kUverbsMajor, kFirstMinor + device_.number));
        m.u64(RDMA_NLDEV_ATTR_CHARDEV_ABI, DINGO_UVERBS_ABI_VERSION);
        m.text(RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs" + std::to_string(device_.number));
        m.u32(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, RDMA_DRIVER_UNKNOWN);
    }

    void statistics() {
        about_us();
        if (request_.number(RDMA_NLDEV_ATTR_STAT_RES)) {
            if (!request_.dump) {
                throw ErrnoError(EOPNOTSUPP);  // counters are not bound to objects
            }
            return;
        }
        if (!request_.dump) {
            about_our_port();
        }
        one([&](NetlinkMessage& m) {
            handle(m);
            m.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
            nlattr* const table = m.begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
            for (const auto& [name, value] : device_.driver.card_counters()) {
                nlattr* const entry = m.begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
                m.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
                m.u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
                m.end(entry);
            }
            m.end(table);
        });
    }

    void summarize(NetlinkMessage& m) const {
        std::map<ObjectType, std::uint64_t> counts;
        std::uint64_t clients = 0;
        device_.each_client([&](UverbsFile& client) {
            ++clients;
            for (const auto& [type, count] : client.objects().counts()) {
                counts[type] += count;
            }
            return true;
        });
        handle(m);
        nlattr* const table = m.begin(RDMA_NLDEV_ATTR_RES_SUMMARY);
        const std::pair<const char*, std::uint64_t> rows[] = {{"pd", counts[UVERBS_OBJECT_PD]},
                                                              {"cq", counts[UVERBS_OBJECT_CQ]},
                                                              {"qp", counts[UVERBS_OBJECT_QP]},
                                                              {"mr", counts[UVERBS_OBJECT_MR]},
                                                              {"ctx", clients},
                                                              {"srq", counts[UVERBS_OBJECT_SRQ]}};
        for (const auto& [name, count] : rows) {
            nlattr* const entry = m.begin(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
            m.text(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name);
            m.u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, count);
            m.end(entry);
        }
        m.end(table);
    }

    /// A table of entries, sent in one message.
    class Table {
      public:
        Table(NetlinkAnswer& answer, int type) : answer_(answer), type_(type) {}
        [[nodiscard]] bool full() const {
            return message_ && message_->bytes() + kMostEntryBytes > NetlinkMessage::kMostBytes;
        }
        template <typename Fill>
        void add(int entry_type, Fill fill) {
            if (!message_) {
                message_.emplace(answer_.message());
                answer_.handle(*message_);
                table_ = message_->begin(type_);
            }
            nlattr* const entry = message_->begin(entry_type);
            fill(*message_);
            message_->end(entry);
        }
        void finish() {
            if (message_) {
                message_->end(table_);
                message_->append_to(answer_.piece_.message);
            }
        }

      private:
        NetlinkAnswer& answer_;
        int type_;
        std::optional<NetlinkMessage> message_;
        nlattr* table_ = nullptr;
    };

    /// Position in a dump: the client's id and the next handle.
    static constexpr unsigned kIdShift = 32;
    [[nodiscard]] std::uint32_t first_client() const {
        return static_cast<std::uint32_t>(from_ >> kIdShift);
    }
    [[nodiscard]] std::uint32_t first_handle(const UverbsFile& client) const {
        return client.id() == first_client() ? static_cast<std::uint32_t>(from_) : 0;
    }
    void go_on_at(const UverbsFile& client, std::uint32_t handle) {
        piece_.next = std::uint64_t{client.id()} << kIdShift | handle;
    }

    void list(int table_type, int entry_type, ObjectType object_type, int number_attribute) {
        about_us();
        if (!request_.dump) {
            const auto wanted = request_.number(number_attribute);
            if (!wanted) {
                throw ErrnoError(EINVAL);
            }
            describe_one(object_type, *wanted);
            return;
        }
        Table table(*this, table_type);
        device_.each_client([&](UverbsFile& client) {
            if (client.id() < first_client()) {
                return true;
            }
            const ObjectTable& objects = client.objects();
            for (Object* object = objects.next(object_type, first_handle(client));
                 object != nullptr;
                 object = objects.next(object_type, std::uint64_t{object->handle()} + 1)) {
                if (table.full()) {
                    go_on_at(client, object->handle());
                    return false;
                }
                table.add(entry_type, [&](NetlinkMessage& m) { describe(m, *object, client); });
            }
            return true;
        });
        table.finish();
    }

    /// Puts the object's attributes directly into the message.
    void describe_one(ObjectType object_type, std::uint32_t wanted) {
        bool found = false;
        device_.each_client([&](UverbsFile& client) {
            Object* const object = client.objects().by_number(object_type, wanted);
            if (object == nullptr) {
                return true;
            }
            found = true;
            one([&](NetlinkMessage& m) {
                handle(m);
                describe(m, *object, client);
            });
            return false;
        });
        if (!found) {
            throw ErrnoError(ENOENT);
        }
    }

    void contexts() {
        about_us();
        Table table(*this, RDMA_NLDEV_ATTR_RES_CTX);
        device_.each_client([&](UverbsFile& client) {
            if (client.id() < first_client()) {
                return true;
            }
            if (table.full()) {
                go_on_at(client, 0);
                return false;
            }
            table.add(RDMA_NLDEV_ATTR_RES_CTX_ENTRY, [&](NetlinkMessage& m) {
                m.u32(RDMA_NLDEV_ATTR_RES_CTXN, static_cast<std::uint32_t>(client.pid()));
                m.u32(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(client.pid()));
            });
            return true;
        });
        table.finish();
    }

    void describe(NetlinkMessage& m, Object& object, UverbsFile& client) const {
        switch (object.type()) {
            case UVERBS_OBJECT_QP:
                describe_qp(m, static_cast<QpObject&>(object));
                break;
            case UVERBS_OBJECT_CQ:
                m.u32(RDMA_NLDEV_ATTR_RES_CQE, static_cast<CqObject&>(object).cq->entries());
                m.u64(RDMA_NLDEV_ATTR_RES_USECNT, object.users());
                m.u32(RDMA_NLDEV_ATTR_RES_CQN, object.number());
                break;
            case UVERBS_OBJECT_MR:
                m.u64(RDMA_NLDEV_ATTR_RES_MRLEN, static_cast<MrObject&>(object).length);
                m.u32(RDMA_NLDEV_ATTR_RES_MRN, object.number());
                m.u32(RDMA_NLDEV_ATTR_RES_PDN, static_cast<MrObject&>(object).pd->pd.pdn());
                break;
            case UVERBS_OBJECT_SRQ:
                m.u32(RDMA_NLDEV_ATTR_RES_SRQN, object.number());
                m.u8(RDMA_NLDEV_ATTR_RES_TYPE, IBV_SRQT_BASIC);
                m.u32(RDMA_NLDEV_ATTR_RES_PDN, static_cast<SrqObject&>(object).pd->pd.pdn());
                describe_users(m, static_cast<SrqObject&>(object));
                break;
            default:
                m.u64(RDMA_NLDEV_ATTR_RES_USECNT, object.users());
                m.u32(RDMA_NLDEV_ATTR_RES_PDN, object.number());
        }
        m.u32(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(client.pid()));
    }
    /// Lists the QPs that receive from `srq` one by one: QPNs have random tags, so they form no
    /// ranges.
    static void describe_users(NetlinkMessage& m, const SrqObject& srq) {
        nlattr* const table = m.begin(RDMA_NLDEV_ATTR_RES_QP);
        unsigned users = 0;
        for (const std::uint32_t qpn : srq.qpns) {
            if (++users > kMostUsers) {
                break;
            }
            nlattr* const entry = m.begin(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
            m.u32(RDMA_NLDEV_ATTR_RES_LQPN, qpn);
            m.end(entry);
        }
        m.end(table);
    }
    static void describe_qp(NetlinkMessage& m, QpObject& object) {
        const QpAttr attr = object.qp->query();
        const std::uint8_t type = object.qp->init().type;
        m.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
        m.u32(RDMA_NLDEV_ATTR_RES_LQPN, object.qp->number());
        if (type == IBV_QPT_RC || type == IBV_QPT_UC) {
            m.u32(RDMA_NLDEV_ATTR_RES_RQPN, attr.dest_qp_num);
            m.u32(RDMA_NLDEV_ATTR_RES_RQ_PSN, attr.rq_psn);
            m.u8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, attr.path_mig_state);
        }
        m.u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, attr.sq_psn);
        m.u8(RDMA_NLDEV_ATTR_RES_TYPE, type);
        m.u8(RDMA_NLDEV_ATTR_RES_STATE, attr.qp_state);
        m.u32(RDMA_NLDEV_ATTR_RES_PDN, object.pd->pd.pdn());
    }

    const NetlinkDevice& device_;
    const NetlinkRequest& request_;
    std::uint64_t from_;
    NetlinkPiece piece_;
};

}  // namespace

NetlinkPiece answer_netlink(const NetlinkDevice& device, std::span<const std::byte> request,
                            std::uint64_t from) {
    // libnl needs aligned attributes.
    std::vector<std::uint64_t> aligned(request.size() / sizeof(std::uint64_t) + 1);
    std::ranges::copy(request, std::as_writable_bytes(std::span(aligned)).begin());
    const NetlinkRequest parsed(std::as_bytes(std::span(aligned)).first(request.size()));
    return NetlinkAnswer(device, parsed, from).make();
}

}  // namespace dingo::uverbs
