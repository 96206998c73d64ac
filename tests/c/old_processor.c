/* Loads a library and calls wave(8, ...) on a processor that seems to have neither AVX2 nor FMA: Linux
   lets CPUID fault, and the handler answers it. Ends with 77 where that cannot be done. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SET_CPUID 0x1012 /* of arch_prctl: 1 allows the instruction, 0 lets it fault */
#define AVX2 (1U << 5)   /* of EBX, leaf 7 */
#define FMA (1U << 12)   /* of ECX, leaf 1 */

static void answer(int number, siginfo_t *information, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    (void)number, (void)information;
    if (code[0] != 0x0f || code[1] != 0xa2)
        _exit(1);
    syscall(SYS_arch_prctl, SET_CPUID, 1UL);
    const uint32_t leaf = (uint32_t)registers[REG_RAX], part = (uint32_t)registers[REG_RCX];
    uint32_t a, b, c, d;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(leaf), "2"(part));
    registers[REG_RAX] = a;
    registers[REG_RBX] = leaf == 7 && part == 0 ? b & ~AVX2 : b;
    registers[REG_RCX] = leaf == 1 ? c & ~FMA : c;
    registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
    syscall(SYS_arch_prctl, SET_CPUID, 0UL);
}

int main(int count, char **words)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, NULL);
    if (count != 2 || syscall(SYS_arch_prctl, SET_CPUID, 0UL) != 0)
        return 77;
    void *library = dlopen(words[1], RTLD_NOW);
    if (library == NULL)
        return 1;
    int (*wave)(int64_t, const double *, double *, void *);
    const char *(*error)(int);
    *(void **)&wave = dlsym(library, "wave");
    *(void **)&error = dlsym(library, "wave_error");
    const double x[8] = {0};
    double out[8], workspace[512];
    const int code = wave(8, x, out, workspace);
    printf("%d: %s", code, error(code));
    return 0;
}
