"""Files of a checkpoint: small JSON records written atomically, and bucket files.

Any filesystem that pyarrow knows works, as long as driver and executors reach it by the same
address: the same demand that Spark makes of its checkpoint.
"""

from __future__ import annotations

import json
import posixpath
import uuid
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import fs


def _filesystem(address: str) -> tuple[fs.FileSystem, str]:
    found, path = (
        fs.FileSystem.from_uri(address)
        if "://" in address
        else (
            fs.LocalFileSystem(use_mmap=True),
            address,
        )
    )
    return found, path


@dataclass(frozen=True)
class Store:
    """A folder at an address; cheap to send to executors."""

    address: str

    def sub(self, *names: str) -> Store:
        """A folder inside."""
        return Store("/".join([self.address.rstrip("/"), *names]))

    def _open(self) -> tuple[fs.FileSystem, str]:
        return _filesystem(self.address)

    def path(self, name: str) -> str:
        """Address of a file inside."""
        return f"{self.address.rstrip('/')}/{name}"

    def make(self) -> None:
        """Create the folder."""
        filesystem, path = self._open()
        filesystem.create_dir(path, recursive=True)

    def names(self) -> list[str]:
        """Names of the files inside, sorted; temporary ones are left out."""
        filesystem, path = self._open()
        infos = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(
            posixpath.basename(i.path)
            for i in infos
            if i.type == fs.FileType.File and not posixpath.basename(i.path).startswith((".", "_"))
        )

    def folders(self) -> list[str]:
        """Names of the folders inside, sorted."""
        filesystem, path = self._open()
        infos = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
        found = [posixpath.basename(i.path) for i in infos if i.type == fs.FileType.Directory]
        return sorted(found)

    def write(self, name: str, data: bytes | pa.Buffer) -> None:
        """Write a file so that it is either absent or whole."""
        filesystem, path = self._open()
        hidden = f"{path}/.{name}.{uuid.uuid4().hex[:8]}"
        with filesystem.open_output_stream(hidden) as out:
            out.write(data)
        filesystem.move(hidden, f"{path}/{name}")

    def read(self, name: str) -> pa.Buffer:
        """The bytes of a file."""
        filesystem, path = self._open()
        with filesystem.open_input_file(f"{path}/{name}") as source:
            return source.read_buffer()

    def read_range(self, name: str, offset: int, length: int) -> pa.Buffer:
        """Some bytes of a file; mapped, not copied, on a local disk."""
        filesystem, path = self._open()
        source = filesystem.open_input_file(f"{path}/{name}")
        source.seek(offset)
        return source.read_buffer(length)

    def delete(self, name: str) -> None:
        """Remove a file if it is there."""
        filesystem, path = self._open()
        try:
            filesystem.delete_file(f"{path}/{name}")
        except FileNotFoundError:
            return

    def delete_all(self) -> None:
        """Remove the folder and what is in it."""
        filesystem, path = self._open()
        if filesystem.get_file_info(path).type == fs.FileType.Directory:
            filesystem.delete_dir(path)

    def write_json(self, name: str, value: Any) -> None:
        """A JSON record."""
        self.write(name, json.dumps(value, separators=(",", ":")).encode())

    def read_json(self, name: str) -> Any:
        """A JSON record back."""
        return json.loads(self.read(name).to_pybytes())
