/* Preloaded, it lets the clock of a process differ from that of the file systems, by the seconds that
 * the first 8 bytes of the file $SOAK_CLOCK tell at that moment. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *ahead;

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("SOAK_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *place = file < 0 ? MAP_FAILED : mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    ahead = place == MAP_FAILED ? 0 : place;
    if (file >= 0)
        close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (!status && clock == CLOCK_REALTIME && ahead)
        now->tv_sec += *ahead;
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec fine;
    int status = clock_gettime(CLOCK_REALTIME, &fine);
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return (void)zone, status;
}

time_t time(time_t *also)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return also ? *also = now.tv_sec : now.tv_sec;
}
