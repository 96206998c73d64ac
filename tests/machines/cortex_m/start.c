/* What runs before main on a Cortex-M4: the vector table, the floating-point unit, the data, and
   newlib's semihosting, by which printf reaches the emulator. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern uint32_t data_source[], data_begin[], data_end[], bss_begin[], bss_end[], stack_end[];
extern void initialise_monitor_handles(void);
extern int main(void);
void _init(void);
void _fini(void);
void start(void);

static void fault(void)
{
    _Exit(3);
}

/* What newlib calls before and after main, where C++ has something to do. */
void _init(void)
{
}

void _fini(void)
{
}

void start(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: access to the FPU */
    memcpy(data_begin, data_source, (size_t)((char *)data_end - (char *)data_begin));
    memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
    initialise_monitor_handles();
    exit(main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_end, (void *)start, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};
