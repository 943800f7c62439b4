"""What can be checked: the folder of a run, one file of a history, or a foreign history.

A foreign history is laid out into our format first, in a folder that is gone afterwards; from there on nothing knows where it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

from analysis.jepsen import Imported, import_history
from analysis.material import Material, read_material
from harness.history.errors import HistoryError
from harness.history.files import history_directory
from harness.history.readers import inspect, join_files

FOREIGN = (".edn", ".json", ".jsonl")
ZIPPED = ".gz"
OWN = ".parquet"


class Form(Enum):
    RUN = "the folder of a run"
    FILE = "a file of a history"
    FOREIGN = "a foreign history"


@dataclass(frozen=True, slots=True)
class Source:
    path: Path
    form: Form


def source_at(path: Path) -> Source:
    """A HistoryError where there is nothing to check."""
    if not path.exists():
        raise HistoryError(f"{path} does not exist")
    if path.is_dir():
        if not history_directory(path).is_dir():
            raise HistoryError(f"{path} is not the folder of a run: there is no folder `history` in it (a folder of histories: --each)")
        return Source(path, Form.RUN)
    if path.suffix == OWN:
        return Source(path, Form.FILE)
    if _is_foreign(path):
        return Source(path, Form.FOREIGN)
    foreign = f"{', '.join(FOREIGN)}, also with {ZIPPED}"
    raise HistoryError(f"{path} is no history: a run's folder, a {OWN} file of one, or a foreign one ({foreign})")


def sources_in(folder: Path) -> list[Source]:
    """Every history in a folder, by name: files, and folders of runs."""
    if not folder.is_dir():
        raise HistoryError(f"{folder} is no folder; --each checks every history in one")
    found = [Source(path, Form.FILE if path.suffix == OWN else Form.FOREIGN) for path in folder.iterdir() if _is_file_of_one(path)]
    found += [Source(path, Form.RUN) for path in folder.iterdir() if path.is_dir() and history_directory(path).is_dir()]
    if not found:
        raise HistoryError(f"there is no history in {folder}: neither a run's folder nor a file ({', '.join((OWN, *FOREIGN, ZIPPED))})")
    return sorted(found, key=lambda source: source.path.name)


LayOut = Callable[[Path, Path], Imported]
"""Lays a foreign file out in a folder."""


@contextmanager
def opened(source: Source, lay_out: LayOut = import_history) -> Iterator[Material]:
    """What it holds, for as long as the block runs. One that cannot be read holds nothing but the reason."""
    with ExitStack() as stack:
        try:
            material = _imported(source, stack, lay_out) if source.form is Form.FOREIGN else material_of(source)
        except HistoryError as problem:
            material = Material(source.path, join_files([]), problems=(str(problem),))
        yield material


def material_of(source: Source) -> Material:
    """Of a source in our own format."""
    return read_material(source.path) if source.form is Form.RUN else Material(source.path, join_files([inspect(source.path)]))


def _imported(source: Source, stack: ExitStack, lay_out: LayOut) -> Material:
    """Lines that cannot be read are named; those that change nothing are not worth a doubt."""
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="highwater-import-")))
    imported = lay_out(source.path, folder / "run")
    material = read_material(folder / "run")
    serious = tuple(str(problem) for problem in imported.problems if not problem.harmless)
    more = imported.serious - len(serious)
    return replace(material, problems=(*material.problems, *serious, *((f"{more:,} more lines",) if more else ())))


def _is_file_of_one(path: Path) -> bool:
    return path.is_file() and (path.suffix == OWN or _is_foreign(path))


def _is_foreign(path: Path) -> bool:
    return Path(path.name.removesuffix(ZIPPED)).suffix in FOREIGN
