/* cuBLASLt's products with a meaning on the CPU: a kernel of one thread, whose accesses are seen like
   any other's. What the library refuses is refused: types that do not go together, leading distances
   below the rows, sizes that do not match, an algorithm that was chosen for something else, operands
   that are less aligned than was said, too small a workspace. Compiled behind `cuda_on_cpu.h`, or
   `runtime_on_cpu.h`. */
#include <cmath>
#include <complex>
#include <cstdlib>

namespace {

enum { success = 0, invalid_value = 7, not_supported = 15 };
enum { f32 = 0, f64 = 1, f16 = 2, c64 = 4, c128 = 5, bf16 = 14 };
enum { sums_f32 = 68, sums_f64 = 70, sums_tf32 = 77 };
constexpr size_t ROOM = 4096; /* of the workspace that an algorithm uses */

struct Product {
    int sums, scale, transposed[2];
};
struct Layout {
    int type;
    uint64_t rows, columns;
    int64_t leading, next;
    int count;
};
struct Preference {
    uint64_t room;
    uint32_t alignments[4];
};
struct Choice { /* what an algorithm was chosen for */
    Product product;
    Layout a, b, c, d;
    uint32_t alignments[4];
};
struct Algorithm {
    const Choice *choice; /* never freed: programs keep algorithms by value */
    uint64_t unused[7];
};
struct Result {
    Algorithm algorithm;
    size_t room;
    int state;
    float waves;
    int reserved[4];
};

uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

using Number = std::complex<double>;

Number read(const char *data, int type, int64_t at)
{
    switch (type) {
    case f32: return ((const float *)data)[at];
    case f64: return ((const double *)data)[at];
    case f16: return cuda_on_cpu_f16(((const uint16_t *)data)[at]);
    case bf16: return cuda_on_cpu_bf16(((const uint16_t *)data)[at]);
    case c64: return {((const float *)data)[2 * at], ((const float *)data)[2 * at + 1]};
    default: return {((const double *)data)[2 * at], ((const double *)data)[2 * at + 1]};
    }
}

void write(char *data, int type, int64_t at, Number value)
{
    const float single = (float)value.real();
    switch (type) {
    case f32: ((float *)data)[at] = single; break;
    case f64: ((double *)data)[at] = value.real(); break;
    case f16: {
        const _Float16 half = (_Float16)single;
        uint16_t bits;
        memcpy(&bits, &half, 2);
        ((uint16_t *)data)[at] = bits;
        break;
    }
    case bf16: { /* to nearest, ties to even */
        const uint32_t bits = bits_of(single);
        ((uint16_t *)data)[at] = std::isnan(single) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        break;
    }
    case c64:
        ((float *)data)[2 * at] = single;
        ((float *)data)[2 * at + 1] = (float)value.imag();
        break;
    default:
        ((double *)data)[2 * at] = value.real();
        ((double *)data)[2 * at + 1] = value.imag();
    }
}

/* A float with the ten bits of mantissa that tensor cores read. */
double as_tf32(double x)
{
    return float_of((bits_of((float)x) + 0x1000) & 0xffffe000);
}

uint64_t after(const Layout &x, bool transposed) { return transposed ? x.columns : x.rows; }
uint64_t across(const Layout &x, bool transposed) { return transposed ? x.rows : x.columns; }

bool is_known(const Choice &p)
{
    const int in = p.a.type, out = p.d.type, sums = p.product.sums, scale = p.product.scale;
    if (p.b.type != in || p.c.type != out)
        return false;
    switch (in) {
    case f32: return out == f32 && (sums == sums_f32 || sums == sums_tf32) && scale == f32;
    case f64: return out == f64 && sums == sums_f64 && scale == f64;
    case c64: return out == c64 && (sums == sums_f32 || sums == sums_tf32) && scale == c64;
    case c128: return out == c128 && sums == sums_f64 && scale == c128;
    case f16:
    case bf16: return (out == in || out == f32) && sums == sums_f32 && scale == f32;
    default: return false;
    }
}

bool is_product(const Choice &p)
{
    const bool left = p.product.transposed[0], right = p.product.transposed[1];
    for (const Layout *x : {&p.a, &p.b, &p.c, &p.d})
        if (x->leading < (int64_t)x->rows || x->count != p.d.count || x->rows == 0 || x->columns == 0)
            return false;
    return after(p.a, left) == p.d.rows && across(p.b, right) == p.d.columns
           && across(p.a, left) == after(p.b, right) && p.c.rows == p.d.rows
           && p.c.columns == p.d.columns && p.c.leading == p.d.leading;
}

void multiply(Choice p, const char *a, const char *b, char *d, char *workspace)
{
    for (size_t k = 0; k < ROOM; k++)
        workspace[k] = (char)0xCD;
    const bool left = p.product.transposed[0], right = p.product.transposed[1];
    const bool is_short = p.product.sums == sums_tf32;
    const auto at = [](const Layout &x, uint64_t row, uint64_t column) {
        return (int64_t)row + (int64_t)column * x.leading;
    };
    for (int which = 0; which < p.d.count; which++)
        for (uint64_t j = 0; j < p.d.columns; j++)
            for (uint64_t i = 0; i < p.d.rows; i++) {
                Number sum = 0;
                for (uint64_t k = 0; k < across(p.a, left); k++) {
                    const int64_t of_a = left ? at(p.a, k, i) : at(p.a, i, k);
                    const int64_t of_b = right ? at(p.b, j, k) : at(p.b, k, j);
                    Number x = read(a, p.a.type, which * p.a.next + of_a);
                    Number y = read(b, p.b.type, which * p.b.next + of_b);
                    if (is_short) {
                        x = {as_tf32(x.real()), as_tf32(x.imag())};
                        y = {as_tf32(y.real()), as_tf32(y.imag())};
                    }
                    sum += x * y;
                }
                write(d, p.d.type, which * p.d.next + at(p.d, i, j), sum);
            }
}

} // namespace

extern "C" {

int cublasLtCreate(void **handle)
{
    *handle = malloc(1);
    return success;
}

int cublasLtDestroy(void *handle)
{
    free(handle);
    return success;
}

int cublasLtMatmulDescCreate(Product **product, int sums, int scale)
{
    *product = new Product{sums, scale, {0, 0}};
    return success;
}

int cublasLtMatmulDescSetAttribute(Product *product, int attribute, const void *value, size_t size)
{
    if ((attribute != 3 && attribute != 4) || size != 4)
        return invalid_value;
    memcpy(&product->transposed[attribute - 3], value, size);
    return success;
}

int cublasLtMatmulDescDestroy(Product *product)
{
    delete product;
    return success;
}

int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows, uint64_t columns, int64_t leading)
{
    *layout = new Layout{type, rows, columns, leading, 0, 1};
    return success;
}

int cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute, const void *value, size_t size)
{
    if (!(attribute == 5 && size == 4) && !(attribute == 6 && size == 8))
        return invalid_value;
    memcpy(attribute == 5 ? (void *)&layout->count : &layout->next, value, size);
    return success;
}

int cublasLtMatrixLayoutDestroy(Layout *layout)
{
    delete layout;
    return success;
}

int cublasLtMatmulPreferenceCreate(Preference **preference)
{
    *preference = new Preference{0, {256, 256, 256, 256}};
    return success;
}

int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute, const void *value, size_t size)
{
    if (attribute == 1 && size == 8)
        memcpy(&preference->room, value, size);
    else if (attribute >= 5 && attribute <= 8 && size == 4)
        memcpy(&preference->alignments[attribute - 5], value, size);
    else
        return invalid_value;
    return success;
}

int cublasLtMatmulPreferenceDestroy(Preference *preference)
{
    delete preference;
    return success;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, Product *product, Layout *a, Layout *b, Layout *c,
                                   Layout *d, Preference *preference, int wanted, Result *results,
                                   int *count)
{
    *count = 0;
    if (handle == nullptr || wanted < 1)
        return invalid_value;
    Choice choice = {*product, *a, *b, *c, *d, {}};
    memcpy(choice.alignments, preference->alignments, sizeof choice.alignments);
    if (!is_known(choice) || !is_product(choice) || preference->room < ROOM)
        return not_supported;
    *count = 1;
    results[0].algorithm = {new Choice(choice), {}};
    results[0].room = ROOM;
    return success;
}

int cublasLtMatmul(void *handle, Product *product, const void *, const void *a, Layout *of_a,
                   const void *b, Layout *of_b, const void *, const void *c, Layout *of_c, void *d,
                   Layout *of_d, const Algorithm *algorithm, void *workspace, size_t room,
                   cudaStream_t stream)
{
    const Choice *p = algorithm->choice;
    const auto same = [](const Layout &x, const Layout &y) {
        return x.type == y.type && x.rows == y.rows && x.columns == y.columns
               && x.leading == y.leading && x.next == y.next && x.count == y.count;
    };
    if (handle == nullptr || memcmp(product, &p->product, sizeof *product) != 0 || !same(*of_a, p->a)
        || !same(*of_b, p->b) || !same(*of_c, p->c) || !same(*of_d, p->d) || c != d || room < ROOM)
        return invalid_value;
    const void *const pointers[] = {a, b, c, d};
    for (int k = 0; k < 4; k++)
        if ((uintptr_t)pointers[k] % p->alignments[k] != 0)
            return invalid_value;
    LAUNCH(multiply, 1, 1, stream)(*p, (const char *)a, (const char *)b, (char *)d, (char *)workspace);
    return cudaPeekAtLastError() == cudaSuccess ? success : 14;
}
}
