/* The functions of devices.c that Python calls. */
void *transpile_devices_new(int64_t count);
void transpile_devices_free(void *devices);
const void *transpile_devices_of(void *devices, int64_t rank);
void transpile_devices_end(void *devices, int64_t rank);
void transpile_devices_fail(void *devices, const char *message);
const char *transpile_devices_message(void *devices);
