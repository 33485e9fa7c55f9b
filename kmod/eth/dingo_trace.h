/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Trace events: admin commands and the states of a card.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dingo

#if !defined(DINGO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DINGO_TRACE_H

#include <linux/tracepoint.h>

#include "dingo.h"

TRACE_EVENT(dingo_admin,
	TP_PROTO(const struct dingo_dev *dev, u16 opcode, u32 status,
		 u32 detail, int err, u64 ns),
	TP_ARGS(dev, opcode, status, detail, err, ns),
	TP_STRUCT__entry(
		__string(card, pci_name(dev->pdev))
		__field(u64, ns)
		__field(u32, status)
		__field(u32, detail)
		__field(int, err)
		__field(u16, opcode)
	),
	TP_fast_assign(
		__assign_str(card);
		__entry->ns = ns;
		__entry->status = status;
		__entry->detail = detail;
		__entry->err = err;
		__entry->opcode = opcode;
	),
	TP_printk("%s opcode 0x%02x status %u detail %u error %d in %llu ns",
		  __get_str(card), __entry->opcode, __entry->status,
		  __entry->detail, __entry->err, __entry->ns)
);

TRACE_EVENT(dingo_state,
	TP_PROTO(const struct dingo_dev *dev, const char *state,
		 const char *why),
	TP_ARGS(dev, state, why),
	TP_STRUCT__entry(
		__string(card, pci_name(dev->pdev))
		__string(state, state)
		__string(why, why)
	),
	TP_fast_assign(
		__assign_str(card);
		__assign_str(state);
		__assign_str(why);
	),
	TP_printk("%s is %s: %s", __get_str(card), __get_str(state),
		  __get_str(why))
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE dingo_trace
#include <trace/define_trace.h>
