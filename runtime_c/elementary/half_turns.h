/* numpy.remainder(x / pi, 2): argument reduction of huge x for sin, cos and tan in double
   precision. For |x| >= 2^40, x / pi up to a multiple of 2, as an unevaluated sum: the result,
   below 2^36, plus *low plus *lowest.
   Method: M. Payne and R. Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter
   18, 1983. Of 1 / pi only a window of 212 bits matters, chosen by the exponent of x: the bits
   above it give multiples of 2, those below it are negligible. A row of the table holds a window
   (times 2^128, so that nothing underflows) for 32 exponents. No branch, so a loop around it
   vectorises. The error is far below the distance of any double from a multiple of pi/2. */
static inline double half_turns_f64(double x, double *low, double *lowest)
{
    static const double reciprocal_pi[32][4] = {
        {0x1.45f306dc9c883p+126, -0x1.6b01ec5417056p+72,
         -0x1.6447e493ad4cep+18, 0x1.e21c820ff28b2p-36},
        {0x1.45f306dc9c883p+126, -0x1.6b01ec5417056p+72,
         -0x1.6447e493ad4cep+18, 0x1.e21c820ff28b2p-36},
        {0x1.e60db9391054ap+117, 0x1.fc2757d1f534ep+63,
         -0x1.1f924eb53361ep+8, 0x1.c820ff28b1d5fp-48},
        {0x1.1054a7f09d5f4p+85, 0x1.f534ddc0db629p+31,
         0x1.664f10e4107f9p-23, 0x1.163abdebbc562p-77},
        {0x1.09d5f47d4d377p+57, 0x1.b6c52b3278872p-2,
         0x1.07f9458eaf7afp-59, -0x1.d4f246dc8e2dfp-116},
        {0x1.34ddc0db6295ap+23, -0x1.b0ef1bef806bap-31,
         -0x1.c5421443a9e49p-85, 0x1.2371d2126e97p-140},
        {0x1.8a5664f10e41p-11, 0x1.fe5163abdebbcp-65,
         0x1.586dc91b8e909p-119, 0x1.ba5c00c925dd4p-174},
        {0x1.0e4107f9458ebp-43, -0x1.0a21d4f246dc9p-100,
         0x1.d2126e9700325p-156, -0x1.a22bec5cdbc6p-210},
        {0x1.458eaf7aef158p-75, 0x1.b7246e3a424ddp-129,
         0x1.700324977504fp-184, -0x1.cdbc603c429c7p-238},
        {0x1.778ac36e48dc7p-106, 0x1.2126e97003249p-160,
         0x1.dd413a32439fcp-214, 0x1.deb1cb129a73fp-269},
        {0x1.246e3a424dd2ep-137, 0x1.924bba8274648p-199,
         0x1.cfe1deb1cb12ap-253, -0x1.63045df7282b4p-307},
        {0x1.374b801924bbbp-171, -0x1.f62e6de301e21p-225,
         -0x1.38d3b5963045ep-279, 0x1.1afa975da2427p-336},
        {0x1.24bba82746487p-203, 0x1.fc3bd63962535p-258,
         -0x1.822efb9415a29p-314, 0x1.a24274ce38136p-368},
        {0x1.464873f877ac7p-235, 0x1.62534e7dd1047p-290,
         -0x1.0568a25dbd8b3p-344, -0x1.c7eca5d040df6p-400},
        {0x1.0ef58e5894d3ap-264, -0x1.177dca0ad144cp-321,
         0x1.213a671c09ad1p-375, 0x1.f7e413991d63ap-429},
        {0x1.29a73ee88235fp-297, 0x1.4baed1213a672p-351,
         -0x1.fb29741037d8dp-406, 0x1.1d639835339f5p-461},
        {0x1.046bea5d76891p-330, -0x1.8b31c7eca5d04p-384,
         -0x1.bec66e29c67cbp-441, 0x1.9cfa4e422fc5ep-496},
        {0x1.768909d338e05p-362, -0x1.4ba081bec66e3p-417,
         0x1.8e60d4ce7d272p-471, 0x1.17e2ef7e4a0ecp-527},
        {0x1.38e04d68befc8p-394, 0x1.3991d63983534p-449,
         -0x1.82d8dee81d108p-503, -0x1.b5f13801da001p-559},
        {0x1.7df904e64758ep-427, 0x1.835339f49c846p-481,
         -0x1.d1081b5f13802p-539, 0x1.2fffbc0b301fep-594},
        {0x1.23ac7306a673fp-458, -0x1.b1bdd03a21037p-512,
         0x1.0763ff12fffbcp-566, 0x1.6603fbcbc462dp-623},
        {0x1.4ce7d272117e3p-491, -0x1.081b5f13801dap-547,
         -0x1.0fd33f8086877p-612, -0x1.d297d64b824b2p-667},
        {0x1.08bf177bf2507p-522, 0x1.8ffc4bffef02dp-576,
         -0x1.fc04343b9d298p-631, 0x1.4da3eda6cfd9ep-686},
        {0x1.e4a0ec7fe26p-555, -0x1.0fd33f8086877p-612,
         -0x1.d297d64b824b2p-667, -0x1.8130d834f648bp-721},
        {0x1.e25fff7816604p-587, -0x1.0d0ee74a5f593p-645,
         0x1.f6d367ecf27cbp-701, 0x1.36e9e8c7ecd3dp-758},
        {0x1.02cc07f79788cp-616, 0x1.6b414da3eda6dp-670,
         -0x1.30d834f648b0cp-729, 0x1.8fd9a797fa8b6p-783},
        {0x1.2f118b5a0a6d2p-649, -0x1.25930261b069fp-706,
         0x1.b74f463f669e6p-761, -0x1.5d28ad8453814p-821},
        {0x1.05368fb69b3f6p-680, 0x1.e4f96136e9e8cp-734,
         0x1.fb34f2ff516bbp-788, -0x1.b08a7028341d1p-842},
        {0x1.367ecf27cb09bp-713, 0x1.d3d18fd9a798p-767,
         -0x1.5d28ad8453814p-821, -0x1.a0e84c2f8c608p-877},
        {0x1.2c26dd3d18fdap-747, -0x1.61a015d28ad84p-801,
         -0x1.4e050683a130cp-855, 0x1.ce7de294a4baap-911},
        {0x1.18fd9a797fa8bp-779, 0x1.7527bac7ebe5fp-833,
         0x1.7b3d0739f78a5p-889, 0x1.497535fdafd89p-944},
        {0x1.7fa8b5d49eeb2p-811, -0x1.41a0e84c2f8c6p-869,
         -0x1.0eb5ada2b2809p-926, -0x1.0277039517bd5p-980},
    };
    uint64_t row = (bits_f64(x) >> 57) & 31;
    double scaled = x * 0x1p-128;
    double first = reciprocal_pi[row][0];
    double second = reciprocal_pi[row][1];
    double third = reciprocal_pi[row][2];
    // leading product: an even integer except for small x, where it is reduced modulo 2
    double product = scaled * first;
    double part = fma(rint(product * 0.5), -2.0, product);
    double product_error = fma(scaled, first, -product);
    double middle = scaled * second;
    double middle_error = fma(scaled, second, -middle);
    double tail = scaled * third;
    double tail_error = fma(scaled, third, -tail);
    double sum = product_error + middle;
    double sum_error = two_sum_error_f64(product_error, middle, sum);
    double errors = middle_error + tail;
    double rest = two_sum_error_f64(middle_error, tail, errors);
    *low = sum_error + errors;
    rest += two_sum_error_f64(sum_error, errors, *low);
    double turns = part + sum;
    rest += two_sum_error_f64(part, sum, turns);
    *lowest = fma(scaled, reciprocal_pi[row][3], rest + tail_error);
    return turns;
}

/* The rounding error of sum = a + b: the two-sum of Knuth (The Art of Computer Programming, volume
   2, section 4.2.2). */
static inline float two_sum_error_f32(float a, float b, float sum)
{
    float kept = sum - a;
    return (a - (sum - kept)) + (b - kept);
}

static inline double two_sum_error_f64(double a, double b, double sum)
{
    double kept = sum - a;
    return (a - (sum - kept)) + (b - kept);
}
