"""Where a study is kept: in memory, in a SQLite file, or on a database server."""

from __future__ import annotations

import contextlib
import sqlite3
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lossnet.errors import DataError, SettingError

#: The study of a folder.
FILE = "study.db"
#: Seconds between signs of life of a running trial, and without one after which it is retried.
HEARTBEAT, GRACE = 30, 120
#: How workers of several machines take turns: a lock that ends with the connection, however that
#: is, by the name of SQLAlchemy's dialect.
_LOCKS = {
    "postgresql": "SELECT pg_advisory_xact_lock(1819243379)",
    "mysql": "SELECT GET_LOCK('lossnet', 86400)",
    "mariadb": "SELECT GET_LOCK('lossnet', 86400)",
}


def need_optuna() -> Any:
    """Optuna, silenced; where it is not installed, an error that says what to install."""
    try:
        import optuna
    except ImportError as error:
        missing = f"a search needs the search extra, and optuna cannot be imported ({error})"
        raise SettingError(f"{missing}; run pip install 'lossnet[search]'") from error
    # A trial that fails is reported by the search itself.
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    return optuna


def open_storage(folder: Path | None, url: str | None) -> Any:
    """The storage at a URL, else in a folder, else in memory."""
    optuna = need_optuna()
    if url is None and folder is None:
        return optuna.storages.InMemoryStorage()
    local = folder is not None and url is None
    if local:
        assert folder is not None
        check_file(folder / FILE)
        url = f"sqlite:///{(folder / FILE).resolve()}"
    options: dict[str, Any] = {"heartbeat_interval": HEARTBEAT, "grace_period": GRACE}
    if local:
        assert folder is not None
        options["engine_kwargs"] = {"creator": partial(_connect, folder / FILE)}
    with quiet(), _usable(url):
        return optuna.storages.RDBStorage(url, **options)


@contextlib.contextmanager
def server_turn(url: str | None) -> Iterator[None]:
    """Keep workers of other machines waiting; without a database server there is no need."""
    if url is None:
        yield
        return
    from sqlalchemy import NullPool, create_engine, text

    with _usable(url):
        engine = create_engine(url, poolclass=NullPool)
    lock = _LOCKS.get(engine.dialect.name)
    if lock is None:
        yield
        return
    with engine.connect() as connection:
        connection.execute(text(lock))
        yield


@contextlib.contextmanager
def _usable(url: str | None) -> Iterator[None]:
    """A URL that cannot be used, and a driver that is not installed, as our errors."""
    from sqlalchemy.exc import ArgumentError

    try:
        yield
    except ImportError as error:
        what = f"--storage {_without_password(url)} needs a database driver ({error})"
        remedy = "install it, such as pip install 'psycopg[binary]' for postgresql+psycopg://"
        raise SettingError(f"{what}; {remedy}") from error
    except ArgumentError as error:
        rule = "expected a database URL such as postgresql+psycopg://user@host/name"
        raise SettingError(f"--storage {_without_password(url)}: {rule} ({error})") from error


def _connect(path: Path) -> sqlite3.Connection:
    """A connection that waits for other workers, and does not wait for the disk at every write.

    A process that is killed loses nothing; a power cut may lose the last writes, not more.
    """
    connection = sqlite3.connect(path, timeout=120, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def close_storage(storage: Any) -> None:
    """Close the connections, which other files next to that of the study belong to."""
    if hasattr(storage, "engine"):
        storage.remove_session()
        storage.engine.dispose()


def check_file(path: Path) -> None:
    """Raise where there is a damaged SQLite file, or the study next to its trials is missing."""
    remedy = "remove the folder and search again, or restore the file"
    if not path.exists() or not path.stat().st_size:
        if (path.parent / "trials.csv").exists():
            raise DataError(f"{path} is missing or empty, and trials.csv is not; {remedy}")
        return
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=120)) as connection:
            found = connection.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.Error as error:
        found = str(error)
    if found != "ok":
        raise DataError(f"{path} is damaged ({found}); {remedy}")


@contextlib.contextmanager
def explained(folder: Path | None, url: str | None) -> Iterator[None]:
    """Errors of the storage as ours."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    where = f"the storage {_without_password(url)}" if url else f"{folder}/{FILE}"
    try:
        yield
    except (SQLAlchemyError, StorageInternalError, sqlite3.Error) as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise DataError(f"cannot read or write {where}: {reason}") from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without Optuna's warnings that heartbeats are experimental."""
    with warnings.catch_warnings():
        from optuna.exceptions import ExperimentalWarning

        warnings.simplefilter("ignore", ExperimentalWarning)
        yield


def _without_password(url: str | None) -> str:
    """The URL without the password in it, for messages."""
    scheme, found, rest = str(url).partition("://")
    user, at, host = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host}" if found else str(url)
