/* SPDX-License-Identifier: BSD-2-Clause */
#include "say.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sys.h"

void dingo_say(const char* format, ...) {
    char text[PATH_MAX + 256] = "dingo: ";
    size_t begin = strlen(text);
    size_t length;
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text + begin, sizeof(text) - begin - 1, format, arguments);
    va_end(arguments);
    length = strlen(text);
    text[length++] = '\n';
    (void)DINGO_SYS(SYS_write, 2, text, length);
}
