/* nbody_parts.py:9: dx = x[None, :] - x[:, None]
   nbody_parts.py:10: dy = y[None, :] - y[:, None]
   nbody_parts.py:11: dz = z[None, :] - z[:, None]
   nbody_parts.py:12: r2 = dx * dx + dy * dy + dz * dz + 1e-3
   nbody_parts.py:13: w = m[None, :] / (r2 * np.sqrt(r2))
   nbody_parts.py:14: return np.sum(w * dx, axis=1), np.sum(w * dy, axis=1), np.sum(w * dz, ax... */
static void nbody_parts_kernel(const double x[restrict 500], const double y[restrict 500],
                               const double z[restrict 500], const double m[restrict 500],
                               double out_0[restrict 500], double out_1[restrict 500],
                               double out_2[restrict 500])
{
    #pragma omp parallel for
    for (int64_t i = 0; i < 500; i++) {
        double acc = 0.0;
        double acc2 = 0.0;
        double acc3 = 0.0;
        #pragma omp simd reduction(+:acc, acc2, acc3)
        for (int64_t j = 0; j < 500; j++) {
            const double dx = x[j] - x[i];
            const double dy = y[j] - y[i];
            const double dz = z[j] - z[i];
            const double r2 = dx * dx + dy * dy + dz * dz + 0.001;
            const double w = m[j] / (r2 * sqrt(r2));
            acc += w * dx;
            acc2 += w * dy;
            acc3 += w * dz;
        }
        out_0[i] = acc;
        out_1[i] = acc2;
        out_2[i] = acc3;
    }
}

size_t nbody_parts_workspace_size(void)
{
    return 0;
}

const char *nbody_parts_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int nbody_parts(const double *x, const double *y, const double *z, const double *m, double *out_0,
                double *out_1, double *out_2, void *workspace)
{
    (void)workspace;
    nbody_parts_kernel(x, y, z, m, out_0, out_1, out_2);
    return 0;
}
