// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/card_object.h"

#include <cstring>

#include "base/errno_error.h"
#include "base/log.h"

namespace dingo::uverbs {

void CardObject::destroy() {
    admin_.destroy(opcode_, id_);
    gone_ = true;
}

CardObject::~CardObject() {
    if (gone_) {
        return;
    }
    try {
        destroy();
    } catch (const ErrnoError& error) {
        log::error("the card would not destroy object 0x{:x} (command 0x{:02x}): {}", id_, opcode_,
                   std::strerror(error.code()));
        if (kept_) {
            kept_();
        }
    }
}

}  // namespace dingo::uverbs
