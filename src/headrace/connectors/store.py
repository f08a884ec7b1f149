"""Files of a checkpoint: small records written atomically, and bucket files.

Any filesystem that pyarrow knows works, as long as driver and executors reach it by the same
address: the same demand that Spark makes of its checkpoint.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

from headrace.errors import QueryError

_HIDDEN = re.compile(r"\..+\.[0-9a-f]{8}")
"""Names of the temporary files of `write` and `create`."""
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}
"""What a filesystem without hard links answers to a link."""
_NOT_FOR_FOLDERS = {errno.EINVAL, errno.EBADF, errno.EACCES, errno.EISDIR}
"""What a system answers that cannot flush a folder: there is nothing to be done about it."""


def _filesystem(address: str) -> tuple[fs.FileSystem, str]:
    if "://" not in address:
        return fs.LocalFileSystem(use_mmap=True), address
    try:
        found, path = fs.FileSystem.from_uri(address)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise QueryError(
            f"{address} cannot be opened: {error}",
            choices=("a local path", "or an address that pyarrow.fs knows, as hdfs:// or s3://"),
        ) from error
    return found, path


def _is_local(filesystem: fs.FileSystem) -> bool:
    return isinstance(filesystem, fs.LocalFileSystem)


def _flush(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(path: str) -> None:
    try:
        _flush(path or ".")
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:
            raise


def _link(hidden: str, final: str) -> bool:
    """Give a file its name unless the name is taken."""
    try:
        os.link(hidden, final)
    except FileExistsError:
        # NFS may say so of a link it has just made, when the first answer was lost.
        return os.stat(hidden).st_nlink > 1
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Exclusive all the same; a process killed in between leaves an empty file.
        try:
            os.close(os.open(final, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return False
        try:
            os.replace(hidden, final)
        except BaseException:
            os.unlink(final)
            raise
    return True


@dataclass(frozen=True)
class Store:
    """A folder at an address; cheap to send to executors."""

    address: str
    sync: bool = False
    """Whether what is written on a local disk survives a power cut: a file is flushed before it
    gets its name, and its folder afterwards. Other filesystems take no notice: what they have
    closed is durable."""

    def sub(self, *names: str) -> Store:
        """A folder inside, with the same setting."""
        return Store("/".join([self.address.rstrip("/"), *names]), self.sync)

    def _open(self) -> tuple[fs.FileSystem, str]:
        return _filesystem(self.address)

    def path(self, name: str) -> str:
        """Address of a file inside."""
        return f"{self.address.rstrip('/')}/{name}"

    def make(self) -> None:
        """Create the folder and those above it; with `sync` they survive a power cut as well."""
        filesystem, path = self._open()
        made = [path.rstrip("/")]
        if self.sync and _is_local(filesystem):
            while (above := posixpath.dirname(made[-1])) and not os.path.exists(above):
                made.append(above)
        filesystem.create_dir(path, recursive=True)
        if self.sync and _is_local(filesystem):
            for folder in made:
                _flush_folder(posixpath.dirname(folder))

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
        """Write a file so that it is either absent or whole, in the place of an earlier one.

        An error leaves nothing behind: the earlier file, if there was one, is still there.
        """
        filesystem, path = self._open()
        with self._hidden(name, data) as hidden:
            filesystem.move(hidden, f"{path}/{name}")
            self._flush_names()

    def create(self, name: str, data: bytes | pa.Buffer) -> bool:
        """Write a file unless there is one by that name; whether it was written.

        On a local disk one of several that try at once succeeds, and the file is whole as soon as
        it is there. (A disk without hard links shows it empty for a moment.) Other filesystems
        have no such step: there the name is looked for first, and two that look at the same
        moment both write.
        """
        filesystem, path = self._open()
        if self.modified_s(name) is not None:
            return False
        if not _is_local(filesystem):
            self.write(name, data)
            return True
        with self._hidden(name, data) as hidden:
            is_first = _link(hidden, f"{path}/{name}")
            with suppress(OSError):  # what stays is left to `tidy`
                os.unlink(hidden)
            if is_first:
                self._flush_names()
        return is_first

    @contextmanager
    def _hidden(self, name: str, data: bytes | pa.Buffer) -> Iterator[str]:
        """A temporary file with the data, to be given its name; removed if that fails."""
        filesystem, path = self._open()
        hidden = f"{path}/.{name}.{uuid.uuid4().hex[:8]}"
        try:
            with filesystem.open_output_stream(hidden) as out:
                out.write(data)
            if self.sync and _is_local(filesystem):
                _flush(hidden)
            yield hidden
        except BaseException:
            with suppress(OSError):  # the first error is the one to tell
                filesystem.delete_file(hidden)
            raise

    def _flush_names(self) -> None:
        filesystem, path = self._open()
        if self.sync and _is_local(filesystem):
            _flush_folder(path)

    def tidy(self) -> int:
        """Delete the temporary files that a killed process left; how many there were.

        For the only user of the folder: another's files are temporary until they are whole.
        """
        filesystem, path = self._open()
        infos = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
        left = [posixpath.basename(i.path) for i in infos if i.type == fs.FileType.File]
        left = [name for name in left if _HIDDEN.fullmatch(name)]
        for name in left:
            self.delete(name)
        return len(left)

    def modified_s(self, name: str) -> float | None:
        """When a file was last written, in seconds since the epoch; None if there is none."""
        filesystem, path = self._open()
        info = filesystem.get_file_info(f"{path}/{name}")
        if info.type == fs.FileType.NotFound:
            return None
        return 0.0 if info.mtime_ns is None else float(info.mtime_ns) / 1e9

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
