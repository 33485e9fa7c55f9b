// SPDX-License-Identifier: BSD-2-Clause
//
// Requester and responder of one QP. Kept compact: a card has thousands of them.
#pragma once

#include "../qp.h"

namespace dingo::model {

struct TransportState {};

}  // namespace dingo::model
