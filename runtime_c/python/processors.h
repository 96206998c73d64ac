/* The number of processors that this process can use: those of its affinity, and no more than the
   quotas of its control groups. A container with a quota of two processors of 64 that runs 64
   threads is throttled for the rest of each period.

   /proc/self/cgroup names the groups of the process, /proc/self/mountinfo the directories of their
   hierarchies. Each group and each ancestor may have a quota: version 2 has `cpu.max` ("200000
   100000": microseconds in a period), version 1 `cpu.cfs_quota_us` and `cpu.cfs_period_us`. Paths
   begin at `root`, which is "" except in tests. */

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_LINE = 4096 };

/* The first line of a file; false where there is none. */
static bool read_line(const char *directory, const char *name, char line[LONGEST_LINE])
{
    char path[LONGEST_LINE];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = length < 0 || length >= LONGEST_LINE ? NULL : fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool is_there = fgets(line, LONGEST_LINE, file) != NULL;
    fclose(file);
    return is_there;
}

/* The processors of a quota, rounded up; 0 without a quota. */
static int of_quota(const char *quota, const char *period)
{
    long long given = strtoll(quota, NULL, 10), of = strtoll(period, NULL, 10);
    if (given <= 0 || of <= 0 || given / of >= 1 << 20) {
        return 0;
    }
    return (int)((given + of - 1) / of);
}

static int quota_of_group(const char *directory, bool is_new)
{
    char quota[LONGEST_LINE], period[LONGEST_LINE];
    if (is_new) {
        char *space = read_line(directory, "cpu.max", quota) ? strchr(quota, ' ') : NULL;
        return space == NULL ? 0 : of_quota(quota, space + 1);
    }
    if (!read_line(directory, "cpu.cfs_quota_us", quota)
        || !read_line(directory, "cpu.cfs_period_us", period)) {
        return 0;
    }
    return of_quota(quota, period);
}

/* The least quota of a group and its ancestors, up to the mount point of the hierarchy. */
static int quota_of_groups(const char *mounted, const char *group, bool is_new)
{
    char directory[2 * LONGEST_LINE];
    size_t top = strlen(mounted);
    snprintf(directory, sizeof directory, "%s%s", mounted, strcmp(group, "/") == 0 ? "" : group);
    for (int least = 0;;) {
        int quota = quota_of_group(directory, is_new);
        least = least == 0 || (quota != 0 && quota < least) ? quota : least;
        char *last = strrchr(directory + top, '/');
        if (last == NULL) {
            return least;
        }
        *last = 0;
    }
}

/* True if a comma-separated list has a word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        bool begins = at == list || at[-1] == ',';
        if (begins && (at[length] == 0 || at[length] == ',' || at[length] == '\n')) {
            return true;
        }
    }
    return false;
}

/* Parse a line of /proc/self/mountinfo: "36 35 0:31 /root /mounted rw,... - cgroup2 cgroup2
   rw,..."; false for other file systems than that of the cpu controller of this version. */
static bool is_mounted(char *line, bool is_new, char **from, char **mounted)
{
    char *type = strstr(line, " - "), *place = line;
    if (type == NULL) {
        return false;
    }
    *type = 0;
    type += 3;
    char *source = strchr(type, ' '), *words = source == NULL ? NULL : strchr(source + 1, ' ');
    if (words == NULL) {
        return false;
    }
    *source = 0;
    for (int field = 0; field < 3; field++) {
        place = strchr(place, ' ');
        if (place == NULL) {
            return false;
        }
        place++;
    }
    *from = strtok_r(place, " ", &place);
    *mounted = strtok_r(NULL, " ", &place);
    return *mounted != NULL && strcmp(type, is_new ? "cgroup2" : "cgroup") == 0
           && (is_new || has_word(words + 1, "cpu"));
}

/* The quota of a group, named from the root of the machine's hierarchy or of the container's. */
static int quota_where_mounted(const char *root, const char *group, bool is_new)
{
    char path[LONGEST_LINE], line[LONGEST_LINE], directory[LONGEST_LINE], *from, *mounted;
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    int least = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (!is_mounted(line, is_new, &from, &mounted)) {
            continue;
        }
        size_t length = strcmp(from, "/") == 0 ? 0 : strlen(from);
        bool is_inside = strncmp(group, from, length) == 0
                         && (group[length] == '/' || group[length] == 0);
        const char *below = is_inside && strstr(group, "/..") == NULL ? group + length : "";
        if (snprintf(directory, sizeof directory, "%s%s", root, mounted) < LONGEST_LINE) {
            int quota = quota_of_groups(directory, below, is_new);
            least = least == 0 || (quota != 0 && quota < least) ? quota : least;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}

/* The least quota of the control groups of this process, in processors; 0 without one. */
static int processors_paid(const char *root)
{
    char path[LONGEST_LINE], line[LONGEST_LINE];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    int least = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        char *words = strchr(line, ':'), *group = words == NULL ? NULL : strchr(words + 1, ':');
        if (group == NULL) {
            continue;
        }
        *group++ = 0;
        bool is_new = words[1] == 0;
        if (is_new || has_word(words + 1, "cpu")) {
            int quota = quota_where_mounted(root, group, is_new);
            least = least == 0 || (quota != 0 && quota < least) ? quota : least;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}

/* The number of processors in the affinity of the calling thread. */
static int processors_allowed(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        return CPU_COUNT(&allowed);
    }
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int processors_usable(const char *root)
{
    int allowed = processors_allowed(), paid = processors_paid(root);
    return paid != 0 && paid < allowed ? paid : allowed < 1 ? 1 : allowed;
}

/* The integer in an environment variable, or the first of a comma-separated list; `otherwise` where
   it is not in [1, most]. */
static int setting(const char *name, int most, int otherwise)
{
    const char *text = getenv(name);
    if (text == NULL) {
        return otherwise;
    }
    char *end;
    long value = strtol(text, &end, 10);
    while (*end == ' ' || *end == '\t') {
        end++;
    }
    return end == text || (*end != 0 && *end != ',') || value < 1 || value > most ? otherwise
                                                                                  : (int)value;
}
