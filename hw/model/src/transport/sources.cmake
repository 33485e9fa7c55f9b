# SPDX-License-Identifier: BSD-2-Clause
# Sources of the transport, relative to hw/model.
set(DINGO_MODEL_TRANSPORT_SOURCES
  src/transport/completer.cpp
  src/transport/cqe.cpp
  src/transport/datagram.cpp
  src/transport/dispatch.cpp
  src/transport/duplicate.cpp
  src/transport/error_flow.cpp
  src/transport/frame_writer.cpp
  src/transport/local_ops.cpp
  src/transport/nak.cpp
  src/transport/path.cpp
  src/transport/payload.cpp
  src/transport/qp_states.cpp
  src/transport/receive_wqe.cpp
  src/transport/request_packet.cpp
  src/transport/requester.cpp
  src/transport/responder.cpp
  src/transport/responder_execute.cpp
  src/transport/response.cpp
  src/transport/retransmit.cpp
  src/transport/scheduler.cpp
  src/transport/send_wqe.cpp
  src/transport/timers.cpp
  src/transport/transport.cpp
  src/transport/unreliable_connected.cpp)
