/* Calls the model of forecast.mlir: prints its output after each of eight temperatures. */
#include <stdio.h>
#include <stdlib.h>
#include "forecast.h"

static const float weights[4][4] = {
    {0.5f, -0.2f, 0.1f, 0.0f}, {0.3f, 0.4f, -0.1f, 0.2f},
    {0.0f, 0.1f, 0.6f, -0.3f}, {-0.2f, 0.0f, 0.2f, 0.5f}};
static const float bias[4] = {0.1f, 0.2f, -0.1f, 0.05f};
static const float readout[4] = {1.0f, -0.5f, 0.25f, 2.0f};

int main(void)
{
    float temperatures[8], out[8];
    for (int day = 0; day < 8; day++)
        temperatures[day] = 10.0f + (float)day;
    void *workspace = malloc(forecast_workspace_size() + 1);
    int code = forecast(weights[0], bias, readout, temperatures, out, workspace);
    for (int day = 0; day < 8; day++)
        printf("%.9g\n", (double)out[day]);
    free(workspace);
    return code;
}
