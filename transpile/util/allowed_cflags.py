"""The allow-list of compiler options in `extra_cflags`.

A program is compiled in a private directory, of which only its library is kept. Options that choose
code, warnings, macros and libraries are passed to the compiler. Those with which it writes other
files, reads options from files, runs other programs, loads plugins or does not compile are refused:
they could overwrite a user's file or run unexpected code. A script that calls the compiler with
them, named as the compiler, may use them.
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
# Exceptions from it: options that write or read a file, load code or do not compile.
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
# Arguments with which any compiler writes other files, or none, or reads arguments from a file.
_ELSEWHERE = r"""
    @.* | -o.* | --output.* | --?save-temps.* | -M.* | -dump.* | -aux-.* | -fdump-.* | -[ESc]
  | -Wl,.*(-o|-Map|--output).* | -Wp,.*-M.*
"""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """The compiled pattern; compiling takes milliseconds, and most programs have no such flags."""
    return re.compile(text, re.VERBOSE | re.DOTALL)


def check_flags(flags: Iterable[str]) -> None:
    """Raise ValueError for the first of a user's options that is not allowed, with the reason."""
    for flag in flags:
        if _pattern(_ALLOWED).fullmatch(flag) and not _pattern(_REFUSED).fullmatch(flag):
            continue
        reason = "only options that choose code, warnings, macros and libraries are passed on"
        if not flag.startswith("-"):
            reason = "every option has to be one word, such as '-I/directory'"
        elif re.match("-(I|L|isystem|idirafter|isysroot|-sysroot=)", flag):
            reason = "a directory has to be absolute: the compiler runs in another directory"
        raise ValueError(
            f"compiler option 'extra_cflags' has {flag!r}, which is refused: {reason}; for any "
            "other option name a script that calls the compiler with it in the option 'cc'"
        )


def writes_elsewhere(words: Iterable[str]) -> str | None:
    """The first argument with which a compiler writes other files than its output, or none; or
    None."""
    return next((word for word in words if _pattern(_ELSEWHERE).fullmatch(word)), None)
