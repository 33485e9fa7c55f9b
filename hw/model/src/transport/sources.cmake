# SPDX-License-Identifier: BSD-2-Clause
# Sources of the transport, relative to hw/model.
set(DINGO_MODEL_TRANSPORT_SOURCES
  src/transport/transport.cpp)
