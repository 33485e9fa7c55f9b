/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the programs of cases share: one case a run, named on the command line. */
#ifndef TESTS_PROVIDER_CASES_H
#define TESTS_PROVIDER_CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_rings.h"

#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__,     \
				__LINE__, #what);                              \
			exit(1);                                               \
		}                                                              \
	} while (0)

static const struct fake_options rc = {
	.type = IBV_QPT_RC, .sq_blocks = 8, .max_blocks = 2,
	.rq_entries = 4, .cq_entries = 8,
};

static struct ibv_sge sges[3] = {
	{ .addr = 0x1000, .length = 100, .lkey = 0x11 },
	{ .addr = 0x2000, .length = 0, .lkey = 0x22 },
	{ .addr = 0x3000, .length = 7, .lkey = 0x33 },
};

static inline uint32_t rung(const struct fake *fake, unsigned int db)
{
	return fake->doorbell[db] >> 32;
}

struct test_case {
	const char *name;
	void (*run)(void);
};

#define CASE(name) { #name, name }

static inline int run_case(const struct test_case *cases, size_t count, int argc, char **argv)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (argc == 2 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: %s CASE\n", argv[0]);
	return 2;
}

#endif
