/* mandelbrot_step.py:9: w = z * z + c
   mandelbrot_step.py:10: return w, np.abs(w) < 2 */
static void mandelbrot_step_kernel(const double complex z[restrict 1000],
                                   const double complex c[restrict 1000],
                                   double complex w[restrict 1000], bool out_1[restrict 1000])
{
    #pragma omp simd
    for (int64_t i = 0; i < 1000; i++) {
        const double complex w2 = multiply_c128(z[i], z[i]) + c[i];
        w[i] = w2;
        out_1[i] = absolute_c128(w2) < 2.0;
    }
}

size_t mandelbrot_step_workspace_size(void)
{
    return 0;
}

const char *mandelbrot_step_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int mandelbrot_step(const double complex *z, const double complex *c, double complex *w,
                    bool *out_1, void *workspace)
{
    (void)workspace;
    mandelbrot_step_kernel(z, c, w, out_1);
    return 0;
}
