// SPDX-License-Identifier: BSD-2-Clause
//
// ib_uverbs' ioctl(RDMA_VERBS_IOCTL): the methods of the objects that the card supports.
#pragma once

#include "host/uverbs/attributes.h"

namespace dingo::uverbs {

/// Executes an ioctl(). Returns its result, 0.
int execute_ioctl(Call& call);

// Shorthands for the attribute tables.
namespace spec {
constexpr bool kMandatory = true;
constexpr bool kOptional = false;

template <typename T>
constexpr AttributeSpec in(std::uint16_t id, bool mandatory) {
    return {id, AttributeKind::kIn, mandatory, sizeof(T), sizeof(T)};
}
/// An enumeration value of 8 bytes.
constexpr AttributeSpec constant(std::uint16_t id) {
    return in<std::uint64_t>(id, kMandatory);
}
constexpr AttributeSpec flags(std::uint16_t id, bool mandatory) {
    return {id, AttributeKind::kIn, mandatory, 4, 8};
}
template <typename T>
constexpr AttributeSpec out(std::uint16_t id, bool mandatory) {
    return {id, AttributeKind::kOut, mandatory, sizeof(T), sizeof(T)};
}
/// Room of any size from `min` bytes.
constexpr AttributeSpec out_array(std::uint16_t id, std::uint16_t min, bool mandatory) {
    return {id, AttributeKind::kOut, mandatory, min, UINT16_MAX};
}
constexpr AttributeSpec object(std::uint16_t id, std::uint16_t type, bool mandatory) {
    return {id, AttributeKind::kObject, mandatory, 0, 0, false, type};
}
constexpr AttributeSpec destroyed(std::uint16_t id, std::uint16_t type) {
    return {id, AttributeKind::kDestroy, kMandatory, 0, 0, false, type};
}
constexpr AttributeSpec created(std::uint16_t id) {
    return {id, AttributeKind::kNewObject, kMandatory};
}
constexpr AttributeSpec fd(std::uint16_t id) {
    return {id, AttributeKind::kFd, kOptional};
}
}  // namespace spec

/// One list per source file.
std::vector<IoctlMethod> device_methods();
std::vector<IoctlMethod> queue_methods();   ///< CQ, QP, SRQ
std::vector<IoctlMethod> memory_methods();  ///< PD, MR, MW, AH
std::vector<IoctlMethod> dm_methods();      ///< DM and its regions

}  // namespace dingo::uverbs
