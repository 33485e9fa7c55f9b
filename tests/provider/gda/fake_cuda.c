// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fake libcuda.so.1: registers pages only once, maps them at other addresses, and counts them. FAKE_CUDA: "no-gpu",
 * "no-read-only", or the name of a call to refuse.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, ALREADY = 712, NOT_REGISTERED = 713, NOT_SUPPORTED = 801,
       CAPTURE_UNSUPPORTED = 900 };

#define ELSEWHERE 0x100000000000ull	/* offset of device addresses */

static struct {
	uintptr_t begin;
	size_t bytes;
} pages[MOST];
static void *current;

static int mode(const char *wanted)
{
	const char *now = getenv("FAKE_CUDA");

	return now && !strcmp(now, wanted);
}

int fake_cuda_registered(void);
int fake_cuda_registered(void)
{
	int i, n = 0;

	for (i = 0; i < MOST; i++)
		n += pages[i].bytes != 0;
	return n;
}

/* Number of device memory allocations not freed. */
static int allocated;

int fake_cuda_allocated(void);
int fake_cuda_allocated(void)
{
	return allocated;
}

/* Returns the device whose context is current, or -1. */
int fake_cuda_current(void);
int fake_cuda_current(void)
{
	return current ? (int)((char *)current - (char *)pages) : -1;
}

int cuInit(unsigned int flags);
int cuInit(unsigned int flags)
{
	return flags ? INVALID_VALUE : mode("no-gpu") ? NO_DEVICE : 0;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
	if (mode("cuDeviceGet"))
		return NOT_SUPPORTED;
	*device = ordinal;
	return ordinal > 1 ? NO_DEVICE : 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	if (mode("cuDevicePrimaryCtxRetain"))
		return NOT_SUPPORTED;
	*context = (char *)pages + device;
	return 0;
}

int cuCtxGetCurrent(void **context);
int cuCtxGetCurrent(void **context)
{
	if (mode("cuCtxGetCurrent"))
		return NOT_SUPPORTED;
	*context = current;
	return 0;
}

int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context)
{
	if (mode("cuCtxSetCurrent"))
		return NOT_SUPPORTED;
	current = context;
	return 0;
}

int cuMemHostRegister_v2(void *at, size_t bytes, unsigned int flags);
int cuMemHostRegister_v2(void *at, size_t bytes, unsigned int flags)
{
	const uintptr_t begin = (uintptr_t)at;
	int i, unused = -1;

	if (begin % 4096 || bytes % 4096 || !bytes)
		return INVALID_VALUE;
	if (flags & 8 && mode("no-read-only"))
		return NOT_SUPPORTED;
	for (i = 0; i < MOST; i++) {
		if (!pages[i].bytes)
			unused = i;
		else if (begin < pages[i].begin + pages[i].bytes && pages[i].begin < begin + bytes)
			return ALREADY;
	}
	if (unused < 0)
		return OUT_OF_MEMORY;
	pages[unused].begin = begin;
	pages[unused].bytes = bytes;
	return 0;
}

int cuMemHostUnregister(void *at);
int cuMemHostUnregister(void *at)
{
	int i;

	for (i = 0; i < MOST; i++) {
		if (pages[i].bytes && pages[i].begin == (uintptr_t)at) {
			pages[i].bytes = 0;
			return 0;
		}
	}
	return NOT_REGISTERED;
}

int cuMemHostGetDevicePointer_v2(uint64_t *device, void *at, unsigned int flags);
int cuMemHostGetDevicePointer_v2(uint64_t *device, void *at, unsigned int flags)
{
	if (mode("cuMemHostGetDevicePointer_v2"))
		return NOT_SUPPORTED;
	*device = (uintptr_t)at + ELSEWHERE;
	return flags ? INVALID_VALUE : 0;
}

/* A capture in global mode refuses calls of threads whose mode is not relaxed. The copies of the default
 * stream are missing, as they may wait for ever.
 */
static int capturing;
static __thread int capture_mode;
static int streams;

void fake_cuda_capture(int on);
void fake_cuda_capture(int on)
{
	capturing = on;
}

int fake_cuda_streams(void);
int fake_cuda_streams(void)
{
	return streams;
}

int fake_cuda_capture_mode(void);
int fake_cuda_capture_mode(void)
{
	return capture_mode;
}

static int captured(void)
{
	return capturing && capture_mode != 2;
}

int cuThreadExchangeStreamCaptureMode(int *mode);
int cuThreadExchangeStreamCaptureMode(int *mode)
{
	const int before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return 0;
}

int cuMemAlloc_v2(uint64_t *device, size_t bytes);
int cuMemAlloc_v2(uint64_t *device, size_t bytes)
{
	if (mode("cuMemAlloc_v2"))
		return NOT_SUPPORTED;
	if (captured())
		return CAPTURE_UNSUPPORTED;
	allocated++;
	*device = (uintptr_t)malloc(bytes);
	return *device ? 0 : OUT_OF_MEMORY;
}

int cuMemFree_v2(uint64_t device);
int cuMemFree_v2(uint64_t device)
{
	allocated--;
	free((void *)(uintptr_t)device);
	return 0;
}

/* A copy is executed when its stream is waited for. */
struct stream {
	void *to;
	const void *from;
	size_t bytes;
};

int cuStreamCreate(void **stream, unsigned int flags);
int cuStreamCreate(void **stream, unsigned int flags)
{
	if (mode("cuStreamCreate"))
		return NOT_SUPPORTED;
	streams++;
	*stream = calloc(1, sizeof(struct stream));
	return flags == 1 ? 0 : INVALID_VALUE;
}

int cuStreamSynchronize(void *stream);
int cuStreamSynchronize(void *stream)
{
	const struct stream *s = stream;

	if (mode("cuStreamSynchronize"))
		return NOT_SUPPORTED;
	memcpy(s->to, s->from, s->bytes);
	return 0;
}

int cuStreamDestroy_v2(void *stream);
int cuStreamDestroy_v2(void *stream)
{
	streams--;
	free(stream);
	return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t device, const void *from, size_t bytes, void *stream);
int cuMemcpyHtoDAsync_v2(uint64_t device, const void *from, size_t bytes, void *stream)
{
	struct stream *s = stream;

	if (mode("cuMemcpyHtoDAsync_v2"))
		return NOT_SUPPORTED;
	*s = (struct stream){ (void *)(uintptr_t)device, from, bytes };
	return captured() ? CAPTURE_UNSUPPORTED : 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t device, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t device, size_t bytes, void *stream)
{
	struct stream *s = stream;

	if (mode("cuMemcpyDtoHAsync_v2"))
		return NOT_SUPPORTED;
	*s = (struct stream){ to, (const void *)(uintptr_t)device, bytes };
	return captured() ? CAPTURE_UNSUPPORTED : 0;
}

int cuGetErrorName(int error, const char **name);
int cuGetErrorName(int error, const char **name)
{
	*name = error == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : error == ALREADY ? "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" :
		error == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : "CUDA_ERROR_INVALID_VALUE";
	return 0;
}
