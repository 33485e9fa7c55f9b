// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: connections to cards, and mappings of the memory of contexts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* struct ucred */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <rdma/dingo-abi.h>

#include "direct.h"
#include "direct_abi.h"
#include "protocol.h"

/* Most regions of one context that are mapped at once. */
#define MOST_PIECES 1024
/* Timeout in us. A card that is awake answers within some 50 us. */
#define ANSWER_USEC 100000
#define MOST_FDS 4
/* ns until files are requested again after a failure, so that not every post waits ANSWER_USEC for
 * a stopped card.
 */
#define FILE_AGAIN_NS 1000000000

struct dingo_direct_card {
	struct dingo_direct_card *next;
	unsigned int users;
	pthread_mutex_t mutex;
	int fd;				/* -1: not connected */
	char path[];
};

/* A mapped region. */
struct dingo_direct_piece {
	struct dingo_direct_piece *next;
	uint32_t index;
	uint32_t seq;
	void *map;
	uint64_t from;			/* in its file */
	uint32_t file;
	size_t bytes;
};

static const size_t page_mask = DINGO_DB_PAGE_SIZE - 1;

/* Process-wide state: contexts share connections, and may be each other's peers. */
static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct dingo_direct_card *all_cards;
static struct dingo_direct_side *all_sides;

/* --- cards */

/* A descriptor inherited by a child would keep the connection of a dead parent open; the card waits
 * for its end.
 */
static void close_in_child(void)
{
	struct dingo_direct_card *card;

	for (card = all_cards; card; card = card->next) {
		if (card->fd >= 0)
			close(card->fd);
		card->fd = -1;
	}
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, close_in_child);
}

struct dingo_direct_card *dingo_direct_get_card(const char *path)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct dingo_direct_card *card;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&all_mutex);
	for (card = all_cards; card && strcmp(card->path, path); card = card->next)
		;
	if (card) {
		card->users++;
	} else {
		card = calloc(1, sizeof(*card) + strlen(path) + 1);
		if (card) {
			strcpy(card->path, path);
			pthread_mutex_init(&card->mutex, NULL);
			card->fd = -1;
			card->users = 1;
			card->next = all_cards;
			all_cards = card;
		}
	}
	pthread_mutex_unlock(&all_mutex);
	return card;
}

/* The caller holds all_mutex. */
static void put_card_locked(struct dingo_direct_card *card)
{
	struct dingo_direct_card **at;

	if (--card->users)
		return;
	for (at = &all_cards; *at != card; at = &(*at)->next)
		;
	*at = card->next;
	if (card->fd >= 0)
		close(card->fd);
	pthread_mutex_destroy(&card->mutex);
	free(card);
}

void dingo_direct_put_card(struct dingo_direct_card *card)
{
	pthread_mutex_lock(&all_mutex);
	put_card_locked(card);
	pthread_mutex_unlock(&all_mutex);
}

static void set_patience(int fd)
{
	struct timeval patience = { .tv_usec = ANSWER_USEC };

	/* also limits connect() */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* Returns true if the card belongs to this user or to root. */
static bool is_ours(int fd)
{
	struct ucred peer = { .uid = -1 };
	socklen_t bytes = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	set_patience(fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    !is_ours(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool send_request(int fd, const struct dingo_uverbs_request *head,
			 const void *payload, int reply)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec parts[2] = {
		{ (void *)head, sizeof(*head) },
		{ (void *)payload, head->payload_len },
	};
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &reply, sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

/* Returns 0, with `num_fds` descriptors that the caller owns, or an errno value; then received
 * descriptors are closed.
 */
static int receive_reply(int fd, struct dingo_uverbs_reply *reply, int *fds,
			 unsigned int num_fds)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int) * MOST_FDS)];
	} control = {};
	struct iovec part = { reply, sizeof(*reply) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int came[MOST_FDS], err = EIO;
	unsigned int n = 0;
	struct cmsghdr *c;
	ssize_t got;

	do
		got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	c = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(came, CMSG_DATA(c), sizeof(int) * n);
	}
	if (got == (ssize_t)sizeof(*reply) && reply->result < 0)
		err = -reply->result;
	else if (got == (ssize_t)sizeof(*reply) && n == num_fds)
		err = 0;
	if (!err)
		memcpy(fds, came, sizeof(int) * n);
	else
		while (n--)
			close(came[n]);
	return err;
}

int dingo_direct_ask(struct dingo_direct_card *card,
		     struct dingo_uverbs_request *head, const void *payload,
		     struct dingo_uverbs_reply *reply, int *fds,
		     unsigned int num_fds)
{
	int pair[2], err = EIO;

	head->version = DINGO_UVERBS_VERSION;
	head->pid = getpid();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	set_patience(pair[0]);
	pthread_mutex_lock(&card->mutex);
	if (card->fd < 0)
		card->fd = connect_to(card->path);
	if (card->fd >= 0 && !send_request(card->fd, head, payload, pair[1])) {
		/* Only if the card has ended: it would take a closed connection for the end of this
		 * process.
		 */
		if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
			close(card->fd);
			card->fd = -1;
		}
	} else if (card->fd >= 0) {
		close(pair[1]);
		pair[1] = -1;
		err = receive_reply(pair[0], reply, fds, num_fds);
	}
	pthread_mutex_unlock(&card->mutex);
	close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
	return err;
}

/* --- sides */

void *dingo_direct_map(int fd, uint64_t offset, size_t bytes, int prot)
{
	void *map = mmap(NULL, bytes, prot, MAP_SHARED | MAP_NORESERVE, fd, offset);

	if (map == MAP_FAILED)
		return NULL;
	madvise(map, bytes, MADV_DONTFORK);
	return map;
}

/* Returns true if the file has these bytes and is sealed against shrinking: sizes sent by a card
 * are not trusted.
 */
static bool has_for_good(int fd, uint64_t offset, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & F_SEAL_SHRINK) && !fstat(fd, &st) &&
	       offset <= (uint64_t)st.st_size &&
	       bytes <= (uint64_t)st.st_size - offset;
}

void *dingo_direct_map_foreign(int fd, uint64_t offset, size_t bytes, int prot)
{
	return has_for_good(fd, offset, bytes) ?
		       dingo_direct_map(fd, offset, bytes, prot) : NULL;
}

static void free_side(struct dingo_direct_side *side)
{
	struct dingo_direct_piece *piece;
	unsigned int i;

	dingo_direct_forget_locals(side);
	for (i = 0; i < sizeof(side->pieces) / sizeof(side->pieces[0]); i++)
		while ((piece = side->pieces[i])) {
			side->pieces[i] = piece->next;
			munmap(piece->map, piece->bytes);
			free(piece);
		}
	for (i = 0; i < side->num_files; i++)
		close(side->files[i].fd);
	if (side->directory)
		munmap(side->directory, side->directory_bytes);
	if (side->status_page)
		munmap(side->status_page, DINGO_DB_PAGE_SIZE);
	pthread_mutex_destroy(&side->mutex);
	free(side);
}

/* Takes ownership of the mapped `directory`. Returns NULL if that is NULL or too short. */
static struct dingo_direct_side *new_side(struct dingo_direct_card *card,
					  uint32_t context, void *directory,
					  size_t bytes)
{
	const struct dingo_direct_directory *dir = directory;
	struct dingo_direct_side *side;
	uint64_t needs;

	if (!directory)
		return NULL;
	side = calloc(1, sizeof(*side));
	needs = sizeof(*dir) + (uint64_t)dir->num_regions * sizeof(dir->regions[0]);
	if (!side || needs > bytes) {
		munmap(directory, bytes);
		free(side);
		return NULL;
	}
	side->card = card;
	side->context = context;
	side->users = 1;
	side->directory = directory;
	side->directory_bytes = bytes;
	side->num_regions = dir->num_regions;
	pthread_mutex_init(&side->mutex, NULL);
	return side;
}

static struct dingo_direct_side *map_side(struct dingo_direct_card *card,
					  uint32_t context, int directory,
					  int status)
{
	off_t bytes = lseek(directory, 0, SEEK_END);
	struct dingo_direct_side *side;

	if (bytes < (off_t)sizeof(struct dingo_direct_directory))
		return NULL;
	side = new_side(card, context,
			dingo_direct_map_foreign(directory, 0, bytes, PROT_READ),
			bytes);
	if (!side)
		return NULL;
	side->status_page = dingo_direct_map_foreign(status, 0, DINGO_DB_PAGE_SIZE,
						     PROT_READ);
	if (!side->status_page) {
		free_side(side);
		return NULL;
	}
	side->status = side->status_page;
	return side;
}

/* May return the side of a context of this process: the peer may be in it. */
struct dingo_direct_side *dingo_direct_get_side(struct dingo_direct_card *card,
						uint32_t context, int directory,
						int status)
{
	struct dingo_direct_side *side;

	pthread_mutex_lock(&all_mutex);
	for (side = all_sides; side; side = side->next)
		/* a restarted card may assign the same number again */
		if (side->card == card && side->context == context &&
		    !(atomic_load(side->status) & DINGO_STATUS_GONE))
			break;
	if (side) {
		side->users++;
		side->not_before = 0;
	} else {
		side = map_side(card, context, directory, status);
		if (side) {
			card->users++;
			side->next = all_sides;
			all_sides = side;
		}
	}
	pthread_mutex_unlock(&all_mutex);
	return side;
}

void dingo_direct_put_side(struct dingo_direct_side *side)
{
	struct dingo_direct_side **at;

	if (!side)
		return;
	pthread_mutex_lock(&all_mutex);
	if (!--side->users) {
		for (at = &all_sides; *at != side; at = &(*at)->next)
			;
		*at = side->next;
		put_card_locked(side->card);
		free_side(side);
	}
	pthread_mutex_unlock(&all_mutex);
}

/* Returns the descriptor of a file of the context, or -1; after a failed request no file is
 * requested for FILE_AGAIN_NS. The caller holds the side's mutex.
 */
static int side_file(struct dingo_direct_side *side, uint32_t number)
{
	struct dingo_uverbs_request head = {
		.type = DINGO_UVERBS_DIRECT_FILE,
		.arg = side->context,
		.arg2 = number,
	};
	struct dingo_uverbs_reply reply;
	unsigned int i;
	int fd;

	for (i = 0; i < side->num_files; i++)
		if (side->files[i].number == number)
			return side->files[i].fd;
	if (i == sizeof(side->files) / sizeof(side->files[0]) ||
	    dingo_now_ns() < side->not_before)
		return -1;
	if (dingo_direct_ask(side->card, &head, NULL, &reply, &fd, 1)) {
		side->not_before = dingo_now_ns() + FILE_AGAIN_NS;
		return -1;
	}
	side->files[side->num_files].number = number;
	side->files[side->num_files++].fd = fd;
	return fd;
}

/* Returns the region's mapping, made if necessary; NULL if that fails, or the card describes the
 * region differently under the same `seq`. The caller holds the side's mutex.
 */
static struct dingo_direct_piece *
side_piece(struct dingo_direct_side *side, uint32_t index,
	   const struct dingo_direct_region *region)
{
	struct dingo_direct_piece **slot = &side->pieces[index % 256], *piece;
	uint64_t from = region->offset & ~page_mask;
	size_t bytes = (region->offset + region->length - from + page_mask) & ~page_mask;
	int fd;

	while ((piece = *slot)) {
		if (piece->index == index && piece->seq == region->seq)
			return piece->file == region->file && piece->from == from &&
					       piece->bytes == bytes ?
				       piece : NULL;
		if (piece->index == index) {
			/*
			 * No thread uses it: the region was deregistered, which waits for
			 * all users.
			 */
			*slot = piece->next;
			munmap(piece->map, piece->bytes);
			free(piece);
			side->num_pieces--;
			continue;
		}
		slot = &piece->next;
	}
	if (side->num_pieces >= MOST_PIECES)
		return NULL;
	fd = side_file(side, region->file);
	piece = fd < 0 ? NULL : calloc(1, sizeof(*piece));
	if (!piece)
		return NULL;
	piece->index = index;
	piece->seq = region->seq;
	piece->file = region->file;
	piece->from = from;
	piece->bytes = bytes;
	piece->map = dingo_direct_map_foreign(fd, from, bytes, PROT_READ | PROT_WRITE);
	if (!piece->map) {
		free(piece);
		return NULL;
	}
	piece->next = side->pieces[index % 256];
	side->pieces[index % 256] = piece;
	side->num_pieces++;
	return piece;
}

bool dingo_direct_look_up(struct dingo_direct_side *side, uint32_t pdn,
			  uint32_t key, struct dingo_direct_known *known)
{
	uint32_t index = key >> DINGO_MR_INDEX_SHIFT;
	const struct dingo_direct_region *entry = &side->directory->regions[index];
	struct dingo_direct_region region;
	struct dingo_direct_piece *piece;
	uint32_t seq = __atomic_load_n(&entry->seq, __ATOMIC_ACQUIRE);

	known->seq = 0;
	known->moves = atomic_load_explicit(&dingo_direct_moves, memory_order_acquire);
	if (!seq || seq % 2)
		return false;
	region = *(const volatile struct dingo_direct_region *)entry;
	atomic_thread_fence(memory_order_acquire);
	if (__atomic_load_n(&entry->seq, __ATOMIC_RELAXED) != seq ||
	    region.key != key || region.pdn != pdn || !region.length ||
	    region.offset + region.length < region.offset)
		return false;
	region.seq = seq;
	if (side->own) {
		/* the preload library would take a second mapping for one of the program's */
		known->at = dingo_direct_own_memory(side, &region);
		if (!known->at)
			return false;
	} else {
		pthread_mutex_lock(&side->mutex);
		piece = side_piece(side, index, &region);
		pthread_mutex_unlock(&side->mutex);
		if (!piece)
			return false;
		known->at = (uint8_t *)piece->map + (region.offset & page_mask);
	}
	known->key = key;
	known->access = region.access;
	known->iova = region.iova;
	known->length = region.length;
	known->seq = seq;
	return true;
}

/* --- the own side */

struct dingo_direct_side *dingo_direct_own_side(struct dingo_context *ctx,
						const char *path,
						uint32_t context,
						uint64_t directory, size_t bytes)
{
	struct dingo_direct_card *card = dingo_direct_get_card(path);
	struct dingo_direct_side *side = NULL;

	if (!card)
		return NULL;
	if (bytes >= sizeof(struct dingo_direct_directory))
		side = new_side(card, context,
				dingo_direct_map(ctx->vctx.context.cmd_fd, directory,
						 bytes, PROT_READ), bytes);
	/* own mapping: the side may outlive the context, as the peer of other contexts */
	if (side) {
		side->status_page = mmap(NULL, DINGO_DB_PAGE_SIZE, PROT_READ, MAP_SHARED,
					 ctx->vctx.context.cmd_fd, ctx->status_offset);
		if (side->status_page == MAP_FAILED) {
			side->status_page = NULL;
			free_side(side);
			side = NULL;
		}
	}
	if (!side) {
		dingo_direct_put_card(card);
		return NULL;
	}
	side->status = side->status_page;
	side->own = true;
	pthread_mutex_lock(&all_mutex);
	side->next = all_sides;
	all_sides = side;
	pthread_mutex_unlock(&all_mutex);
	return side;
}
