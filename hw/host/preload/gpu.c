/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pins.h"
#include "say.h"
#include "sys.h"

/* Constants of cuda.h: CUresult, CUpointer_attribute, CUmemorytype, CUmemAllocationHandleType. */
#define CU_SUCCESS 0
#define CU_NOT_SUPPORTED 801
#define CU_POINTER_ATTRIBUTE_CONTEXT 1
#define CU_POINTER_ATTRIBUTE_MEMORY_TYPE 2
#define CU_POINTER_ATTRIBUTE_IS_MANAGED 8
#define CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL 9
#define CU_MEMORYTYPE_DEVICE 2
#define CU_MEM_HANDLE_TYPE_POSIX_FD 1

#define PAGE 4096ULL
#define MOST_NEIGHBOURS 4096 /* allocations checked on each side of a region of a DMABuf */

struct cu_ipc_handle {
    uint8_t bytes[64];
};

static struct {
    int (*attribute)(void* data, int attribute, uint64_t pointer);
    int (*range)(uint64_t* base, size_t* bytes, uint64_t pointer);
    int (*device)(int* device, int ordinal);
    int (*uuid)(void* uuid, int device);
    int (*current_device)(int* device);
    int (*push)(void* context);
    int (*pop)(void** context);
    int (*retain_context)(void** context, int device);
    int (*release_context)(int device);
    int (*ipc)(struct cu_ipc_handle* handle, uint64_t pointer);
    int (*retain)(uint64_t* handle, void* pointer);
    int (*export)(void* handle, uint64_t allocation, int type, uint64_t flags);
    int (*release)(uint64_t handle);
} cu;

static bool look_up(void* library, const char* name, void* function) {
    void* found = dlsym(library, name);

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

/* Returns true if the application has loaded CUDA. Concurrent calls find the same functions. */
static bool have_cuda(void) {
    static atomic_int state; /* 1: loaded; -1: loaded, but a function is missing */
    void* library;
    bool all;

    if (state != 0 || !dingo_pins_possible()) {
        return state > 0;
    }
    library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        return false;
    }
    all = look_up(library, "cuPointerGetAttribute", &cu.attribute) &&
          look_up(library, "cuMemGetAddressRange_v2", &cu.range) &&
          look_up(library, "cuDeviceGet", &cu.device) &&
          look_up(library, "cuDeviceGetUuid_v2", &cu.uuid) &&
          look_up(library, "cuCtxGetDevice", &cu.current_device) &&
          look_up(library, "cuCtxPushCurrent_v2", &cu.push) &&
          look_up(library, "cuCtxPopCurrent_v2", &cu.pop) &&
          look_up(library, "cuDevicePrimaryCtxRetain", &cu.retain_context) &&
          look_up(library, "cuDevicePrimaryCtxRelease_v2", &cu.release_context) &&
          look_up(library, "cuIpcGetMemHandle", &cu.ipc) &&
          look_up(library, "cuMemRetainAllocationHandle", &cu.retain) &&
          look_up(library, "cuMemExportToShareableHandle", &cu.export) &&
          look_up(library, "cuMemRelease", &cu.release);
    atomic_store(&state, all ? 1 : -1);
    return all;
}

static enum dingo_gpu_answer secret(const char* why) {
    DINGO_SAY_ONCE("%s", why);
    return DINGO_GPU_SECRET;
}

void dingo_gpu_say_refused(long error) {
    DINGO_SAY_ONCE("the card cannot use this GPU's memory: %s; the card's log says why",
                   strerror((int)-error));
}

/* Gets the UUID of the GPU that holds the address. */
static bool find_uuid(uint64_t va, uint8_t* uuid) {
    int ordinal = -1;
    int device = 0;

    return cu.attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, va) == CU_SUCCESS &&
           cu.device(&device, ordinal) == CU_SUCCESS && cu.uuid(uuid, device) == CU_SUCCESS;
}

/* The context in which this thread asks about memory. */
struct visit {
    bool pushed;
    bool retained; /* the primary context of `device` */
    int device;
};

/* Makes the context of the memory at `va` current. Memory of cuMemCreate() has none: then the
 * thread's context serves if it is one of the same GPU, else the GPU's primary context. */
static struct visit enter_context(uint64_t va) {
    struct visit visit = {false, false, 0};
    void* context = NULL;
    int ordinal = -1;
    int device = -1;

    if (cu.attribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, va) != CU_SUCCESS || !context) {
        if (cu.attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, va) != CU_SUCCESS ||
            cu.device(&visit.device, ordinal) != CU_SUCCESS ||
            (cu.current_device(&device) == CU_SUCCESS && device == visit.device) ||
            cu.retain_context(&context, visit.device) != CU_SUCCESS) {
            return visit;
        }
        visit.retained = true;
    }
    visit.pushed = cu.push(context) == CU_SUCCESS;
    return visit;
}

static void leave_context(struct visit visit) {
    void* context;

    if (visit.pushed) {
        (void)cu.pop(&context);
    }
    if (visit.retained) {
        (void)cu.release_context(visit.device);
    }
}

/* Exports memory of cuMemAlloc as an IPC handle. Returns the driver's CUresult. */
static int export_ipc(uint64_t base, struct dingo_uverbs_gpu* handle) {
    struct cu_ipc_handle ipc;
    int result = cu.ipc(&ipc, base);

    if (result == CU_SUCCESS) {
        handle->kind = DINGO_UVERBS_GPU_IPC;
        memcpy(handle->ipc_handle, ipc.bytes, sizeof(handle->ipc_handle));
    }
    return result;
}

void dingo_gpu_close(struct dingo_gpu_memory* memory) {
    while (memory->num_fds > 0) {
        dingo_sys_close(memory->fds[--memory->num_fds]);
    }
}

/* Exports memory of cuMemCreate that is mapped at `base` as a further descriptor. */
static bool export_descriptor(uint64_t base, struct dingo_gpu_memory* memory) {
    uint64_t allocation = 0;
    int result;

    if (cu.retain(&allocation, (void*)(uintptr_t)base) != CU_SUCCESS) {
        return false;
    }
    result = cu.export(&memory->fds[memory->num_fds], allocation, CU_MEM_HANDLE_TYPE_POSIX_FD, 0);
    (void)cu.release(allocation);
    if (result != CU_SUCCESS) {
        return false;
    }
    memory->num_fds++;
    memory->handle.kind = DINGO_UVERBS_GPU_DESCRIPTOR;
    return true;
}

/* Returns true if the address is in memory of cuMemCreate(). */
static bool is_made_by_create(uint64_t va) {
    uint64_t allocation = 0;
    bool made = cu.retain(&allocation, (void*)(uintptr_t)va) == CU_SUCCESS;

    if (made) {
        (void)cu.release(allocation);
    }
    return made;
}

/* Finds the allocation that contains the address. */
static bool find_range(uint64_t va, uint64_t* base, uint64_t* bytes) {
    size_t size = 0;
    bool found = cu.range(base, &size, va) == CU_SUCCESS && *base <= va && va - *base < size;

    *bytes = size;
    return found;
}

/* Exports the adjacent allocations of cuMemCreate from `base` to `end`, all on one GPU, as
 * PyTorch's expandable segments are. */
static enum dingo_gpu_answer find_pieces(uint64_t base, uint64_t end,
                                         struct dingo_gpu_memory* memory) {
    struct dingo_uverbs_gpu* handle = &memory->handle;
    uint64_t at = base;
    uint8_t uuid[sizeof(handle->uuid)];

    while (at < end) {
        uint64_t start;
        uint64_t bytes;

        if (handle->num_pieces == DINGO_UVERBS_MAX_PIECES) {
            return secret(
                "a region of GPU memory spans more than 252 allocations: register it in parts");
        }
        if (!find_range(at, &start, &bytes) || start != at || !find_uuid(at, uuid) ||
            memcmp(uuid, handle->uuid, sizeof(uuid)) != 0) {
            if (end - at < DINGO_UVERBS_GPU_PAGE) {
                break; /* `end` was rounded up to a page */
            }
            return secret(
                "a region of GPU memory extends beyond the memory that is allocated there");
        }
        if (!export_descriptor(at, memory)) {
            return secret(
                "a region of GPU memory spans several allocations, and not all are from "
                "cuMemCreate with POSIX descriptors: register each allocation separately");
        }
        memory->pieces[handle->num_pieces++] = bytes;
        handle->size += bytes;
        at += bytes;
    }
    return DINGO_GPU_FOUND;
}

/* Exports a single allocation of any kind. */
static enum dingo_gpu_answer find_whole(uint64_t base, uint64_t bytes,
                                        struct dingo_gpu_memory* memory) {
    int ipc = export_ipc(base, &memory->handle);

    memory->handle.size = bytes;
    if (ipc != CU_SUCCESS && !export_descriptor(base, memory)) {
        return secret(ipc == CU_NOT_SUPPORTED
                          ? "this GPU has no CUDA IPC (MIG, a virtual GPU), so no card can open "
                            "memory from cudaMalloc; register memory from cuMemCreate with POSIX "
                            "descriptors, or host memory"
                          : "the CUDA driver cannot share this GPU memory with another process: "
                            "register memory from cudaMalloc, not from cudaMallocAsync, or from "
                            "cuMemCreate with POSIX descriptors");
    }
    return DINGO_GPU_FOUND;
}

/* Returns true if the address is memory of a GPU. Needs no context. */
static bool is_on_gpu(uint64_t va) {
    uint32_t type = 0;
    uint32_t managed = 0;

    if (!have_cuda() || cu.attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, va) != CU_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE) {
        return false;
    }
    /* managed memory is accessible by the CPU, so the card accesses it as host memory */
    return cu.attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, va) != CU_SUCCESS || !managed;
}

/* As dingo_gpu_find(), in a context. */
static enum dingo_gpu_answer find_in_context(uint64_t va, uint64_t length,
                                             struct dingo_gpu_memory* memory) {
    enum dingo_gpu_answer answer;
    uint64_t base = 0;
    uint64_t bytes = 0;

    if (!find_range(va, &base, &bytes)) {
        return secret("the CUDA driver does not say to which allocation the GPU memory belongs");
    }
    if (!find_uuid(va, memory->handle.uuid)) {
        return secret("the CUDA driver does not say which GPU holds the memory");
    }
    memory->handle.offset = va - base;
    if (length <= bytes - (va - base)) {
        answer = find_whole(base, bytes, memory);
    } else if (length <= UINT64_MAX - va && is_made_by_create(base)) {
        answer = find_pieces(base, va + length, memory);
    } else if (length < bytes - (va - base) + DINGO_UVERBS_GPU_PAGE) {
        answer = find_whole(base, bytes, memory); /* the length was rounded up to a page */
    } else {
        answer =
            secret("a region of GPU memory spans several allocations: register each separately");
    }
    if (answer != DINGO_GPU_FOUND) {
        dingo_gpu_close(memory);
    }
    return answer;
}

enum dingo_gpu_answer dingo_gpu_find(uint64_t va, uint64_t length,
                                     struct dingo_gpu_memory* memory) {
    enum dingo_gpu_answer answer;
    struct visit visit;

    memset(&memory->handle, 0, sizeof(memory->handle));
    memory->num_fds = 0;
    if (!is_on_gpu(va)) {
        return DINGO_GPU_NONE;
    }
    visit = enter_context(va);
    answer = find_in_context(va, length, memory);
    leave_context(visit);
    return answer;
}

/* Returns true if the descriptor's fdinfo names an exporter other than NVIDIA's nv_dmabuf. */
static bool is_of_another(int fd) {
    const char* key = "exp_name:";
    char path[64];
    char text[1024];
    const char* at;
    long bytes;
    int info;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    info = dingo_sys_open(path, O_RDONLY | O_CLOEXEC);
    if (info < 0) {
        return false;
    }
    bytes = DINGO_SYS(SYS_read, info, text, sizeof(text) - 1);
    dingo_sys_close(info);
    text[bytes > 0 ? bytes : 0] = 0;
    at = strstr(text, key);
    if (!at) {
        return false;
    }
    at += strlen(key);
    at += strspn(at, " \t");
    return strncmp(at, "nv_dmabuf", strlen("nv_dmabuf")) != 0;
}

/* Returns true if the `before` bytes before the address and the `behind` bytes from it on are
 * allocated without a gap, up to a page. */
static bool is_allocated(uint64_t va, uint64_t before, uint64_t behind) {
    uint64_t first = before <= va ? va - before : 0;
    uint64_t start;
    uint64_t end;
    uint64_t bytes;

    if (behind > UINT64_MAX - va - PAGE || !find_range(va, &start, &bytes)) {
        return false;
    }
    end = start + bytes;
    for (int i = 0; i < MOST_NEIGHBOURS && start >= first + PAGE; i++) {
        uint64_t at = start - 1;

        if (!find_range(at, &start, &bytes) || bytes != at + 1 - start) {
            return false;
        }
    }
    for (int i = 0; i < MOST_NEIGHBOURS && end + PAGE <= va + behind; i++) {
        uint64_t at = end;

        if (!find_range(at, &start, &bytes) || start != at) {
            return false;
        }
        end = at + bytes;
    }
    return true;
}

enum dingo_gpu_answer dingo_gpu_find_dmabuf(int fd, uint64_t offset, uint64_t va, uint64_t length,
                                            struct dingo_gpu_memory* memory) {
    enum dingo_gpu_answer answer = DINGO_GPU_NONE;
    struct visit visit;
    bool whole;
    long size;

    if (!have_cuda() || is_of_another(fd)) {
        return DINGO_GPU_NONE;
    }
    size = DINGO_SYS(SYS_lseek, fd, 0, SEEK_END);
    if (size > 0 && offset <= (uint64_t)size && length <= (uint64_t)size - offset) {
        answer = dingo_gpu_find(va, length, memory);
    }
    if (answer != DINGO_GPU_FOUND) {
        return answer;
    }
    /*
     * The descriptor does not say which memory it is. Require that as much memory as the descriptor
     * has before and after the region is allocated on the GPU, up to a page.
     */
    visit = enter_context(va);
    whole = is_allocated(va, offset, (uint64_t)size - offset);
    leave_context(visit);
    if (!whole) {
        dingo_gpu_close(memory);
        return DINGO_GPU_NONE;
    }
    return DINGO_GPU_FOUND;
}
