"""The files of the libraries that are transpile's own."""

from transpile.build.support_libraries import source_files
from transpile.util.data_files import data_directory


def test_a_library_has_each_of_its_files_once():
    folder = data_directory("runtime_c") / "python"
    calls = source_files(folder / "call.c")
    threads = source_files(folder / "threads.c")
    devices = source_files(folder / "devices.c")
    processes = source_files(folder / "mpi_devices.c")
    capsules = source_files(folder / "capsules.c")
    in_headers = {folder / name for name in ("description.h", "tensor.h")}  # of saved programs
    known = {*calls, *threads, *devices, *processes, *capsules, *in_headers}
    assert known == set(folder.iterdir())
    for files in calls, threads, devices, processes, capsules:
        names = [file.name for file in files]
        for position, file in enumerate(files):
            inside = [n for n in names if f'#include "{n}"' in file.read_text(encoding="utf-8")]
            assert set(inside) <= set(names[:position]), (
                f"{file.name} comes before what it includes"
            )
