"""Where the files shipped with transpile are, in a checkout and in an installed wheel, and which
version it is."""

from pathlib import Path

VERSION = "0.1.0"

PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = PACKAGE.parent


def is_checkout() -> bool:
    """True if the package is run from a checkout (its pyproject.toml stands beside it)."""
    return (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "templates").is_dir()


def data_directory(name: str) -> Path:
    """The directory `templates` or `runtime_c`: inside the wheel, or beside it in a checkout."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else _CHECKOUT / name


def checkout_cache() -> Path:
    """The cache directory of a checkout."""
    return _CHECKOUT / "cache"
