/* How a program that runs on several devices, one call of it on each, exchanges values with the
   others. Whoever runs the devices has a communicator for each: of threads, or of processes.

   All functions return 0, or another number where the exchange has failed, which ends the program.
   `members` are the `size` devices that exchange, this one among them, in the order in which their
   values stand; each of them makes the same call. `x` is read and `out` written; they do not
   overlap, and are the caller's again when a function returns.

   begin      a run of a program for so many devices begins, whose text is the same on all of them: its
              function, types and a digest. It is compared where they exchange, and stays what it is
   reduce     out[i] = the values x[i] of all members, combined by '+', '>' (the greatest, or NaN) or
              '<'. An element is of a kind, 'b' (bool), 'i', 'u', 'f' or 'c' (complex), and of
              `width` bytes
   scatter    the sums of `size` blocks of `count` elements: each member gets its own block
   gather     the `bytes` of all members, one block after the other
   exchange   block k of x goes to member k; block k of out comes from it
   broadcast  the bytes of members[0]
   permute    to the device `target` and from the device `source`, either of which may be -1: then
              nothing is sent, or zeros arrive */
#ifndef TRANSPILE_COMMUNICATOR
#define TRANSPILE_COMMUNICATOR

#include <stdint.h>

typedef struct transpile_communicator transpile_communicator;

struct transpile_communicator {
    int64_t rank;  /* the number of this device */
    int64_t count; /* how many there are */
    int (*begin)(const transpile_communicator *self, const char *program, int64_t devices);
    int (*reduce)(const transpile_communicator *self, char by, char kind, int64_t width,
                  int64_t count, const void *x, void *out, const int64_t *members, int64_t size);
    int (*scatter)(const transpile_communicator *self, char by, char kind, int64_t width,
                   int64_t count, const void *x, void *out, const int64_t *members, int64_t size);
    int (*gather)(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                  const int64_t *members, int64_t size);
    int (*exchange)(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                    const int64_t *members, int64_t size);
    int (*broadcast)(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                     const int64_t *members, int64_t size);
    int (*permute)(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                   int64_t target, int64_t source);
};

#endif
