"""Reserved names, as data: keywords, macros, types and functions of C, its libraries and OpenMP.

No name in a program may be one of KEYWORDS (of C and C++, as C++ programs include the headers),
MACROS and TYPES. An exported function must also be none of FUNCTIONS, which it would replace in the
process that loads it: those of ISO C, POSIX, the GNU C library and the BSDs. FAMILIES have a
function for each floating type (sin, sinf, sinl, sinf32 ...); PREFIXES begin all names of a
library, and two patterns match names with a common prefix or suffix. Names that ISO C reserves for
later editions (those that begin with str, mem, is or to) are left to users.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS = _words("""
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class co_await co_return co_yield compl complex concept const const_cast consteval
constexpr constinit continue contract_assert decltype default delete do double dynamic_cast else
enum explicit export extern false float for friend goto if imaginary inline int long mutable
namespace new noexcept noreturn not not_eq nullptr operator or or_eq private protected public
register reinterpret_cast requires restrict return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal32 _Decimal64 _Decimal128 _Generic
_Imaginary _Noreturn _Static_assert _Thread_local
""")

# Macros of the headers of ISO C, and those that compilers define for a system.
MACROS = _words("""
ATOMIC_FLAG_INIT BIG_ENDIAN BUFSIZ BYTE_ORDER CLOCKS_PER_SEC CMPLX CMPLXF CMPLXL DOMAIN EOF
FILENAME_MAX FOPEN_MAX HUGE I INFINITY LITTLE_ENDIAN L_ctermid L_cuserid L_tmpnam MATH_ERREXCEPT
MATH_ERRNO MAXFLOAT NAN NDEBUG NULL ONCE_FLAG_INIT OVERFLOW PATH_MAX PDP_ENDIAN PLOSS RAND_MAX SING
SNAN SNANF SNANL TIME_UTC TLOSS TMP_MAX TRUE FALSE UNDERFLOW X_TLOSS assert errno fpclassify i386
isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan
isnormal issignaling issubnormal isunordered iszero kill_dependency linux main
math_errhandling offsetof setjmp signbit signgam stderr stdin stdout unix unreachable va_arg
va_copy va_end va_start
E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBADMSG EBUSY ECANCELED
ECHILD ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDQUOT EEXIST EFAULT EFBIG
EHOSTUNREACH EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE
ENAMETOOLONG ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT ENOEXEC ENOLCK
ENOLINK ENOMEM ENOMSG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTCONN ENOTDIR ENOTEMPTY
ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENXIO EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPIPE EPROTO
EPROTONOSUPPORT EPROTOTYPE ERANGE EROFS ESPIPE ESRCH ESTALE ETIME ETIMEDOUT ETXTBSY EWOULDBLOCK
EXDEV
""")
# Patterns are compiled at their first use: a program from the cache is not named again.
MACRO_PATTERN = (
    r"(U?INT(_?(LEAST|FAST))?(8|16|32|64|MAX|PTR)?|S?CHAR|UCHAR|U?SHRT|U?LL?ONG|BOOL|SIZE|PTRDIFF"
    r"|SIG_ATOMIC|WCHAR|WINT|RSIZE)_(MAX|MIN|WIDTH|BIT)|U?INT(8|16|32|64|MAX)_C|CHAR_BIT|MB_\w+"
    r"|(FE|FLT|DBL|LDBL|DEC32|DEC64|DEC128|FLT16|FLT32|FLT64|FP|HUGE_VAL|SEEK|EXIT|LC|SIG)_[A-Z]\w*"
    r"|M_([A-Z]\w*|[12]_\w+)|HUGE_VAL\w*|(PRI|SCN)[diouxXbB](8|16|32|64|MAX|PTR|LEAST\d+|FAST\d+)"
    r"|SIG(ABRT|ALRM|BUS|CHLD|CONT|FPE|HUP|ILL|INT|IO|KILL|PIPE|POLL|PROF|PWR|QUIT|SEGV|STOP|SYS)"
    r"|SIG(TERM|TRAP|TSTP|TTIN|TTOU|URG|USR1|USR2|VTALRM|WINCH|XCPU|XFSZ)"
)

TYPES = _words("""
DIR FILE blkcnt_t blksize_t caddr_t clock_t clockid_t daddr_t dev_t div_t double_t fd_set fenv_t
fexcept_t float_t fpos_t fsblkcnt_t fsfilcnt_t gid_t id_t imaxdiv_t ino_t intmax_t intptr_t jmp_buf
key_t ldiv_t lldiv_t loff_t max_align_t mbstate_t mode_t nlink_t nullptr_t off_t pid_t ptrdiff_t
quad_t regex_t rsize_t sig_atomic_t sigset_t size_t socklen_t ssize_t stack_t suseconds_t time_t
timer_t u_char u_int u_long u_quad_t u_short uid_t uint ulong ushort uintmax_t uintptr_t useconds_t
va_list wctrans_t wctype_t wint_t lapack_int
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
int_least8_t int_least16_t int_least32_t int_least64_t uint_least8_t uint_least16_t uint_least32_t
uint_least64_t int_fast8_t int_fast16_t int_fast32_t int_fast64_t uint_fast8_t uint_fast16_t
uint_fast32_t uint_fast64_t
""")

FAMILIES = _words("""
acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cabs cacos cacosh canonicalize
carg casin casinh catan catanh cbrt ccos ccosh ceil cexp cimag clog clog10 compoundn conj copysign
cos cosh cospi cpow cproj creal csin csinh csqrt ctan ctanh erf erfc exp exp10 exp10m1 exp2 exp2m1
expm1 fabs fdim floor fma fmax fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fmin
fminimum fminimum_mag fminimum_mag_num fminimum_num fminmag fmod frexp fromfp fromfpx getpayload
hypot ilogb j0 j1 jn ldexp lgamma llogb llrint llround log log10 log1p log2 logb lrint lround modf
nan nearbyint nextafter nextdown nextup pow pown powr remainder remquo rint rootn round roundeven
rsqrt scalbln scalbn setpayload setpayloadsig sin sincos sinh sinpi sqrt tan tanh tanpi tgamma
totalorder totalordermag trunc ufromfp ufromfpx y0 y1 yn
""")
_NUMBERS = ("f", "l", "f16", "f32", "f64", "f128", "f32x", "f64x")

FUNCTIONS = _words("""
a64l abort abs accept accept4 access acct acospi addmntent addseverity adjtime adjtimex alarm
aligned_alloc alloca alphasort arc4random arc4random_buf arc4random_uniform arch_prctl asctime
asinpi asprintf at_quick_exit atan2pi atanpi atof atoi atol atoll backtrace backtrace_symbols
backtrace_symbols_fd basename bcmp bcopy bind bind_textdomain_codeset bindresvport bindtextdomain
brk bsd_signal bsearch btowc bzero c16rtomb c32rtomb c8rtomb call_once calloc canonicalize_file_name
capget capset catclose catgets catopen cexpi cfgetispeed cfgetospeed cfmakeraw cfree cfsetispeed
cfsetospeed cfsetspeed chdir chflags chmod chown chroot clearenv clearerr clock clock_adjtime
clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime clone close close_range
closedir closefrom closelog compoundn confstr connect copy_file_range cospi creat ctermid ctime
cuserid daddl daemon daylight dcgettext dcngettext ddivl delete_module dfmal dgettext difftime dirfd
dirname div dl_iterate_phdr dladdr dladdr1 dlclose dlerror dlinfo dlmopen dlopen dlsym dlvsym dmull
dn_comp dn_expand dn_skipname dngettext dprintf drand48 drem dremf dreml dsqrtl dsubl dup dup2 dup3
duplocale dysize eaccess ecvt endaliasent endfsent endgrent endhostent endmntent endnetent
endnetgrent endprotoent endpwent endrpcent endservent endsgent endspent endttyent endusershell
endutent endutxent environ erand48 err errno error error_at_line error_message_count
error_one_per_line error_print_progname errx euidaccess eventfd eventfd_read eventfd_write execl
execle execlp execv execve execveat execvp execvpe exit exp10m1 exp2m1 explicit_bzero faccessat fadd
faddl fallocate fanotify_init fanotify_mark fchdir fchflags fchmod fchmodat fchown fchownat fclose
fcloseall fcntl fcvt fdatasync fdiv fdivl fdopen fdopendir feclearexcept fedisableexcept
feenableexcept fegetenv fegetexcept fegetexceptflag fegetmode fegetround feholdexcept feof
feraiseexcept ferror fesetenv fesetexcept fesetexceptflag fesetmode fesetround fetestexcept
fetestexceptflag feupdateenv fexecve fflush ffma ffmal ffs ffsl ffsll fgetc fgetgrent fgetpos
fgetpwent fgets fgetsgent fgetspent fgetwc fgetws fgetxattr fileno finite finitef finitel flistxattr
flock flockfile fmemopen fmtmsg fmul fmull fnmatch fopen fopencookie fork forkpty fpathconf fprintf
fputc fputs fputwc fputws fread free free_aligned_sized free_sized freeaddrinfo freeifaddrs
freelocale fremovexattr freopen fscanf fsconfig fseek fseeko fsetpos fsetxattr fsmount fsopen fspick
fsqrt fsqrtl fstat fstatat fstatfs fstatvfs fsub fsubl fsync ftell ftello ftime ftok ftruncate
ftrylockfile ftw funlockfile futimens futimes futimesat fwide fwprintf fwrite fwscanf gai_cancel
gai_error gai_strerror gai_suspend gamma gammaf gammal gcvt get_avphys_pages get_current_dir_name
get_nprocs get_nprocs_conf get_phys_pages getaddrinfo getaddrinfo_a getaliasbyname getaliasent
getauxval getc getchar getcontext getcpu getcwd getdate getdate_err getdelim getdents64
getdirentries getdomainname getdtablesize getegid getentropy getenv geteuid getfsent getfsfile
getfsspec getgid getgrent getgrgid getgrnam getgrouplist getgroups gethostbyaddr gethostbyname
gethostbyname2 gethostent gethostid gethostname getifaddrs getipv4sourcefilter getitimer getline
getloadavg getlogin getmntent getnameinfo getnetbyaddr getnetbyname getnetent getnetgrent getopt
getopt_long getopt_long_only getpagesize getpass getpeername getpgid getpgrp getpid getppid
getpriority getprogname getprotobyname getprotobynumber getprotoent getpt getpw getpwent getpwnam
getpwuid getrandom getresgid getresuid getrlimit getrpcbyname getrpcbynumber getrpcent getrusage
gets getservbyname getservbyport getservent getsgent getsgnam getsid getsockname getsockopt
getsourcefilter getspent getspnam getsubopt gettext gettid gettimeofday getttyent getttynam getuid
getusershell getutent getutid getutline getutmp getutmpx getutxent getutxid getutxline getw getwc
getwchar getwd getxattr glob glob_pattern_p globfree gmtime grantpt group_member gsignal gtty
h_errlist h_nerr hasmntopt hcreate hdestroy heapsort herror hsearch hstrerror htonl htons iconv
iconv_close iconv_open if_freenameindex if_indextoname if_nameindex if_nametoindex imaxabs imaxdiv
in6addr_any in6addr_loopback index init_module initgroups initstate innetgr inotify_add_watch
inotify_init inotify_init1 inotify_rm_watch insque ioctl ioperm iopl iruserok iruserok_af isalnum
isalpha isascii isatty isblank iscntrl isctype isdigit isfdtype isgraph isinf isinff isinfl islower
isnan isnanf isnanl isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswctype
iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit jrand48 kevent
kill killpg klogctl kqueue l64a labs lchmod lchown lckpwdf lcong48 ldiv lfind lgamma_r lgammaf128_r
lgammaf32_r lgammaf32x_r lgammaf64_r lgammaf64x_r lgammaf_r lgammal_r lgetxattr link linkat
lio_listio listen listxattr llabs lldiv llistxattr localeconv localtime lockf login login_tty logout
logwtmp longjmp lrand48 lremovexattr lsearch lseek lsetxattr lstat lutimes madvise main makecontext
mallinfo mallinfo2 malloc malloc_info malloc_stats malloc_trim malloc_usable_size mallopt mblen
mbrlen mbrtoc16 mbrtoc32 mbrtoc8 mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc mcheck
mcheck_check_all mcheck_pedantic mcount memalign memccpy memchr memcmp memcpy memfd_create memfrob
memmem memmove mempcpy memrchr memset memset_explicit memset_s mergesort mincore mkdir mkdirat
mkdtemp mkfifo mkfifoat mknod mknodat mkostemp mkostemps mkstemp mkstemps mktemp mktime mlock mlock2
mlockall mmap modify_ldt moncontrol monstartup mount mount_setattr move_mount mprobe mprotect
mrand48 mremap msgctl msgget msgrcv msgsnd msync mtrace munlock munlockall munmap muntrace
name_to_handle_at nanosleep newlocale nexttoward nexttowardf nexttowardl nftw ngettext nice
nl_langinfo nrand48 ns_datetosecs ns_format_ttl ns_get16 ns_get32 ns_initparse ns_makecanon
ns_msg_getflag ns_name_compress ns_name_ntol ns_name_ntop ns_name_pack ns_name_pton ns_name_rollback
ns_name_skip ns_name_uncompress ns_name_unpack ns_parse_ttl ns_parserr ns_put16 ns_put32
ns_samedomain ns_samename ns_skiprr ns_sprintrr ns_sprintrrf ns_subdomain ntohl ntohs ntp_adjtime
ntp_gettime ntp_gettimex on_exit open open_by_handle_at open_memstream open_tree open_wmemstream
openat opendir openlog openpty optarg opterr optind optopt parse_printf_format pathconf pause pclose
perror personality pipe pipe2 pivot_root poll popen pow10 pow10f pow10l pown powr ppoll prctl pread
preadv preadv2 preadv64v2 printf printf_size printf_size_info prlimit process_madvise
process_mrelease process_vm_readv process_vm_writev profil program_invocation_name
program_invocation_short_name pselect psiginfo psignal ptrace ptsname putc putchar putenv putgrent
putpwent puts putsgent putspent pututline pututxline putw putwc putwchar pvalloc pwrite pwritev
pwritev2 pwritev64v2 qecvt qfcvt qgcvt qsort quick_exit quotactl radixsort raise rand random
rawmemchr rcmd rcmd_af re_comp re_compile_fastmap re_compile_pattern re_exec re_match re_match_2
re_max_failures re_search re_search_2 re_set_registers re_set_syntax re_syntax_options read
readahead readdir readlink readlinkat readv realloc reallocarray reallocf realpath reboot recv
recvfrom recvmmsg recvmsg regcomp regerror regexec regfree register_printf_function
register_printf_modifier register_printf_specifier register_printf_type remap_file_pages remove
removexattr remque rename renameat renameat2 res_dnok res_hnok res_mailok res_mkquery res_nmkquery
res_nquery res_nquerydomain res_nsearch res_nsend res_ownok res_query res_querydomain res_search
res_send revoke rewind rewinddir rexec rexec_af rexecoptions rindex rmdir rootn rpmatch rresvport
rresvport_af rsqrt ruserok ruserok_af ruserpass sbrk scalb scalbf scalbl scandir scandirat scanf
sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getcpu sched_getparam
sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler
sched_yield secure_getenv seed48 seekdir select sem_clockwait sem_close sem_destroy sem_getvalue
sem_init sem_open sem_post sem_timedwait sem_trywait sem_unlink sem_wait semctl semget semop
semtimedop send sendfile sendmmsg sendmsg sendto setaliasent setbuf setbuffer setcontext
setdomainname setegid setenv seteuid setfsent setfsgid setfsuid setgid setgrent setgroups sethostent
sethostid sethostname setipv4sourcefilter setitimer setjmp setlinebuf setlocale setlogin setlogmask
setmntent setnetent setnetgrent setns setpgid setpgrp setpriority setprogname setprotoent setpwent
setregid setresgid setresuid setreuid setrlimit setrpcent setservent setsgent setsid setsockopt
setsourcefilter setspent setstate settimeofday setttyent setuid setusershell setutent setutxent
setvbuf setxattr sgetsgent sgetspent shm_open shm_unlink shmat shmctl shmdt shmget shutdown
sigabbrev_np sigaction sigaddset sigaltstack sigandset sigblock sigdelset sigdescr_np sigemptyset
sigfillset siggetmask sighold sigignore siginterrupt sigisemptyset sigismember siglongjmp signal
signalfd signgam significand significandf significandl sigorset sigpause sigpending sigprocmask
sigqueue sigrelse sigreturn sigset sigsetmask sigstack sigsuspend sigtimedwait sigwait sigwaitinfo
sinpi sleep snprintf sockatmark socket socketpair splice sprintf sprofil srand srand48 srandom
sscanf ssignal stat statfs statvfs statx stderr stdin stdout stpcpy stpncpy strcasecmp strcasestr
strcat strchr strchrnul strcmp strcoll strcpy strcspn strdup strerror strerrordesc_np
strerrorname_np strfmon strfromd strfromf strfromf128 strfromf32 strfromf32x strfromf64x strfroml
strfry strftime strlcat strlcpy strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk
strptime strrchr strsep strsignal strspn strstr strtod strtof strtof128 strtof32 strtof32x strtof64x
strtoimax strtok strtol strtold strtoll strtonum strtoq strtoul strtoull strtoumax strtouq
strverscmp strxfrm stty swab swapcontext swapoff swapon swprintf swscanf symlink symlinkat sync
sync_file_range syncfs syscall sysconf sysinfo syslog system sysv_signal tanpi tcdrain tcflow
tcflush tcgetattr tcgetpgrp tcgetsid tcsendbreak tcsetattr tcsetpgrp tdelete tdestroy tee telldir
tempnam textdomain tfind tgkill time timegm timelocal timer_create timer_delete timer_getoverrun
timer_gettime timer_settime times timespec_get timespec_getres timezone timingsafe_bcmp tmpfile
tmpnam toascii tolower toupper towctrans towlower towupper truncate tsearch ttyname ttyslot twalk
tzname tzset ualarm ulckpwdf ulimit umask umount umount2 uname ungetc ungetwc unlink unlinkat
unlockpt unsetenv unshare updwtmp updwtmpx uselocale usleep utime utimensat utimes utmpname
utmpxname valloc vasprintf vdprintf verr verrx versionsort vfork vfprintf vfscanf vfwprintf vfwscanf
vhangup vlimit vmsplice vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vsyslog vwarn
vwarnx vwprintf vwscanf wait wait3 wait4 waitid waitpid warn warnx wcpcpy wcpncpy wcrtomb wcscasecmp
wcscat wcschr wcschrnul wcscmp wcscoll wcscpy wcscspn wcsdup wcsftime wcslen wcsncasecmp wcsncat
wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstof128
wcstof32 wcstof32x wcstof64x wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoq wcstoul
wcstoull wcstoumax wcstouq wcswcs wcswidth wcsxfrm wctob wctomb wctrans wctype wcwidth wmemchr
wmemcmp wmemcpy wmemmove wmempcpy wmemset wordexp wordfree wprintf write writev wscanf
""")
# With an underscore behind.
PREFIXES = tuple(
    f"{prefix}_"
    for prefix in _words("""
pthread posix xdr clnt svc argp argz envz obstack inet inet6 aio mq thrd mtx cnd tss epoll pkey
pidfd timerfd fts fts64 ether gnu omp ompx ompt gomp GOMP GOACC goacc kmpc cblas LAPACKE openblas
scipy_cblas scipy_LAPACKE transpile acc_get acc_set acc_async acc_wait acc_init acc_shutdown
acc_on_device acc_malloc acc_free acc_copy acc_copyin acc_create acc_pcopyin acc_pcreate
acc_present_or acc_copyout acc_delete acc_update_device acc_update_self acc_map_data acc_unmap_data
acc_deviceptr acc_hostptr acc_is_present acc_memcpy acc_attach acc_detach acc_prof
""")
)
OPENACC = _words("""
acc_malloc acc_free acc_init acc_shutdown acc_copyin acc_create acc_copyout acc_delete acc_deviceptr
acc_hostptr acc_attach acc_detach acc_is_present acc_map_data acc_unmap_data acc_on_device
acc_pcopyin acc_pcreate acc_register_library acc_update_device acc_update_self acc_wait
""")
NARROWING = r"f(32|64)x?(add|sub|mul|div|fma|sqrt)f\d+x?"


def is_macro_of_family(name: str) -> bool:
    """Tell whether a name is a macro's of which headers have many alike: INT8_MAX, FE_UPWARD."""
    # The pattern takes a millisecond to compile.
    return name[:1].isupper() and re.fullmatch(MACRO_PATTERN, name) is not None


def is_function_of_family(name: str) -> bool:
    """Tell whether an identifier begins as all functions of a library do: omp_, pthread_."""
    if name.startswith(PREFIXES) or name in OPENACC:
        return True
    return name.startswith(("f32", "f64")) and re.fullmatch(NARROWING, name) is not None


def is_word(name: str) -> bool:
    """Tell whether a name means something wherever it stands."""
    return name in KEYWORDS or name in MACROS or name in TYPES or is_macro_of_family(name)


def is_symbol(name: str) -> bool:
    """Tell whether a library has a function or variable of this name, or may have one."""
    if name in FAMILIES or is_function_of_family(name):
        return True
    if any(name.endswith(e) and name.removesuffix(e) in FAMILIES for e in _NUMBERS):
        return True
    while name not in FUNCTIONS:
        ending = next((e for e in ("_unlocked", "_r", "_l", "64") if name.endswith(e)), None)
        if ending is None:
            return False
        name = name.removesuffix(ending)
    return True
