/* Tensors of DLPack. */

/* The first element of a tensor. */
static inline void *tensor_data(const transpile_tensor *tensor)
{
    return tensor->data == NULL ? NULL : (char *)tensor->data + tensor->byte_offset;
}

/* What is wrong with a tensor: 0 nothing, 1 there is none, or its dtype, 2 its device, 3 the number
   of its axes, 4 its alignment in bytes, 5 it has no data though it has elements. */
static inline int tensor_fault(const transpile_tensor *tensor, int code, int bits, uint64_t alignment, int rank)
{
    if (tensor == NULL || tensor->dtype.code != code || tensor->dtype.bits != bits || tensor->dtype.lanes != 1) {
        return 1;
    }
    if (tensor->device.device_type != 1 && tensor->device.device_type != 3) {
        return 2;
    }
    if (tensor->ndim != rank || (rank > 0 && tensor->shape == NULL)) {
        return 3;
    }
    if (tensor->data == NULL) {
        bool is_empty = false;
        for (int k = 0; k < rank; k++) {
            is_empty |= tensor->shape[k] == 0;
        }
        return is_empty ? 0 : 5;
    }
    return (uint64_t)(uintptr_t)tensor_data(tensor) % alignment == 0 ? 0 : 4;
}

/* True if a tensor has this shape. */
static inline bool tensor_has_shape(const transpile_tensor *tensor, int rank, const int64_t *shape)
{
    for (int k = 0; k < rank; k++) {
        if (tensor->shape[k] != shape[k]) {
            return false;
        }
    }
    return true;
}
