/* nbody.py:9: d = position[None, :, :] - position[:, None, :]
   nbody.py:10: r2 = np.sum(d * d, axis=2) + 1e-3
   nbody.py:11: weight = mass[None, :] / (r2 * np.sqrt(r2))
   nbody.py:12: return np.sum(weight[:, :, None] * d, axis=1) */
static void nbody_kernel(const double position[restrict 500][3], const double mass[restrict 500],
                         double out[restrict 500][3], double position_columns[restrict 3][500])
{
    for (int64_t column = 0; column < 3; column++) {
        #pragma omp simd
        for (int64_t row = 0; row < 500; row++)
            position_columns[column][row] = position[row][column];
    }
    #pragma omp parallel for
    for (int64_t i = 0; i < 500; i++) {
        double acc = 0.0;
        double acc2 = 0.0;
        double acc3 = 0.0;
        #pragma omp simd reduction(+:acc, acc2, acc3)
        for (int64_t j = 0; j < 500; j++) {
            const double t = position_columns[0][j] - position[i][0];
            const double t2 = position_columns[1][j] - position[i][1];
            const double t3 = position_columns[2][j] - position[i][2];
            const double r2 = t * t + t2 * t2 + t3 * t3 + 0.001;
            const double weight = mass[j] / (r2 * sqrt(r2));
            acc += weight * t;
            acc2 += weight * t2;
            acc3 += weight * t3;
        }
        out[i][0] = acc;
        out[i][1] = acc2;
        out[i][2] = acc3;
    }
}

size_t nbody_workspace_size(void)
{
    return 12032;
}

const char *nbody_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int nbody(const double *position, const double *mass, double *out, void *workspace)
{
    if (workspace == NULL) {
        return 1;
    }
    double *position_columns = workspace;
    nbody_kernel((const double (*)[3])position, mass, (double (*)[3])out,
            (double (*)[500])position_columns);
    return 0;
}
