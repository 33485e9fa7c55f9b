/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures of DLPack, version 0 (https://dmlc.github.io/dlpack), that describe a tensor in
 * memory. PyTorch, numpy and others import them without a copy.
 */
#ifndef DLRM_DLPACK_H
#define DLRM_DLPACK_H

#include <stdint.h>

enum dlpack_device_type { DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_ROCM = 10 };
enum dlpack_type_code { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2 };

struct dlpack_device {
    int32_t type; /* enum dlpack_device_type */
    int32_t id;
};

struct dlpack_type {
    uint8_t code; /* enum dlpack_type_code */
    uint8_t bits;
    uint16_t lanes;
};

struct dlpack_tensor {
    void* data;
    struct dlpack_device device;
    int32_t ndim;
    struct dlpack_type type;
    int64_t* shape;
    int64_t* strides; /* in elements */
    uint64_t byte_offset;
};

/* The consumer calls the deleter once, when it no longer uses the tensor. */
struct dlpack_managed {
    struct dlpack_tensor tensor;
    void* context;
    void (*deleter)(struct dlpack_managed* self);
};

#endif
