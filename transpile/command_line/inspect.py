"""`python -m transpile inspect`: what saved files were made of."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from transpile.artifact.provenance import provenance_text, read_provenance
from transpile.util.escapes import one_line


def inspect(chosen: argparse.Namespace) -> int:
    """Run the command; the exit code is returned. Nothing of the files is run."""
    code = 0
    found: dict[str, list[dict[str, object]]] = {}
    for name in chosen.files:
        try:
            found[name] = read_provenance(Path(name))
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else None
            text = f"{name}: {problem}" if problem else str(error)
            print(f"transpile: {one_line(text)}", file=sys.stderr)
            code = 1
    if chosen.json:
        print(json.dumps(found, indent=1))
        return code
    for name, records in found.items():
        if len(chosen.files) > 1:
            print(f"{one_line(name)}:")
        print("\n\n".join(map(provenance_text, records)))
    return code
