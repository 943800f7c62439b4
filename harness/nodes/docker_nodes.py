"""Nodes as Docker containers on an internal network, reached over SSH exactly as a real host is.

Every run makes a key for itself and one for its hosts, so nobody else gets in and nobody else answers. Containers outlive a harness
that is killed, so all that is made carries the run's id and its owner in its labels: `clean` removes what has lost its owner. What is
detached has none: it stays until somebody opens it by its folder and closes it.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.types import EndpointConfig, IPAMConfig, IPAMPool

import docker
from harness.errors import EnvironmentFault, UserMistake
from harness.nodes.node import NodeLost, Nodes
from harness.nodes.node_image import ensure_image
from harness.nodes.process_table import find_state, start_time
from harness.nodes.ssh_connection import Host
from harness.nodes.ssh_nodes import SshNode
from harness.nodes.state_files import STATE_FILES

MAX_NODES = 99
RUN_LABEL = "highwater.run"
OWNER_LABEL = "highwater.owner"
STATE = STATE_FILES["docker"]
_NOBODY = "nobody"
_FOLDER = "/var/lib/highwater"
_SUBNETS = range(16, 254)
_CLIENT = 250
_QUICK = 5
_PATIENCE = 120


class DockerNodes(Nodes):
    """Invariant: whatever this object has made on the engine carries its run's label."""

    kind = "docker"

    def __init__(self, engine: docker.DockerClient, run_id: str, folder: Path, *, detached: bool = False) -> None:
        self.run_id = run_id
        self._made: list[SshNode] = []
        self._engine = engine
        self._folder = folder
        owner = _NOBODY if detached else f"{os.getpid()}-{start_time(os.getpid())}"
        self._labels = {RUN_LABEL: run_id, OWNER_LABEL: owner}

    @classmethod
    def create(cls, count: int, run_id: str, folder: Path, *, detached: bool = False) -> DockerNodes:
        """`count` containers and one for clients; the run's keys and addresses lie in the folder."""
        if not 1 <= count <= MAX_NODES:
            raise UserMistake(f"there can be 1 to {MAX_NODES} nodes, not {count}")
        made = cls(connect_engine(), run_id, folder, detached=detached)
        try:
            made._make(count)
            return made
        except DockerException as problem:
            made.close()
            raise EnvironmentFault(f"the Docker engine refuses: {problem}") from None
        except BaseException:
            made.close()
            raise

    @classmethod
    def open(cls, folder: Path) -> DockerNodes:
        """The nodes an earlier command made in this folder and has not closed. Raises NodeLost where they do not run any more."""
        saved = msgspec.json.decode((folder / STATE).read_bytes(), type=_Saved)
        found = cls(connect_engine(), saved.run_id, folder)
        if not found.alive():
            raise NodeLost(f"the containers made in {folder} do not run any more")
        found._know(saved.addresses)
        return found

    def alive(self) -> bool:
        """Whether every container runs."""
        found = self._engine.containers.list(all=True, filters={"label": f"{RUN_LABEL}={self.run_id}"}, ignore_removed=True)
        return bool(found) and all(container.status == "running" for container in found)

    def close(self) -> None:
        for node in self._made:
            node.hang_up()
        _remove(self._engine, self.run_id)
        (self._folder / STATE).unlink(missing_ok=True)

    def _make(self, count: int) -> None:
        image = ensure_image(self._engine)
        self._folder.mkdir(parents=True, exist_ok=True)
        key, _ = _make_key(self._folder / "key"), _make_key(self._folder / "host_key")
        secret = (self._folder / "host_key").read_bytes()
        files = _archive({"root/.ssh/authorized_keys": key.encode(), "etc/ssh/ssh_host_ed25519_key": secret})
        prefix = _make_network(self._engine, f"highwater-{self.run_id}", self._labels)
        numbers = {f"n{number}": number + 10 for number in range(1, count + 1)} | {"client": _CLIENT}
        addresses = {name: f"{prefix}.{number}" for name, number in numbers.items()}
        for name, address in addresses.items():
            self._start_container(image, f"highwater-{self.run_id}", name, address, files)
        (self._folder / STATE).write_bytes(msgspec.json.encode(_Saved(self.run_id, addresses)))
        self._know(addresses)
        for node in self._made:
            node.run(["ip", "route", "flush", "default"]).require(f"closing the way out of node {node.name}")

    def _know(self, addresses: Mapping[str, str]) -> None:
        """The nodes at these addresses, the clients' last; returns when all let us in."""
        key, host_key = self._folder / "key", (self._folder / "host_key.pub").read_text().strip()
        for name, address in addresses.items():
            host = Host(name, address, "root", key, host_key=host_key, allow_routing=True)
            self._made.append(SshNode(host, self.run_id, f"{_FOLDER}/{name}"))
        self.nodes, self.client = self._made[:-1], self._made[-1]
        for node in self._made:
            node.open(_PATIENCE)

    def _start_container(self, image: str, network: str, name: str, address: str, files: bytes) -> None:
        container: Container = self._engine.containers.create(
            image,
            name=f"highwater-{self.run_id}-{name}",
            hostname=name,
            labels=self._labels,
            cap_add=["NET_ADMIN"],
            init=True,
            network=network,
            networking_config={network: EndpointConfig(self._engine.api.api_version, ipv4_address=address)},
        )
        container.put_archive("/", files)
        container.start()


class _Saved(msgspec.Struct, frozen=True):
    run_id: str
    addresses: dict[str, str]


def available() -> str | None:
    """Why there can be none here, and the remedy; nothing if there can. The image is made when it is first needed."""
    try:
        connect_engine(_QUICK).close()
        return None
    except EnvironmentFault as problem:
        return str(problem)


def connect_engine(timeout: int = _PATIENCE) -> docker.DockerClient:
    """Raises EnvironmentFault where none answers."""
    try:
        engine = docker.from_env(timeout=timeout)
        engine.ping()
        return engine
    except DockerException as problem:
        reason = str(problem).split("(")[0].strip() or type(problem).__name__
        raise EnvironmentFault(
            f"no Docker engine answers ({reason}); ./highwater doctor --fix installs and starts one, as root; or take other nodes"
        ) from None


def clean() -> list[str]:
    """Remove what runs have left whose harness is gone; their ids."""
    engine = connect_engine()
    orphans = {labels[RUN_LABEL] for labels in _labels_of_everything(engine) if not _has_owner(labels.get(OWNER_LABEL, ""))}
    for run_id in orphans:
        _remove(engine, run_id)
    engine.close()
    return sorted(orphans)


def _labels_of_everything(engine: docker.DockerClient) -> Iterator[dict[str, str]]:
    for container in engine.containers.list(all=True, filters={"label": RUN_LABEL}, ignore_removed=True):
        yield container.labels
    for network in engine.networks.list(filters={"label": RUN_LABEL}):
        yield network.attrs["Labels"]


def _has_owner(owner: str) -> bool:
    """Nobody's is nobody's to take away."""
    if owner == _NOBODY:
        return True
    pid, _, started = owner.partition("-")
    return pid.isdigit() and started.isdigit() and find_state(int(pid), int(started)) not in (None, "Z", "X")


def _remove(engine: docker.DockerClient, run_id: str) -> None:
    ours: dict[str, Any] = {"label": f"{RUN_LABEL}={run_id}"}
    try:
        for container in engine.containers.list(all=True, filters=ours, ignore_removed=True):
            with suppress(NotFound):
                container.remove(force=True, v=True)
        for network in engine.networks.list(filters=ours):
            with suppress(NotFound):
                network.remove()
    except DockerException as problem:
        raise EnvironmentFault(f"what run {run_id} made cannot be removed from the Docker engine: {problem}") from None


def _make_network(engine: docker.DockerClient, name: str, labels: dict[str, str]) -> str:
    """In the first subnet that nobody has; the three numbers its addresses begin with."""
    for third in _SUBNETS:
        prefix = f"198.18.{third}"
        pools = IPAMConfig(pool_configs=[IPAMPool(subnet=f"{prefix}.0/24")])
        try:
            engine.networks.create(name, driver="bridge", internal=True, labels=labels, ipam=pools)
            return prefix
        except APIError as problem:
            if "overlap" not in str(problem):
                raise
    raise EnvironmentFault("every subnet in 198.18.16.0 to 198.18.253.255 is taken; remove networks (docker network prune)")


def _make_key(path: Path) -> str:
    """A private key in the file, the public one as a line beside it and returned."""
    key = Ed25519PrivateKey.generate()
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    path.with_name(f"{path.name}.pub").write_text(public + "\n")
    return public


def _archive(files: dict[str, bytes]) -> bytes:
    """As tar, for root alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
