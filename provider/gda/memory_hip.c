// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory access for HIP devices. The runtime's library is loaded when a device is opened. Not
 * tested on an AMD GPU.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "memory.h"

/* values and prototypes from hip_runtime_api.h */
enum {
	HIP_HOST_REGISTER_PORTABLE = 1,
	HIP_HOST_REGISTER_MAPPED = 2,
	HIP_MEMCPY_HOST_TO_DEVICE = 1,
	HIP_MEMCPY_DEVICE_TO_HOST = 2,
	HIP_STREAM_NON_BLOCKING = 1,
	HIP_CAPTURE_RELAXED = 2,
};

static struct {
	int (*init)(unsigned int flags);
	int (*set_device)(int ordinal);
	int (*host_register)(void *at, size_t bytes, unsigned int flags);
	int (*host_unregister)(void *at);
	int (*host_address)(void **device, void *at, unsigned int flags);
	int (*alloc)(void **device, size_t bytes);
	int (*free)(void *device);
	int (*exchange_capture)(int *mode);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_wait)(void *stream);
	int (*stream_destroy)(void *stream);
	int (*copy)(void *to, const void *from, size_t bytes, int direction, void *stream);
	const char *(*error_name)(int error);
} hip;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;

/* Prefers the library that the program has loaded: two of them do not know each other's memory. */
static void *find_library(void)
{
	static const char *const names[] = { "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
					     "libamdhip64.so.5" };
	static const int flags[] = { RTLD_NOW | RTLD_NOLOAD, RTLD_NOW };
	void *lib = NULL;
	size_t f, i;

	for (f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
		for (i = 0; !lib && i < sizeof(names) / sizeof(names[0]); i++)
			lib = dlopen(names[i], flags[f]);
	return lib;
}

static void load(void)
{
	static const struct {
		const char *name;
		void *to;
	} calls[] = {
		{ "hipInit", &hip.init },
		{ "hipSetDevice", &hip.set_device },
		{ "hipHostRegister", &hip.host_register },
		{ "hipHostUnregister", &hip.host_unregister },
		{ "hipHostGetDevicePointer", &hip.host_address },
		{ "hipMalloc", &hip.alloc },
		{ "hipFree", &hip.free },
		{ "hipThreadExchangeStreamCaptureMode", &hip.exchange_capture },
		{ "hipStreamCreateWithFlags", &hip.stream_create },
		{ "hipStreamSynchronize", &hip.stream_wait },
		{ "hipStreamDestroy", &hip.stream_destroy },
		{ "hipMemcpyAsync", &hip.copy },
		{ "hipGetErrorName", &hip.error_name },
	};
	void *lib = find_library();
	size_t i;

	if (!lib) {
		missing = "no HIP runtime on this machine (libamdhip64.so)";
		return;
	}
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		*(void **)calls[i].to = dlsym(lib, calls[i].name);
		if (!*(void **)calls[i].to)
			missing = "libamdhip64.so is too old";
	}
}

static int refused(int error, const char *call)
{
	return dingo_gda_fail(EIO, "%s: %s", call, hip.error_name(error));
}

static int hip_open(int ordinal)
{
	int err;

	pthread_once(&once, load);
	if (missing)
		return dingo_gda_fail(ENODEV, "%s", missing);
	err = hip.init(0);
	if (err)
		return refused(err, "hipInit");
	err = hip.set_device(ordinal);
	return err ? refused(err, "hipSetDevice") : 0;
}

/* As in memory_cuda.c. */
static int ignore_captures(void)
{
	int mode = HIP_CAPTURE_RELAXED;

	hip.exchange_capture(&mode);
	return mode;
}

static void captures(int mode)
{
	hip.exchange_capture(&mode);
}

static int hip_show(void *at, size_t bytes, bool read_only)
{
	int mode, err;

	if (read_only)
		return dingo_gda_fail(EOPNOTSUPP, "HIP registers no read-only memory");
	mode = ignore_captures();
	err = hip.host_register(at, bytes, HIP_HOST_REGISTER_PORTABLE | HIP_HOST_REGISTER_MAPPED);
	captures(mode);
	return err ? refused(err, "hipHostRegister") : 0;
}

static void hip_hide(void *at)
{
	const int mode = ignore_captures();

	hip.host_unregister(at);
	captures(mode);
}

static int hip_address(void *at, void **device)
{
	int err = hip.host_address(device, at, 0);

	return err ? refused(err, "hipHostGetDevicePointer") : 0;
}

static int hip_alloc(size_t bytes, void **device)
{
	const int mode = ignore_captures();
	int err = hip.alloc(device, bytes);

	captures(mode);
	return err ? refused(err, "hipMalloc") : 0;
}

static void hip_free(void *device)
{
	const int mode = ignore_captures();

	hip.free(device);
	captures(mode);
}

/* Copies in a stream of its own, as in memory_cuda.c. */
static int copy(void *to, const void *from, size_t bytes, int direction)
{
	const int mode = ignore_captures();
	const char *call = "hipStreamCreateWithFlags";
	void *stream;
	int err = hip.stream_create(&stream, HIP_STREAM_NON_BLOCKING);

	if (!err) {
		call = "hipMemcpyAsync";
		err = hip.copy(to, from, bytes, direction, stream);
		if (!err) {
			call = "hipStreamSynchronize";
			err = hip.stream_wait(stream);
		}
		hip.stream_destroy(stream);
	}
	captures(mode);
	return err ? refused(err, call) : 0;
}

static int hip_put(void *device, const void *from, size_t bytes)
{
	return copy(device, from, bytes, HIP_MEMCPY_HOST_TO_DEVICE);
}

static int hip_get(void *to, const void *device, size_t bytes)
{
	return copy(to, device, bytes, HIP_MEMCPY_DEVICE_TO_HOST);
}

const struct dingo_gda_memory dingo_gda_hip_memory = {
	.name = "hip",
	.open = hip_open,
	.show = hip_show,
	.hide = hip_hide,
	.address = hip_address,
	.alloc = hip_alloc,
	.free = hip_free,
	.put = hip_put,
	.get = hip_get,
};
