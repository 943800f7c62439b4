"""What a killed harness left: a benchmark has no history to save, and is tidied all the same."""

import json
import os

from harness.run.folder import RunFolder, ownerless
from harness.run.leftovers import clean


def test_the_folder_of_a_benchmark_whose_process_is_gone_is_tidied(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.run.leftovers._clean_docker", lambda: iter(()))
    monkeypatch.setattr("harness.run.leftovers._orphaned_keepers", lambda: iter(()))
    folder = RunFolder.without_history(tmp_path, "bench-quick")
    (folder.path / "running.json").write_text(json.dumps({"pid": os.getpid(), "started": 1}))
    assert list(clean(tmp_path)) == [f"tidied {folder.path}"]
    assert not folder.work.exists() and list(ownerless(tmp_path)) == []
