/* Prints a number, or the elements of an array in row-major order, in brackets. */
static inline void print_values_F(const F *x, size_t size, bool is_array)
{
    printf("%s", is_array ? "[" : "");
    for (size_t k = 0; k < size; k++) {
        printf("%s%.8g", k > 0 ? " " : "", (double)x[k]);
    }
    printf("%s", is_array ? "]" : "");
}

static inline void print_values_S(const S *x, size_t size, bool is_array)
{
    printf("%s", is_array ? "[" : "");
    for (size_t k = 0; k < size; k++) {
        printf("%s%lld", k > 0 ? " " : "", (long long)x[k]);
    }
    printf("%s", is_array ? "]" : "");
}

static inline void print_values_U(const U *x, size_t size, bool is_array)
{
    printf("%s", is_array ? "[" : "");
    for (size_t k = 0; k < size; k++) {
        printf("%s%llu", k > 0 ? " " : "", (unsigned long long)x[k]);
    }
    printf("%s", is_array ? "]" : "");
}

static inline void print_values_C(const C *x, size_t size, bool is_array)
{
    printf("%s", is_array ? "[" : "");
    for (size_t k = 0; k < size; k++) {
        printf("%s%.8g%+.8gj", k > 0 ? " " : "", (double)real_C(x[k]), (double)imag_C(x[k]));
    }
    printf("%s", is_array ? "]" : "");
}

static inline void print_values_bool(const bool *x, size_t size, bool is_array)
{
    printf("%s", is_array ? "[" : "");
    for (size_t k = 0; k < size; k++) {
        printf("%s%s", k > 0 ? " " : "", x[k] ? "True" : "False");
    }
    printf("%s", is_array ? "]" : "");
}

static inline void print_values_f16(const uint16_t *x, size_t size, bool is_array)
{
    printf("%s", is_array ? "[" : "");
    for (size_t k = 0; k < size; k++) {
        printf("%s%.4g", k > 0 ? " " : "", (double)convert_f16_f32(x[k]));
    }
    printf("%s", is_array ? "]" : "");
}

static inline void print_values_bf16(const uint16_t *x, size_t size, bool is_array)
{
    printf("%s", is_array ? "[" : "");
    for (size_t k = 0; k < size; k++) {
        printf("%s%.4g", k > 0 ? " " : "", (double)convert_bf16_f32(x[k]));
    }
    printf("%s", is_array ? "]" : "");
}
