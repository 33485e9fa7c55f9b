// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzzes all methods of /dev/infiniband/uverbs* with right and wrong arguments, and with the driver
 * data of dingo_ib.ko: commands by write(), ioctls, mmap of the driver's offsets, event
 * descriptors. Several threads share contexts that other threads close; processes are killed at any
 * moment. Prints how often each method succeeded and failed. The kernel's log tells whether the
 * kernel survived it.
 *
 * usage: uverbs_fuzz [-s SEED] [-t SECONDS] [-n CALLS] [-j THREADS] [-u UID] DEVICE
 *
 * Exit status 1 if a process could not be killed or an important method never succeeded, else 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define PAGE 4096UL
#define GUARD (64 * PAGE)
#define EMPTY 0xffffffffU
#define FIRST_FD 3 /* lower descriptors must stay open */
#define END_SECONDS 100 /* for a killed process to exit: longer than an admin command may take */

static unsigned int threads = 4;
static uint64_t calls; /* most calls of each process; 0: until it is killed */

uint64_t draw(struct fuzzer *f)
{
	uint64_t x = f->random += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint32_t odd_number(struct fuzzer *f)
{
	static const uint32_t numbers[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 255, 256, 257, 511, 512,
		1000, 1023, 1024, 2048, 4095, 4096, 4097, 16384, 32767, 32768, 65535, 65536, 1 << 20,
		0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0xfffffff0, 0xfffffffe, 0xffffffff,
	};

	return one_in(f, 6) ? (uint32_t)draw(f) : numbers[below(f, sizeof(numbers) / 4)];
}

uint32_t small_number(struct fuzzer *f)
{
	return one_in(f, 8) ? below(f, 5000) : 1 + below(f, 64);
}

uint32_t access_flags(struct fuzzer *f)
{
	return one_in(f, 8) ? odd_number(f) : 1 | below(f, 32) | (one_in(f, 4) ? 1u << 20 : 0);
}

uint64_t odd_pointer(struct fuzzer *f)
{
	uint64_t end = (uintptr_t)f->scratch + SCRATCH;
	uint64_t pointers[] = {
		0, 1, PAGE, end, end - 4, end - 16, (uintptr_t)f->constant,
		(uintptr_t)f->constant + PAGE - 8, (uintptr_t)f->scratch + SCRATCH / 2,
		(uintptr_t)f->scratch + SCRATCH / 2 + 1, (uintptr_t)f->card, 0xffff888000000000,
		0xffffffff81000000, 0xffffffffff600000, 0x7ffffffff000, UINT64_MAX, UINT64_MAX - 7,
		1ull << 63, 1ull << 47,
	};

	return pointers[below(f, sizeof(pointers) / 8)];
}

void *room(struct fuzzer *f, size_t bytes)
{
	size_t at = f->used;

	bytes = (bytes + 7) & ~7UL;
	if (at + bytes > SCRATCH / 2)
		at = 0;
	f->used = at + bytes;
	return memset(f->scratch + at, 0, bytes);
}

uint32_t pick(struct fuzzer *f, struct context *c, unsigned int object)
{
	struct pool *p = &c->pool[object];
	uint32_t made = atomic_load(&p->made);
	uint32_t handle;
	int n;

	if (one_in(f, 40))
		return odd_number(f);
	for (n = 0; made && n < 4; n++) {
		handle = atomic_load(&p->handle[below(f, made < POOL ? made : POOL)]);
		if (handle != EMPTY)
			return handle;
	}
	return below(f, 32);
}

void remember(struct context *c, unsigned int object, uint32_t handle)
{
	struct pool *p = &c->pool[object];

	atomic_store(&p->handle[atomic_fetch_add(&p->made, 1) % POOL], handle);
}

void forget(struct context *c, unsigned int object, uint32_t handle)
{
	struct pool *p = &c->pool[object];
	uint32_t same;
	int n;

	for (n = 0; n < POOL; n++) {
		same = handle;
		atomic_compare_exchange_strong(&p->handle[n], &same, EMPTY);
	}
}

void remember_map(struct context *c, uint64_t offset, uint64_t bytes)
{
	uint32_t n = atomic_fetch_add(&c->maps, 1) % MAPS;

	atomic_store(&c->map_offset[n], offset);
	atomic_store(&c->map_bytes[n], bytes);
}

void remember_ring(struct context *c, const struct dingo_ring_map *ring)
{
	if (!ring->ring_bytes)
		return;
	remember_map(c, ring->ring_mmap, ring->ring_bytes);
	remember_map(c, ring->db_mmap, PAGE);
}

struct context *some_context(struct fuzzer *f)
{
	return &f->contexts[below(f, CONTEXTS)];
}

size_t answer_bytes(enum answer kind)
{
	switch (kind) {
	case ANSWER_CONTEXT: return sizeof(struct dingo_alloc_ucontext_resp);
	case ANSWER_CQ: return sizeof(struct dingo_create_cq_resp);
	case ANSWER_RESIZE: return sizeof(struct dingo_resize_cq_resp);
	case ANSWER_QP: return sizeof(struct dingo_create_qp_resp);
	case ANSWER_SRQ: return sizeof(struct dingo_create_srq_resp);
	case ANSWER_DM: return sizeof(struct dingo_dm_resp);
	default: return 0;
	}
}

void take_answer(struct context *c, enum answer kind, const void *bytes)
{
	union {
		struct dingo_alloc_ucontext_resp context;
		struct dingo_create_cq_resp cq;
		struct dingo_resize_cq_resp resize;
		struct dingo_create_qp_resp qp;
		struct dingo_create_srq_resp srq;
		struct dingo_dm_resp dm;
	} a;

	memcpy(&a, bytes, answer_bytes(kind));
	switch (kind) {
	case ANSWER_CONTEXT:
		remember_map(c, a.context.kick_mmap, PAGE);
		remember_map(c, a.context.status_mmap, PAGE);
		break;
	case ANSWER_CQ: remember_ring(c, &a.cq.ring); break;
	case ANSWER_RESIZE: remember_ring(c, &a.resize.ring); break;
	case ANSWER_QP:
		remember_ring(c, &a.qp.sq);
		remember_ring(c, &a.qp.rq);
		break;
	case ANSWER_SRQ: remember_ring(c, &a.srq.ring); break;
	case ANSWER_DM: remember_map(c, a.dm.dm_mmap, a.dm.map_bytes); break;
	default: break;
	}
}

size_t fill_request(struct fuzzer *f, enum request kind, void *bytes)
{
	struct dingo_alloc_ucontext_req *context = bytes;
	struct dingo_create_qp_req *qp = bytes;
	struct dingo_set_compute_req *compute = bytes;
	struct dingo_create_srq_req *srq = bytes;

	switch (kind) {
	case REQUEST_CONTEXT:
		context->kick_modes = one_in(f, 8) ? below(f, 8) : 7;
		return sizeof(*context);
	case REQUEST_CQ:
		((struct dingo_create_cq_req *)bytes)->comp_mask = one_in(f, 16);
		return sizeof(struct dingo_create_cq_req);
	case REQUEST_QP:
		qp->comp_mask = one_in(f, 16);
		qp->log_sq = one_in(f, 16) ? below(f, 256) : 6 + below(f, 6);
		qp->log_rq = one_in(f, 16) ? below(f, 256) : f->with_srq ? 0 : 6 + below(f, 4);
		qp->log_rq_stride = one_in(f, 16) ? below(f, 256) : f->with_srq ? 0 : 7;
		return sizeof(*qp);
	case REQUEST_COMPUTE:
		compute->comp_mask = one_in(f, 16);
		compute->direction = below(f, 3);
		compute->kernel = below(f, 5);
		compute->param = one_in(f, 2) ? 0 : odd_number(f);
		return sizeof(*compute);
	case REQUEST_SRQ:
		srq->log_size = one_in(f, 16) ? below(f, 256) : 6 + below(f, 6);
		srq->log_stride = one_in(f, 16) ? below(f, 256) : 7;
		return sizeof(*srq);
	default:
		return 0;
	}
}

long counted(struct fuzzer *f, unsigned int method, long rc)
{
	if (rc >= 0) {
		atomic_fetch_add(&f->stats->ok[method], 1);
	} else {
		atomic_fetch_add(&f->stats->failed[method], 1);
		if (errno < MAX_ERRNO)
			atomic_fetch_add(&f->stats->error[method][errno], 1);
	}
	return rc;
}

static void close_context(struct fuzzer *f, struct context *c, int next)
{
	int fd = atomic_exchange(&c->fd, next);
	int n;

	for (n = 0; n < NUM_OBJECTS; n++)
		atomic_store(&c->pool[n].made, 0);
	if (fd >= FIRST_FD)
		counted(f, FIRST_OTHER + DO_CLOSE, close(fd));
}

static void new_context(struct fuzzer *f, struct context *c)
{
	int fd = open(f->device, O_RDWR | O_CLOEXEC);

	if (counted(f, FIRST_OTHER + DO_OPEN, fd) < 0)
		return;
	if (one_in(f, 20)) { /* a file without a driver's context */
		close_context(f, c, fd);
		return;
	}
	close_context(f, c, -1);
	if (open_context(f, c, fd))
		populate(f, c, fd);
	fd = atomic_exchange(&c->fd, fd);
	if (fd >= FIRST_FD)
		close(fd);
}

static _Thread_local sigjmp_buf fault;
static _Thread_local volatile sig_atomic_t may_fault;

static void on_fault(int signal)
{
	if (may_fault)
		siglongjmp(fault, 1);
	_exit(128 + signal);
}

static void touch(struct fuzzer *f)
{
	volatile uint64_t *words = f->card;
	size_t n = f->card_bytes / 8;
	size_t at;
	int times;

	if (!words || !n)
		return;
	if (!sigsetjmp(fault, 1)) {
		may_fault = 1;
		for (times = 1 + below(f, 8); times; times--) {
			at = draw(f) % n;
			if (one_in(f, 4))
				words[at] = one_in(f, 2) ? draw(f) : odd_number(f);
			else
				(void)words[at];
		}
		may_fault = 0;
		counted(f, FIRST_OTHER + DO_TOUCH, 0);
		return;
	}
	may_fault = 0;
	errno = EFAULT;
	counted(f, FIRST_OTHER + DO_TOUCH, -1);
}

static void map(struct fuzzer *f, struct context *c, int fd)
{
	static const int flags[] = { MAP_SHARED, MAP_SHARED, MAP_SHARED, MAP_PRIVATE };
	uint32_t known = atomic_load(&c->maps);
	uint64_t offset = (uint64_t)below(f, 1 << 20) * PAGE;
	uint64_t bytes = PAGE * (1 + below(f, 4));
	int protection = 1 + below(f, 3);
	void *p;

	if (known && !one_in(f, 5)) {
		known = below(f, known < MAPS ? known : MAPS);
		offset = atomic_load(&c->map_offset[known]);
		bytes = atomic_load(&c->map_bytes[known]);
	}
	if (one_in(f, 16))
		offset += PAGE * (below(f, 5) - 2UL);
	if (one_in(f, 16))
		bytes = PAGE * (1 + below(f, 64));
	if (one_in(f, 32))
		protection |= PROT_EXEC;
	if (bytes > 64 << 20)
		bytes = PAGE;
	p = mmap(NULL, bytes, protection, flags[below(f, 4)], fd, offset & ~(PAGE - 1));
	if (counted(f, FIRST_OTHER + DO_MMAP, p == MAP_FAILED ? -1 : 0) < 0)
		return;
	if (f->card) {
		if (one_in(f, 8))
			madvise(f->card, f->card_bytes, below(f, 24));
		if (one_in(f, 8))
			mprotect(f->card, f->card_bytes, below(f, 4));
		munmap(f->card, f->card_bytes);
	}
	f->card = p;
	f->card_bytes = bytes;
	touch(f);
}

static void events(struct fuzzer *f, struct context *c)
{
	unsigned int object = one_in(f, 2) ? UVERBS_OBJECT_COMP_CHANNEL : UVERBS_OBJECT_ASYNC_EVENT;
	struct pollfd p = { .fd = (int)pick(f, c, object), .events = POLLIN };
	uint8_t bytes[64];
	int flags;

	if (p.fd < FIRST_FD || atomic_load(&c->pool[object].made) == 0)
		return;
	poll(&p, 1, 0);
	flags = fcntl(p.fd, F_GETFL);
	if (flags < 0)
		return;
	fcntl(p.fd, F_SETFL, flags | O_NONBLOCK | (one_in(f, 8) ? O_ASYNC : 0));
	counted(f, FIRST_OTHER + DO_EVENTS, read(p.fd, bytes, below(f, sizeof(bytes) + 1)));
	if (one_in(f, 16)) {
		forget(c, object, p.fd);
		close(p.fd);
	}
}

static void in_a_child(struct fuzzer *f, struct context *c)
{
	pid_t child = fork();

	if (child == 0) {
		fuzz_write(f, c);
		fuzz_ioctl(f, c);
		touch(f);
		_exit(0);
	}
	draw(f);
	if (counted(f, FIRST_OTHER + DO_FORK, child) >= 0)
		waitpid(child, NULL, 0);
}

static void stray(struct fuzzer *f, int fd)
{
	uint64_t *text;
	struct stat s;
	size_t n;

	f->used = 0;
	text = room(f, 512);
	switch (below(f, 5)) {
	case 0:
		for (n = 0; n < 64; n++)
			text[n] = draw(f);
		*(uint32_t *)text = below(f, 64) | (one_in(f, 2) ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
		n = 4 * below(f, 128);
		((uint16_t *)text)[2] = n / 4;
		text[1] = odd_pointer(f); /* the response's address */
		if (*(uint32_t *)text & IB_USER_VERBS_CMD_FLAG_EXTENDED)
			((uint16_t *)text)[2] = n / 8 > 3 ? n / 8 - 3 : 0;
		counted(f, FIRST_OTHER + DO_STRAY, write(fd, text, n));
		break;
	case 1:
		counted(f, FIRST_OTHER + DO_STRAY, ioctl(fd, draw(f), odd_pointer(f)));
		break;
	case 2:
		counted(f, FIRST_OTHER + DO_STRAY, ioctl(fd, RDMA_VERBS_IOCTL, odd_pointer(f)));
		break;
	case 3:
		counted(f, FIRST_OTHER + DO_STRAY, lseek(fd, odd_number(f), SEEK_SET));
		break;
	default:
		counted(f, FIRST_OTHER + DO_STRAY, fstat(fd, &s));
	}
}

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;
	uint64_t left;

	for (left = calls; !calls || left; left--) {
		struct context *c = some_context(f);
		int fd = atomic_load(&c->fd);
		uint32_t what = below(f, 1000);

		if (fd < 0 || what < 2)
			new_context(f, c);
		else if (what < 3)
			close_context(f, c, -1);
		else if (what < 80)
			map(f, c, fd);
		else if (what < 120)
			touch(f);
		else if (what < 140)
			events(f, c);
		else if (what < 142)
			in_a_child(f, c);
		else if (what < 160)
			stray(f, fd);
		else if (what < 600)
			fuzz_write(f, c);
		else
			fuzz_ioctl(f, c);
	}
	return NULL;
}

static void set_up(struct fuzzer *f, struct context *contexts, struct stats *stats,
		   const char *device, uint64_t seed)
{
	struct udmabuf_create buffer = { .memfd = memfd_create("fuzz", MFD_ALLOW_SEALING), .size = SCRATCH };
	int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	uint8_t *memory = mmap(NULL, SCRATCH + GUARD, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	f->random = seed;
	f->contexts = contexts;
	f->stats = stats;
	f->device = device;
	f->scratch = memory;
	f->constant = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || f->constant == MAP_FAILED ||
	    mprotect(memory + SCRATCH, GUARD, PROT_NONE))
		_exit(3);
	/* An ordinary user may not be allowed to make one. */
	f->buffer = ftruncate(buffer.memfd, SCRATCH) || fcntl(buffer.memfd, F_ADD_SEALS, F_SEAL_SHRINK) ?
			    -1 : ioctl(maker, UDMABUF_CREATE, &buffer);
	close(maker);
}

/* Main function of a fuzzing process; ends when it has made its calls. */
static void run(struct stats *stats, const char *device, uint64_t seed, unsigned int user)
{
	static struct context contexts[CONTEXTS];
	static struct fuzzer fuzzers[64];
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	pthread_t thread[64];
	unsigned int n;

	if (user && (setgid(user) || setuid(user)))
		_exit(3);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	signal(SIGIO, SIG_IGN);
	for (n = 0; n < CONTEXTS; n++)
		atomic_store(&contexts[n].fd, -1);
	for (n = 0; n < threads; n++)
		set_up(&fuzzers[n], contexts, stats, device, seed + n * 0x1234567);
	for (n = 1; n < threads; n++)
		if (pthread_create(&thread[n], NULL, fuzz, &fuzzers[n]))
			_exit(3);
	fuzz(&fuzzers[0]);
	for (n = 1; n < threads; n++)
		pthread_join(thread[n], NULL);
	_exit(0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void say_where(pid_t child)
{
	char command[128];

	snprintf(command, sizeof(command), "cat /proc/%d/task/*/stack /proc/%d/task/*/syscall", child, child);
	if (system(command))
		perror(command);
}

/* Waits for the child to exit, or for the deadline; returns true, with its status, if it exited. */
static bool ended(pid_t child, double deadline, int *status)
{
	while (waitpid(child, status, WNOHANG) == 0) {
		if (now() > deadline)
			return false;
		usleep(10000);
	}
	return true;
}

static const char *method_name(unsigned int n)
{
	static const char *const others[] = { "open", "close", "mmap", "memory of the card",
					      "event descriptors", "fork", "stray calls" };
	static char name[64];

	if (n < num_commands())
		snprintf(name, sizeof(name), "write %s", command_name(n));
	else if (n < FIRST_IOCTL)
		snprintf(name, sizeof(name), "invoke %s", command_name(n - num_commands()));
	else if (n < FIRST_OTHER)
		snprintf(name, sizeof(name), "ioctl %s", ioctl_name(n - FIRST_IOCTL));
	else
		snprintf(name, sizeof(name), "%s", others[n - FIRST_OTHER]);
	return name;
}

static void report(struct stats *stats, uint64_t *ok, uint64_t *failed)
{
	unsigned int n, e;

	for (n = 0; n < FIRST_OTHER + NUM_OTHER; n++) {
		*ok += stats->ok[n];
		*failed += stats->failed[n];
		printf("%-36s %8lu ok %8lu failed:", method_name(n), (unsigned long)stats->ok[n],
		       (unsigned long)stats->failed[n]);
		for (e = 0; e < MAX_ERRNO; e++)
			if (stats->error[n][e])
				printf(" %s %u", strerrorname_np(e) ?: "?", stats->error[n][e]);
		printf("\n");
	}
}

/* Checks the methods that must have succeeded; else the fuzzer did not reach the driver. */
static int check_reach(struct stats *stats)
{
	static const char *const wanted[] = { "GET_CONTEXT", "ALLOC_PD", "CREATE_CQ", "CREATE_QP",
					      "CREATE_SRQ", "REG_MR", "CREATE_AH", "MODIFY_QP" };
	unsigned int n, i;
	int rc = 0;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		uint64_t ok = 0;

		for (n = 0; n < num_commands(); n++)
			if (!strcmp(command_name(n), wanted[i]))
				ok = stats->ok[n] + stats->ok[num_commands() + n];
		if (!ok) {
			printf("%s never succeeded\n", wanted[i]);
			rc = 1;
		}
	}
	if (!stats->ok[FIRST_OTHER + DO_MMAP]) {
		printf("mmap never succeeded\n");
		rc = 1;
	}
	return rc;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, ok = 0, failed = 0;
	double seconds = 10, start = now(), slowest = 0;
	unsigned int user = 0, processes = 0, killed = 0, died = 0;
	struct stats *stats;
	struct fuzzer dice = {};
	int option, status, rc = 0;

	while ((option = getopt(argc, argv, "s:t:n:j:u:")) >= 0) {
		switch (option) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atof(optarg); break;
		case 'n': calls = strtoull(optarg, NULL, 0); break;
		case 'j': threads = atoi(optarg); break;
		case 'u': user = atoi(optarg); break;
		default: optind = argc;
		}
	}
	if (optind + 1 != argc || threads < 1 || threads > 64) {
		fprintf(stderr, "usage: %s [-s SEED] [-t SECONDS] [-n CALLS] [-j THREADS] [-u UID] DEVICE\n",
			argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stats == MAP_FAILED)
		return 2;
	dice.random = seed;
	while (now() - start < seconds) {
		uint64_t child_seed = draw(&dice);
		double life = 0.5 + below(&dice, 4000) / 1000.0, end;
		pid_t child = fork();

		if (child == 0)
			run(stats, argv[optind], child_seed, user);
		if (child < 0)
			return 2;
		processes++;
		if (!ended(child, now() + life, &status)) {
			kill(child, SIGKILL);
			end = now();
			killed++;
			if (!ended(child, end + END_SECONDS, &status)) {
				printf("a process cannot be ended, seed 0x%llx\n",
				       (unsigned long long)child_seed);
				say_where(child);
				rc = 1;
				break;
			}
			if (now() - end > slowest)
				slowest = now() - end;
		} else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			died++;
			if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
				printf("a process could not begin\n");
				return 1;
			}
		}
	}
	report(stats, &ok, &failed);
	rc |= check_reach(stats);
	printf("seed %llu, user %u: %lu calls ok, %lu failed; %u processes, %u killed (slowest end %.1f s), %u died\n",
	       (unsigned long long)seed, user, (unsigned long)ok, (unsigned long)failed, processes, killed,
	       slowest, died);
	return rc;
}
