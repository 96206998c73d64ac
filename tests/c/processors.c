/* `processors ROOT` prints the processors that the control groups under ROOT pay for. */

#define _GNU_SOURCE
#include "processors.h"

int main(int count, char **words)
{
    (void)setting;
    printf("%d\n", processors_paid(count > 1 ? words[1] : ""));
    return processors_usable("") < 1;
}
