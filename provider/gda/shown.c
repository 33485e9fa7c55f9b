// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reference counts of pages mapped for a device: its driver refuses to map a page twice. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory.h"

struct shown {
	const struct dingo_gda_memory *memory;
	void *begin;
	size_t bytes;
	bool read_only;
	unsigned int users;	/* 0: hidden while an object is destroyed */
	struct shown *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct shown *all;

/* Returns the link to the mapping that contains `at`, or NULL. */
static struct shown **find(const struct dingo_gda_memory *memory, const void *at)
{
	struct shown **p = &all;

	while (*p && ((*p)->memory != memory ||
		      (uintptr_t)at - (uintptr_t)(*p)->begin >= (*p)->bytes))
		p = &(*p)->next;
	return *p ? p : NULL;
}

static struct shown *show(const struct dingo_gda_memory *memory, void *at, size_t bytes, bool read_only, int *err)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t begin = (uintptr_t)at & ~(page - 1);
	struct shown *s = calloc(1, sizeof(*s));

	if (!s) {
		*err = dingo_gda_fail(ENOMEM, "no memory");
		return NULL;
	}
	s->memory = memory;
	s->begin = (void *)begin;
	s->bytes = (((uintptr_t)at + bytes + page - 1) & ~(page - 1)) - begin;
	s->read_only = read_only;
	*err = memory->show(s->begin, s->bytes, read_only);
	if (*err) {
		free(s);
		return NULL;
	}
	s->next = all;
	all = s;
	return s;
}

static void drop(struct shown **p)
{
	struct shown *s = *p;

	*p = s->next;
	free(s);
}

static void put(struct shown **p)
{
	if (--(*p)->users)
		return;
	(*p)->memory->hide((*p)->begin);
	drop(p);
}

int dingo_gda_show(const struct dingo_gda_memory *memory, void *at, size_t bytes, bool read_only, void **device)
{
	struct shown **p, *s;
	int err = 0;

	pthread_mutex_lock(&mutex);
	p = find(memory, at);
	s = p ? *p : show(memory, at, bytes, read_only, &err);
	if (s) {
		s->users++;
		err = memory->address(s->begin, device);
		if (err)
			put(find(memory, at));
		else
			*device = (char *)*device + ((uintptr_t)at - (uintptr_t)s->begin);
	}
	pthread_mutex_unlock(&mutex);
	return err;
}

void dingo_gda_hide(const struct dingo_gda_memory *memory, void *at)
{
	struct shown **p;

	pthread_mutex_lock(&mutex);
	p = find(memory, at);
	if (p)
		put(p);
	pthread_mutex_unlock(&mutex);
}

int dingo_gda_hide_destroyed(const struct dingo_gda_memory *memory, void *const *at, unsigned int num,
			     int (*destroy)(void *object), void *object)
{
	struct shown **p;
	unsigned int i;
	int err;

	pthread_mutex_lock(&mutex);
	for (i = 0; i < num; i++) {
		p = find(memory, at[i]);
		if (p && !--(*p)->users)
			memory->hide((*p)->begin);
	}
	err = destroy(object);
	for (i = 0; i < num; i++) {
		p = find(memory, at[i]);
		if (!p)
			continue;
		/* What cannot be shown again is forgotten. */
		if (err && ((*p)->users || !memory->show((*p)->begin, (*p)->bytes, (*p)->read_only)))
			(*p)->users++;
		if (!(*p)->users)
			drop(p);
	}
	pthread_mutex_unlock(&mutex);
	return err;
}
