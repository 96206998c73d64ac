"""Which of a compiler's options users may give, and what is said of the others.

A program is compiled in a private directory, and nothing but its library comes out of that. Options
are passed on that choose code, warnings, macros and libraries. Those that make the compiler write
other files, read options from files, run other programs, load plugins or do something else than
compile are refused: they would write over a file of the user's, or run what nobody asked for. Who
does need one of them puts it into a script, and names that as the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

_ALLOWED = r"""
    -O\w* | -std=[\w+:]+ | -ansi | -pedantic(-errors)? | -w | -[DU].+ | -pipe | -pthread | -s
  | -g(\d | gdb\d? | dwarf(-?\d)? | line-tables-only | no-[\w-]+ | z(=\w+)?)?
  | -f[\w-]+(=[^/]*)? | -f(file|debug|macro)-prefix-map=.+
  | -m[\w.-]+(=[^/]*)? | -W(?![lap],)[\w+-]+(=[^/]*)? | --param=[\w-]+=\d+ | --target=[\w.-]+
  | -l:?[\w.+-]+ | (-L|-I|-isystem|-idirafter|-isysroot|--sysroot=)/.*
  | -static-lib\w+ | -rdynamic
  | -Wl(,(
        -O\d? | -[sSxXE] | -z,[\w=-]+ | -Bsymbolic(-functions)? | --(push|pop)-state
      | --(no-)?(as-needed|undefined|gc-sections|relax|eh-frame-hdr|allow-shlib-undefined)
      | --(strip-all|strip-debug|sort-common|export-dynamic|enable-new-dtags|disable-new-dtags)
      | --(hash-style|build-id|compress-debug-sections|icf)=\w+ | --build-id
      | --exclude-libs[,=][\w.:+-]+ | -rpath[,=](/|\$ORIGIN)[^,:]*
    ))+
"""
# Of those, what writes or reads a file, loads code or compiles nothing.
_REFUSED = r"""
    -mllvm | -mlink-.*
  | -f(no-)?(
        plugin | pass-plugin | dump | (cs-|auto-|memory-)?profile | branch-probabilities
      | test-coverage | coverage-mapping | stack-usage | callgraph-info | opt-info
      | save-optimization-record | optimization-record | time-trace | proc-stat-report
      | diagnostics-(format|add-output|set-output) | crash-diagnostics | compare-debug | modules?
      | build-session | pch | thinlto-index | debug-(dump|compilation) | embed-(?!bitcode)
      | syntax-only | preprocessed | directives-only | depfile | xray | analyzer | dwarf2-cfi-asm
      | working-directory
    )(?!-(correction|reorder|abs-path)).*
"""
# Words of a command that make any compiler write somewhere else, or nothing, or read further words
# from a file.
_ELSEWHERE = r"""
    @.* | -o.* | --output.* | --?save-temps.* | -M.* | -dump.* | -aux-.* | -fdump-.* | -[ESc]
  | -Wl,.*(-o|-Map|--output).* | -Wp,.*-M.*
"""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled when it is needed: it takes milliseconds, and most programs have no such flags."""
    return re.compile(text, re.VERBOSE | re.DOTALL)


def check_flags(flags: Iterable[str]) -> None:
    """Raise ValueError at the first of a user's options that the compiler is not to be given."""
    for flag in flags:
        if _pattern(_ALLOWED).fullmatch(flag) and not _pattern(_REFUSED).fullmatch(flag):
            continue
        reason = "only options that choose code, warnings, macros and libraries are passed on"
        if not flag.startswith("-"):
            reason = "every option has to be one word, such as '-I/directory'"
        elif re.match("-(I|L|isystem|idirafter|isysroot|-sysroot=)", flag):
            reason = "a directory has to be absolute: the compiler runs in another one than you"
        raise ValueError(
            f"compiler option 'extra_cflags' has {flag!r}, which is refused: {reason}; what you "
            "need besides can stand in a script that calls the compiler, named by the option 'cc'"
        )


def writes_elsewhere(words: Iterable[str]) -> str | None:
    """The first word of a command, after its program, that makes it write files of its own."""
    return next((word for word in words if _pattern(_ELSEWHERE).fullmatch(word)), None)
