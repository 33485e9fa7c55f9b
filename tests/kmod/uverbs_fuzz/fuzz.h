/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the parts of uverbs_fuzz share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dingo-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#define NUM_OBJECTS (UVERBS_OBJECT_ASYNC_EVENT + 1)
#define NO_OBJECT 0xff
#define POOL 24
#define MAPS 32
#define CONTEXTS 3
#define SCRATCH (64 * 1024)
#define MAX_METHODS 160
#define MAX_ERRNO 140

/* The last POOL objects of one type that were created. All threads use them. */
struct pool {
	_Atomic uint32_t made;
	_Atomic uint32_t handle[POOL];
};

/* An open descriptor of the device. Any thread opens, uses and closes it at any time. */
struct context {
	_Atomic int fd;
	struct pool pool[NUM_OBJECTS];
	_Atomic uint32_t maps;
	_Atomic uint64_t map_offset[MAPS];
	_Atomic uint64_t map_bytes[MAPS];
};

/* Counts, shared by all processes. */
struct stats {
	_Atomic uint64_t ok[MAX_METHODS];
	_Atomic uint64_t failed[MAX_METHODS];
	_Atomic uint32_t error[MAX_METHODS][MAX_ERRNO];
};

/* State of one fuzzing thread. */
struct fuzzer {
	uint64_t random;
	struct context *contexts;
	struct stats *stats;
	uint8_t *scratch; /* SCRATCH bytes, then an inaccessible page */
	size_t used; /* bytes of scratch used by the current call */
	const char *device;
	const uint8_t *constant; /* a read-only page */
	bool with_srq; /* the current queue pair has an SRQ */
	int buffer; /* a DMA buffer, or -1 */
	void *card; /* a mapping of the device, or NULL */
	size_t card_bytes;
};

uint64_t draw(struct fuzzer *f);
/* 0 to bound - 1 */
static inline uint32_t below(struct fuzzer *f, uint32_t bound)
{
	return (uint32_t)((draw(f) >> 16) % bound);
}

static inline bool one_in(struct fuzzer *f, uint32_t n)
{
	return below(f, n) == 0;
}

uint32_t odd_number(struct fuzzer *f);
uint64_t odd_pointer(struct fuzzer *f);
uint32_t small_number(struct fuzzer *f);
uint32_t access_flags(struct fuzzer *f);
/* Allocates zeroed scratch memory for the current call. */
void *room(struct fuzzer *f, size_t bytes);

uint32_t pick(struct fuzzer *f, struct context *c, unsigned int object);
void remember(struct context *c, unsigned int object, uint32_t handle);
void forget(struct context *c, unsigned int object, uint32_t handle);
void remember_map(struct context *c, uint64_t offset, uint64_t bytes);
void remember_ring(struct context *c, const struct dingo_ring_map *ring);
struct context *some_context(struct fuzzer *f);

/* Counts success or failure (rc -1, with errno) of a method; returns rc. */
long counted(struct fuzzer *f, unsigned int method, long rc);

void fuzz_write(struct fuzzer *f, struct context *c);
void fuzz_ioctl(struct fuzzer *f, struct context *c);
bool open_context(struct fuzzer *f, struct context *c, int fd);
/* Makes some objects of each kind to begin with. */
void populate(struct fuzzer *f, struct context *c, int fd);

/* Kinds of driver data in requests and responses; both tables use them. */
enum answer { NO_ANSWER, ANSWER_CONTEXT, ANSWER_CQ, ANSWER_RESIZE, ANSWER_QP, ANSWER_SRQ, ANSWER_DM };
size_t answer_bytes(enum answer kind);
void take_answer(struct context *c, enum answer kind, const void *bytes);
enum request { NO_REQUEST, REQUEST_CONTEXT, REQUEST_CQ, REQUEST_QP, REQUEST_COMPUTE, REQUEST_SRQ };
size_t fill_request(struct fuzzer *f, enum request kind, void *bytes);

/* Method numbers: commands by write(), the same commands by ioctl, ioctls, the rest. */
unsigned int num_commands(void);
unsigned int num_ioctls(void);
const char *command_name(unsigned int n);
const char *ioctl_name(unsigned int n);
#define FIRST_IOCTL (2 * num_commands())
#define FIRST_OTHER (FIRST_IOCTL + num_ioctls())
enum other { DO_OPEN, DO_CLOSE, DO_MMAP, DO_TOUCH, DO_EVENTS, DO_FORK, DO_STRAY, NUM_OTHER };

#endif
