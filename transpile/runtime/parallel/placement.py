"""Which devices the processes of a computation have, and the process of each device of a run."""

from __future__ import annotations

from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Processes:
    """The number of this process, and how many devices each process has: they are numbered one
    process after the other."""

    index: int
    device_counts: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self.device_counts)

    def of_device(self, number: int) -> tuple[int, int]:
        """The process of a device, and its number there; raises ValueError where it has none."""
        local = number
        for process, count in enumerate(self.device_counts):
            if 0 <= local < count:
                return process, local
            local -= count
        raise ValueError(f"there is no device {number}, but {sum(self.device_counts)} devices")

    def devices(self, process: int) -> range:
        """The numbers of the devices of a process."""
        first = sum(self.device_counts[:process])
        return range(first, first + self.device_counts[process])


@dataclass(frozen=True)
class Placement:
    """The process of each device of a run, of which `own` is this one."""

    processes: tuple[int, ...]
    own: int

    @property
    def ranks(self) -> tuple[int, ...]:
        """The devices of this process."""
        return tuple(k for k, process in enumerate(self.processes) if process == self.own)

    @property
    def is_local(self) -> bool:
        """True if all devices are of this process."""
        return all(process == self.own for process in self.processes)
