// SPDX-License-Identifier: BSD-2-Clause
//
// The verbs objects of one connection and their handles. References between objects are counted: an
// object in use cannot be destroyed.
#pragma once

#include <rdma/ib_user_ioctl_cmds.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/driver/cq.h"
#include "host/driver/dm.h"
#include "host/driver/driver.h"
#include "host/driver/mr.h"
#include "host/driver/mw.h"
#include "host/driver/pd.h"
#include "host/driver/qp.h"
#include "host/driver/srq.h"
#include "host/uverbs/accounts.h"
#include "host/uverbs/direct.h"
#include "host/uverbs/events.h"

namespace dingo::uverbs {

/// enum uverbs_default_objects
using ObjectType = std::uint16_t;

class Object {
  public:
    explicit Object(ObjectType type) : type_(type) {}
    virtual ~Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    [[nodiscard]] ObjectType type() const { return type_; }
    [[nodiscard]] std::uint32_t handle() const { return handle_; }
    /// Number shown by tools such as `rdma resource`: the card's number of the object if it has
    /// one, else its handle.
    [[nodiscard]] std::uint32_t number() const { return number_; }
    /// Returns true if the object must not be destroyed now.
    [[nodiscard]] virtual bool busy() const { return users_ != 0; }
    /// Destroys the card's object. Throws ErrnoError if the card refuses; then the object stays.
    virtual void close() {}
    /// Number of objects that refer to this one.
    [[nodiscard]] unsigned users() const { return users_; }

  protected:
    /// The number assigned by the card; nullopt if there is none.
    [[nodiscard]] virtual std::optional<std::uint32_t> card_number() const { return std::nullopt; }

  private:
    template <typename T>
    friend class Ref;
    friend class ObjectTable;
    ObjectType type_;
    std::uint32_t handle_ = 0;
    std::uint32_t number_ = 0;
    unsigned users_ = 0;
    Charge charge_;
};

/// A counted reference to an object; may be empty.
template <typename T>
class Ref {
  public:
    Ref() = default;
    explicit Ref(T* object) : object_(object) {
        if (object_ != nullptr) {
            ++static_cast<Object*>(object_)->users_;
        }
    }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_ != nullptr) {
            --static_cast<Object*>(object_)->users_;
        }
    }
    T* get() const { return object_; }
    T* operator->() const { return object_; }

  private:
    T* object_ = nullptr;
};

struct PdObject final : Object {
    static constexpr ObjectType kType = UVERBS_OBJECT_PD;
    PdObject(Driver& driver, Udata& udata) : Object(kType), pd(driver, udata) {}
    std::optional<std::uint32_t> card_number() const override { return pd.pdn(); }
    Pd pd;
};

struct DmObject final : Object {
    static constexpr ObjectType kType = UVERBS_OBJECT_DM;
    DmObject(Driver& driver, Context& context, std::uint64_t length, std::uint32_t log_alignment,
             const std::shared_ptr<Account>& account)
        : Object(kType), dm(driver, context, length, log_alignment, account) {}
    Dm dm;
};

struct MrObject final : Object {
    static constexpr ObjectType kType = UVERBS_OBJECT_MR;
    MrObject(PdObject& domain, std::uint64_t len, std::uint64_t io)
        : Object(kType), pd(&domain), length(len), iova(io) {}
    void close() override {
        if (mr) {
            mr->destroy();
        }
    }
    /// Charges the mapping of GPU memory for the region. Throws ErrnoError(ENOMEM).
    void take_mapping(const std::shared_ptr<Account>& account) {
        mapping = Charge(account, process_quotas().mappings);
    }
    Ref<PdObject> pd;
    Ref<DmObject> dm;  ///< the registered device memory, if it is such
    Charge mapping;
    std::uint64_t length;
    std::uint64_t iova;
    std::uint32_t access = 0;
    std::optional<Mr> mr;
    std::unique_ptr<DirectRegion> direct;  ///< null if only the card accesses the region
};

struct MwObject final : Object {
    static constexpr ObjectType kType = UVERBS_OBJECT_MW;
    MwObject(Driver& driver, PdObject& domain, std::uint8_t type, Udata& udata)
        : Object(kType), pd(&domain), mw(driver, domain.pd, type, udata) {}
    Ref<PdObject> pd;
    Mw mw;
};

/// An address handle; the card keeps no state for it.
struct AhObject final : Object {
    static constexpr ObjectType kType = UVERBS_OBJECT_AH;
    explicit AhObject(PdObject& domain) : Object(kType), pd(&domain) {}
    Ref<PdObject> pd;
};

/// An object that has asynchronous events.
class EventSource : public Object {
  public:
    EventSource(ObjectType type, std::uint64_t user_handle, HeldChannel async)
        : Object(type), user_handle_(user_handle), async_(std::move(async)) {}

    /// Number of events that the client has read or will read. Valid after shut().
    [[nodiscard]] std::uint32_t async_reported() const { return async_events_; }

    /// Pauses the channels, so that no event of the object is sent after its events are taken back.
    /// Called before shut().
    virtual void pause(EventPause& channels) const;
    /// Removes the object from the card and takes back the events that the client has not read.
    virtual void shut() = 0;

  protected:
    void post_async(int event);
    void take_back_async();
    [[nodiscard]] std::uint64_t user_handle() const { return user_handle_; }

  private:
    std::uint64_t user_handle_;
    HeldChannel async_;
    std::uint32_t async_events_ = 0;
};

struct CqObject final : EventSource, CqListener {
    static constexpr ObjectType kType = UVERBS_OBJECT_CQ;
    CqObject(std::uint64_t user_handle, HeldChannel completions, HeldChannel async)
        : EventSource(kType, user_handle, std::move(async)), channel(std::move(completions)) {}
    ~CqObject() override { shut(); }
    void pause(EventPause& channels) const override;
    void shut() override;
    void on_completion() override;
    void on_cq_error() override;

    HeldChannel channel;
    std::uint32_t completion_events = 0;
    std::optional<Cq> cq;
};

struct SrqObject final : EventSource, EventListener {
    static constexpr ObjectType kType = UVERBS_OBJECT_SRQ;
    SrqObject(std::uint64_t user_handle, HeldChannel async, PdObject& domain)
        : EventSource(kType, user_handle, std::move(async)), pd(&domain) {}
    ~SrqObject() override { shut(); }
    void shut() override;
    void on_event(int event) override { post_async(event); }
    std::optional<std::uint32_t> card_number() const override { return srq->number(); }

    Ref<PdObject> pd;
    std::set<std::uint32_t> qpns;  ///< QPs that receive from this SRQ
    std::optional<Srq> srq;
};

struct QpObject final : EventSource, EventListener {
    static constexpr ObjectType kType = UVERBS_OBJECT_QP;
    QpObject(std::uint64_t user_handle, HeldChannel async, PdObject& domain, CqObject& send,
             CqObject& recv, SrqObject* shared)
        : EventSource(kType, user_handle, std::move(async)),
          pd(&domain),
          send_cq(&send),
          recv_cq(&recv),
          srq(shared) {}
    ~QpObject() override { shut(); }
    void shut() override;
    void on_event(int event) override;
    /// A QP attached to groups is busy: its owner must detach it first.
    [[nodiscard]] bool busy() const override { return Object::busy() || !groups.empty(); }
    std::optional<std::uint32_t> card_number() const override { return qp->number(); }

    Ref<PdObject> pd;
    Ref<CqObject> send_cq;
    Ref<CqObject> recv_cq;
    Ref<SrqObject> srq;
    std::set<Gid> groups;  ///< groups that the QP is attached to
    std::optional<Qp> qp;
    std::unique_ptr<DirectPage> direct;  ///< null if the client does not use the direct road
};

class ObjectTable {
  public:
    /// Objects are charged to `account` in `accounts`; without `accounts` they are not charged.
    explicit ObjectTable(Accounts* accounts = nullptr, std::shared_ptr<Account> account = nullptr)
        : accounts_(accounts), account_(std::move(account)) {}
    ~ObjectTable() { clear(); }
    ObjectTable(const ObjectTable&) = delete;
    ObjectTable& operator=(const ObjectTable&) = delete;

    /// Assigns the smallest free handle. Throws ErrnoError(ENOMEM) if there are too many objects or
    /// the account's share is used up.
    void add(std::unique_ptr<Object> object);
    /// Throws ErrnoError: ENOENT for an unknown handle, EINVAL for an object of another type.
    [[nodiscard]] Object& lookup(ObjectType type, std::uint64_t handle) const;
    /// As in ib_uverbs' write commands, any failure gives EINVAL.
    template <typename T>
    [[nodiscard]] T& get(std::uint32_t handle) const {
        Object* const object = find(handle);
        if (object == nullptr || object->type() != T::kType) {
            throw ErrnoError(EINVAL);
        }
        return static_cast<T&>(*object);
    }
    /// Returns the object, so that its counts can be read. Throws ErrnoError(EBUSY) if it is in
    /// use; then it stays.
    std::unique_ptr<Object> remove(Object& object);
    /// Destroys all objects, each one before the objects that it uses.
    void clear();

    [[nodiscard]] std::vector<std::uint32_t> handles(ObjectType type) const;
    /// Returns the first object whose handle is at least `handle`, nullptr if there is none.
    [[nodiscard]] Object* next(ObjectType type, std::uint64_t handle) const;
    /// Returns nullptr if no object has this number().
    [[nodiscard]] Object* by_number(ObjectType type, std::uint32_t number) const;
    [[nodiscard]] std::map<ObjectType, std::size_t> counts() const;
    [[nodiscard]] std::size_t size() const { return objects_.size() - free_.size(); }

  private:
    [[nodiscard]] Object* find(std::uint64_t handle) const {
        return handle < objects_.size() ? objects_[handle].get() : nullptr;
    }
    Accounts* accounts_;
    std::shared_ptr<Account> account_;
    std::vector<std::unique_ptr<Object>> objects_;
    std::vector<std::uint32_t> free_;  ///< heap with the smallest handle on top
    /// Index of the objects of one type. Many requests need it, and a client may have a million
    /// objects.
    struct Index {
        std::set<std::uint32_t> handles;
        std::unordered_map<std::uint32_t, Object*> numbers;  ///< objects that have a number of the
                                                             ///< card
    };
    [[nodiscard]] const Index* index_of(ObjectType type) const;
    std::map<ObjectType, Index> indexes_;
};

}  // namespace dingo::uverbs
