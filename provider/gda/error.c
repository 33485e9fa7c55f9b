// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>

#include "dingo_gda_host.h"
#include "memory.h"

static _Thread_local char line[256];

int dingo_gda_fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	return error;
}

const char *dingo_gda_error(void)
{
	return line;
}
