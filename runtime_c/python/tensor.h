/* A tensor as the specification of DLPack has it, in all versions from 0.6 to 1.1:
   https://dmlc.github.io/dlpack/latest/c_api.html. After dlpack.h it is the type of that. */
#ifndef TRANSPILE_TENSOR
#define TRANSPILE_TENSOR

#ifdef DLPACK_DLPACK_H_
typedef DLTensor transpile_tensor;
#else
typedef struct {
    void *data;
    struct {
        int32_t device_type; /* 1: the CPU, 3: memory of the CPU that CUDA has pinned */
        int32_t device_id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code; /* 0: int, 1: unsigned, 2: float, 4: bfloat, 5: complex, 6: bool */
        uint8_t bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: in row-major order */
    uint64_t byte_offset;
} transpile_tensor;
#endif

#endif
