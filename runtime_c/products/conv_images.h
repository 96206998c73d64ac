/* Convolutions of neural networks, an image at a time on one thread, so that an epilogue finds the
   result in its cache. The plan is one for conv_planes, and the results are the same to the bit. */

/* What all images share: the offsets of the terms, in the operand and in the weights, and the
   packed weights. */
static inline void conv_planes_panels_F(const int64_t *plan, const F *w, int64_t *offsets,
                                        F *panels)
{
    int64_t terms = conv_terms(plan);
    conv_offsets(plan, plan + CONV_X_TAPS, plan[CONV_COPY + 2], 0, terms, offsets);
    conv_offsets(plan, plan + CONV_W_TAPS, plan[CONV_WEIGHTS + 2], 0, terms, offsets + terms);
    for (int64_t g = 0; g < plan[CONV_GROUPS]; g++) {
        for (int64_t i = 0; i < plan[CONV_FEATURES]; i += MATMUL_ROWS) {
            conv_planes_panel_F(plan, g, i, w, offsets + terms, panels);
        }
    }
}

/* The convolution of one image. `copy` has room for the copy and for what a band reads beyond it.
   */
static inline void conv_planes_image_F(const int64_t *plan, const F *x, const int64_t *offsets,
                                       const F *panels, F *out, F *copy)
{
    const int64_t *from = plan + CONV_FROM, *copied = plan + CONV_COPY;
    const int64_t last = conv_planes_last(plan), across = CONV_ACROSS * MATMUL_COLUMNS_F;
    for (int64_t g = 0; g < plan[CONV_GROUPS]; g++) {
        for (int64_t c = 0; c < plan[CONV_CHANNELS]; c++) {
            conv_copy_plane_F(plan, x + g * from[1] + c * from[2],
                              copy + g * copied[1] + c * copied[2]);
        }
        for (int64_t band = 0; band * across < last; band++) {
            for (int64_t i = 0; i < plan[CONV_FEATURES]; i += MATMUL_ROWS) {
                conv_planes_band_F(plan, g, band, i, offsets, panels, copy, out);
            }
        }
    }
}
