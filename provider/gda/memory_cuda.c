// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory access for CUDA devices. The driver's library is loaded when a device is opened. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "memory.h"

/* values and prototypes from cuda.h */
enum {
	CUDA_HOST_REGISTER_PORTABLE = 1,
	CUDA_HOST_REGISTER_DEVICE_MAP = 2,
	CUDA_HOST_REGISTER_READ_ONLY = 8,
	CUDA_STREAM_NON_BLOCKING = 1,
	CUDA_CAPTURE_RELAXED = 2,
};

static struct {
	int (*init)(unsigned int flags);
	int (*device_get)(int *device, int ordinal);
	int (*primary_retain)(void **context, int device);
	int (*get_current)(void **context);
	int (*set_current)(void *context);
	int (*host_register)(void *at, size_t bytes, unsigned int flags);
	int (*host_unregister)(void *at);
	int (*host_address)(uint64_t *device, void *at, unsigned int flags);
	int (*alloc)(uint64_t *device, size_t bytes);
	int (*free)(uint64_t device);
	int (*exchange_capture)(int *mode);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_wait)(void *stream);
	int (*stream_destroy)(void *stream);
	int (*put)(uint64_t device, const void *from, size_t bytes, void *stream);
	int (*get)(void *to, uint64_t device, size_t bytes, void *stream);
	int (*error_name)(int error, const char **name);
} cu;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;

static void load(void)
{
	static const struct {
		const char *name;
		void *to;
	} calls[] = {
		{ "cuInit", &cu.init },
		{ "cuDeviceGet", &cu.device_get },
		{ "cuDevicePrimaryCtxRetain", &cu.primary_retain },
		{ "cuCtxGetCurrent", &cu.get_current },
		{ "cuCtxSetCurrent", &cu.set_current },
		{ "cuMemHostRegister_v2", &cu.host_register },
		{ "cuMemHostUnregister", &cu.host_unregister },
		{ "cuMemHostGetDevicePointer_v2", &cu.host_address },
		{ "cuMemAlloc_v2", &cu.alloc },
		{ "cuMemFree_v2", &cu.free },
		{ "cuThreadExchangeStreamCaptureMode", &cu.exchange_capture },
		{ "cuStreamCreate", &cu.stream_create },
		{ "cuStreamSynchronize", &cu.stream_wait },
		{ "cuStreamDestroy_v2", &cu.stream_destroy },
		{ "cuMemcpyHtoDAsync_v2", &cu.put },
		{ "cuMemcpyDtoHAsync_v2", &cu.get },
		{ "cuGetErrorName", &cu.error_name },
	};
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	size_t i;

	if (!lib) {
		missing = "no CUDA driver on this machine (libcuda.so.1)";
		return;
	}
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		*(void **)calls[i].to = dlsym(lib, calls[i].name);
		if (!*(void **)calls[i].to)
			missing = "libcuda.so.1 is older than CUDA 10.1";
	}
}

static int refused(int error, const char *call)
{
	const char *name = "?";

	cu.error_name(error, &name);
	return dingo_gda_fail(EIO, "%s: %s", call, name);
}

static int cuda_open(int ordinal)
{
	void *context = NULL;
	int device, err;

	pthread_once(&once, load);
	if (missing)
		return dingo_gda_fail(ENODEV, "%s", missing);
	err = cu.init(0);
	if (err)
		return refused(err, "cuInit");
	err = cu.get_current(&context);
	if (!err && context)
		return 0;
	err = cu.device_get(&device, ordinal);
	if (err)
		return refused(err, "cuDeviceGet");
	/* never released, as in the runtime API */
	err = cu.primary_retain(&context, device);
	if (!err)
		err = cu.set_current(context);
	return err ? refused(err, "cuDevicePrimaryCtxRetain") : 0;
}

/* Lets this thread allocate, map and copy while another one captures a stream in global mode.
 * Returns the mode to give back to captures().
 */
static int ignore_captures(void)
{
	int mode = CUDA_CAPTURE_RELAXED;

	cu.exchange_capture(&mode);
	return mode;
}

static void captures(int mode)
{
	cu.exchange_capture(&mode);
}

static int cuda_show(void *at, size_t bytes, bool read_only)
{
	const int mode = ignore_captures();
	int err = cu.host_register(at, bytes, CUDA_HOST_REGISTER_PORTABLE | CUDA_HOST_REGISTER_DEVICE_MAP |
					      (read_only ? CUDA_HOST_REGISTER_READ_ONLY : 0));

	captures(mode);
	return err ? refused(err, "cuMemHostRegister") : 0;
}

static void cuda_hide(void *at)
{
	const int mode = ignore_captures();

	cu.host_unregister(at);
	captures(mode);
}

static int cuda_address(void *at, void **device)
{
	uint64_t address;
	int err = cu.host_address(&address, at, 0);

	*device = (void *)(uintptr_t)address;
	return err ? refused(err, "cuMemHostGetDevicePointer") : 0;
}

static int cuda_alloc(size_t bytes, void **device)
{
	const int mode = ignore_captures();
	uint64_t address = 0;
	int err = cu.alloc(&address, bytes);

	captures(mode);
	*device = (void *)(uintptr_t)address;
	return err ? refused(err, "cuMemAlloc") : 0;
}

static void cuda_free(void *device)
{
	const int mode = ignore_captures();

	cu.free((uintptr_t)device);
	captures(mode);
}

/* Copies in a stream of its own: on the default stream the copy would wait for a kernel there,
 * which may run until the program ends. The stream is not kept, as its context may end. Only one
 * of the addresses is in the device.
 */
static int copy(uint64_t to_device, void *to, uint64_t from_device, const void *from, size_t bytes)
{
	const int mode = ignore_captures();
	const char *call = "cuStreamCreate";
	void *stream;
	int err = cu.stream_create(&stream, CUDA_STREAM_NON_BLOCKING);

	if (!err) {
		call = to_device ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync";
		err = to_device ? cu.put(to_device, from, bytes, stream) : cu.get(to, from_device, bytes, stream);
		if (!err) {
			call = "cuStreamSynchronize";
			err = cu.stream_wait(stream);
		}
		cu.stream_destroy(stream);
	}
	captures(mode);
	return err ? refused(err, call) : 0;
}

static int cuda_put(void *device, const void *from, size_t bytes)
{
	return copy((uintptr_t)device, NULL, 0, from, bytes);
}

static int cuda_get(void *to, const void *device, size_t bytes)
{
	return copy(0, to, (uintptr_t)device, NULL, bytes);
}

const struct dingo_gda_memory dingo_gda_cuda_memory = {
	.name = "cuda",
	.open = cuda_open,
	.show = cuda_show,
	.hide = cuda_hide,
	.address = cuda_address,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.put = cuda_put,
	.get = cuda_get,
};
