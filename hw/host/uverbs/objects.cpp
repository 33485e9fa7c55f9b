// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/objects.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>

namespace dingo::uverbs {
namespace {

constexpr std::size_t kMaxObjects = std::size_t{1} << 20;

// These events carry a port number, which could equal an object's user handle.
bool is_of_device(std::uint32_t type) {
    return (type >= IBV_EVENT_DEVICE_FATAL && type <= IBV_EVENT_SM_CHANGE) ||
           type == IBV_EVENT_CLIENT_REREGISTER || type == IBV_EVENT_GID_CHANGE;
}

}  // namespace

void EventSource::post_async(int event) {
    if (async_ && async_->post({user_handle_, static_cast<std::uint32_t>(event)})) {
        ++async_events_;
    }
}

void EventSource::pause(EventPause& channels) const {
    if (async_) {
        channels.add(async_.channel(), async_events_ != 0);
    }
}

void EventSource::take_back_async() {
    if (async_ && async_events_ != 0) {
        async_events_ -= async_->take_back([this](const EventChannel::Event& e) {
            return e.element == user_handle_ && !is_of_device(e.type);
        });
    }
}

void CqObject::pause(EventPause& channels) const {
    EventSource::pause(channels);
    if (channel) {
        channels.add(channel.channel(), completion_events != 0);
    }
}

void CqObject::shut() {
    if (!cq) {
        return;
    }
    // First, so that no event follows those that are taken back.
    cq.reset();
    if (channel && completion_events != 0) {
        completion_events -= channel->take_back(
            [this](const EventChannel::Event& e) { return e.element == user_handle(); });
    }
    take_back_async();
}

void CqObject::on_completion() {
    if (channel && channel->post({user_handle(), 0})) {
        ++completion_events;
    }
}

void CqObject::on_cq_error() {
    post_async(IBV_EVENT_CQ_ERR);
}

void SrqObject::shut() {
    if (srq) {
        srq.reset();
        take_back_async();
    }
}

void QpObject::on_event(int event) {
    const bool failed = event == IBV_EVENT_QP_FATAL || event == IBV_EVENT_QP_REQ_ERR ||
                        event == IBV_EVENT_QP_ACCESS_ERR;
    if (failed && direct) {
        direct->close_failed();
    } else if (event == IBV_EVENT_COMM_EST && direct) {
        direct->establish();
    }
    post_async(event);
}

void QpObject::shut() {
    if (direct) {
        direct->close();
    }
    if (qp) {
        if (srq.get() != nullptr) {
            srq->qpns.erase(qp->number());
        }
        qp.reset();
        take_back_async();
    }
    direct.reset();
}

void ObjectTable::add(std::unique_ptr<Object> object) {
    if (accounts_ != nullptr) {
        object->charge_ = accounts_->object(account_, object->type());
    }
    if (free_.empty() && objects_.size() >= kMaxObjects) {
        throw ErrnoError(ENOMEM);
    }
    if (free_.empty()) {
        objects_.emplace_back();
        free_.push_back(static_cast<std::uint32_t>(objects_.size() - 1));
    }
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    object->handle_ = free_.back();
    free_.pop_back();
    Index& index = indexes_[object->type()];
    index.handles.insert(object->handle_);
    const auto number = object->card_number();
    object->number_ = number.value_or(object->handle_);
    if (number) {
        index.numbers[*number] = object.get();
    }
    objects_[object->handle_] = std::move(object);
}

Object& ObjectTable::lookup(ObjectType type, std::uint64_t handle) const {
    Object* const object = find(handle);
    if (object == nullptr) {
        throw ErrnoError(ENOENT);
    }
    if (object->type() != type) {
        throw ErrnoError(EINVAL);
    }
    return *object;
}

std::unique_ptr<Object> ObjectTable::remove(Object& object) {
    if (object.busy()) {
        throw ErrnoError(EBUSY);
    }
    object.close();
    Index& index = indexes_[object.type()];
    index.handles.erase(object.handle());
    index.numbers.erase(object.number());
    free_.push_back(object.handle());
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
    return std::move(objects_[object.handle()]);
}

void ObjectTable::clear() {
    constexpr std::array<ObjectType, 7> kOrder{QpObject::kType, SrqObject::kType, CqObject::kType,
                                               MwObject::kType, MrObject::kType,  AhObject::kType,
                                               PdObject::kType};
    for (const ObjectType type : kOrder) {
        for (auto& object : objects_) {
            if (object && object->type() == type) {
                object.reset();
            }
        }
    }
    objects_.clear();
    free_.clear();
    indexes_.clear();
}

std::vector<std::uint32_t> ObjectTable::handles(ObjectType type) const {
    const Index* const index = index_of(type);
    return index == nullptr ? std::vector<std::uint32_t>()
                            : std::vector(index->handles.begin(), index->handles.end());
}

const ObjectTable::Index* ObjectTable::index_of(ObjectType type) const {
    const auto index = indexes_.find(type);
    return index == indexes_.end() ? nullptr : &index->second;
}

Object* ObjectTable::next(ObjectType type, std::uint64_t handle) const {
    const Index* const index = index_of(type);
    if (index == nullptr || handle >= objects_.size()) {
        return nullptr;
    }
    const auto at = index->handles.lower_bound(static_cast<std::uint32_t>(handle));
    return at == index->handles.end() ? nullptr : objects_[*at].get();
}

Object* ObjectTable::by_number(ObjectType type, std::uint32_t number) const {
    const Index* const index = index_of(type);
    if (index == nullptr) {
        return nullptr;
    }
    if (const auto at = index->numbers.find(number); at != index->numbers.end()) {
        return at->second;
    }
    Object* const object = find(number);
    const bool named_so = object != nullptr && object->type() == type && object->number() == number;
    return named_so ? object : nullptr;
}

std::map<ObjectType, std::size_t> ObjectTable::counts() const {
    std::map<ObjectType, std::size_t> result;
    for (const auto& [type, index] : indexes_) {
        if (!index.handles.empty()) {
            result[type] = index.handles.size();
        }
    }
    return result;
}

}  // namespace dingo::uverbs
