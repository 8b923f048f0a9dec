"""What executes a plan, and what its steps are called there. Both engines execute one plan; the words differ
where the steps do."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.runtime.late_dataclass import dataclass

Details = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Engine:
    """What an explanation is about. `label` heads its lines; `sql` is what reads, filters, joins and sorts,
    and `worker` what a kernel runs in. `processes` are those of the local engine that share the keys, 0 on
    Spark, where tasks do. `why` says what `neelc run` takes and why; None if nobody has asked, or if there
    are no data. `evaluated` are the operations that neelc's runtime computes for DuckDB, row by row."""

    label: str
    sql: str
    worker: str
    processes: int
    why: str | None = None
    evaluated: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As `--engine` has it."""
        return self.label.lower()

    @property
    def is_local(self) -> bool:
        return self.processes > 0

    def scan_title(self, title: str, is_split: bool) -> str:
        """How a stream is read.

        >>> SPARK.scan_title("read S once", False), local_engine(2).scan_title("read S once", True)
        ('read S once', 'read S once in each process, by DuckDB')
        """
        if not self.is_local or not title.startswith("read"):
            return title
        return f"{title}{' in each process' if is_split else ''}, by {self.sql}"

    def sort_title(self, title: str) -> str:
        return f"{title}, by {self.sql}" if self.is_local else title

    def by_keys(self, names: Sequence[str], is_split: bool) -> str | None:
        """How the events of a key are brought together; None if sorting them is enough.

        >>> SPARK.by_keys(["id"], False), local_engine(1).by_keys(["id"], False)
        ('shuffle by id', None)
        >>> local_engine(4).by_keys(["id"], True)
        'split by a hash of id over 4 processes'
        """
        if not self.is_local:
            return f"shuffle by {', '.join(names)}"
        return f"split by a hash of {', '.join(names)} over {self.processes} processes" if is_split else None

    def by_time(self, is_split: bool) -> str:
        """How chunks of time are made, where there is no key."""
        if not self.is_local:
            return "shuffle by chunks of time"
        return "cut into chunks of time" + (f", split over {self.processes} processes" if is_split else "")

    def in_one_place(self) -> str | None:
        """How events come together that nothing divides; None if they are together anyway."""
        return None if self.is_local else "bring everything to one place"

    def host_sentence(self) -> str:
        """What the SQL around MATCH_RECOGNIZE is."""
        if self.is_local:
            return f"{self.sql} runs the query around it in its own dialect; its clauses are relations in it"
        return "The query around it is Spark's own; its clauses are relations in it"

    def cost_note(self) -> str | None:
        """What is to be said about work that is none here."""
        if not self.is_local:
            return None
        return "One cost model, measured on Spark, chooses for both engines; here nothing is shuffled."

    def evaluated_sentence(self) -> str | None:
        """What DuckDB does not compute itself.

        >>> Engine("Local", "DuckDB", "the kernel", 1, None, ("hex",)).evaluated_sentence()
        'neelc evaluates hex for DuckDB, in Python: slower than what DuckDB has itself.'
        """
        if not self.evaluated:
            return None
        names = ", ".join(self.evaluated)
        return f"neelc evaluates {names} for {self.sql}, in Python: slower than what {self.sql} has itself."

    def rules_read(self) -> str:
        """What rules with one key do together once."""
        if not self.is_local:
            return "one shuffle, one sort"
        each = f", in each of {self.processes} processes" if self.processes > 1 else ""
        return f"one sort, by {self.sql}{each}"


SPARK = Engine("Spark", "Spark", "the worker", 0)


def kernels_run_in(processes: int) -> str:
    """
    >>> kernels_run_in(1), kernels_run_in(2)
    ('Kernels run in one process.', 'Kernels run in 2 processes, if they have keys or chunks of time.')
    """
    where = "one process" if processes == 1 else f"{processes} processes, if they have keys or chunks of time"
    return f"Kernels run in {where}."


def local_engine(processes: int = 1, why: str | None = None) -> Engine:
    """The local engine; what it reads is worth so many processes."""
    return Engine("Local", "DuckDB", "the kernel", processes, why)
