/* Devices that are processes of an MPI program, one or several on each: see mpi_devices.c.

   open           join the processes of a communicator, given by MPI_Comm_c2f; all of them call it, and
                  it may be called once MPI is initialised. `threads`: how many devices may exchange at
                  the same time on this process. NULL where there is no memory
   is_initialized   1 where MPI is, in the library that this is linked with
   devices_new    the devices of runs: device k is on process processes[k]; NULL: one on each process.
                  Only processes that have one of them call it
   devices_of     the `transpile_communicator` of a device of this process
   devices_end    a device makes no more exchanges
   gather         the `bytes` of all devices, one after the other, outside of programs; `what` says why
   fail           end all exchanges of all processes with a message, from now on
   message        why they have failed; "" if they have not
   close          this process ends, with a reason or "": who waits for it fails. Where exchanges have
                  failed, it waits up to so many seconds for the others to end, and then aborts all */
void *transpile_mpi_open(int communicator, int64_t threads);
int transpile_mpi_is_initialized(void);
void *transpile_mpi_devices_new(void *world, int64_t count, const int64_t *processes);
void transpile_mpi_devices_free(void *devices);
const void *transpile_mpi_devices_of(void *devices, int64_t rank);
void transpile_mpi_devices_end(void *devices, int64_t rank);
int transpile_mpi_gather(void *devices, int64_t rank, const char *what, int64_t bytes, const void *x,
                         void *out);
void transpile_mpi_fail(void *world, const char *message);
const char *transpile_mpi_message(void *world);
void transpile_mpi_close(void *world, const char *reason, double seconds);
