"""Memory for agents of LangGraph: a hook before the model, and a checkpointer.

In: the states of a graph, by thread.  Out: the messages that its model is to read, and the states
again.  Invariants: a thread is a session of that name; its states stand in the file of the
memory, so that forgetting a text removes the states that hold it; a list of messages takes
nothing for those that were kept before.

Example: ``create_react_agent(model, tools, pre_model_hook=graph.hook, checkpointer=graph.saver)``.
"""

from __future__ import annotations

import hashlib
from asyncio import to_thread
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from langgraph.checkpoint import base
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)

from constat.memory.archive import STATES, Archive
from constat.memory.following import LANGCHAIN, Conversation
from constat.memory.remembering import Memory

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata

_LIST: Final = "messages"
_EMPTY: Final = "empty"


class GraphMemory:
    """The memories of all threads of a graph, in one folder.

    ``options`` are those of ``Memory``: ``policy``, ``window``, ``rules``, ``model``. With a
    ``budget`` no model reads more tokens; ``key`` is where the state has its messages.
    """

    def __init__(
        self,
        folder: Path,
        *,
        budget: int | None = None,
        key: str = "messages",
        **options: Any,  # noqa: ANN401  those of `Memory`
    ) -> None:
        self.folder = folder
        self.saver = Saver(folder)
        self._budget = budget
        self._key = key
        self._options = options
        self._lock = RLock()
        self._threads: dict[str, Conversation] = {}

    def hook(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401
        """Keep what is new in a state, and return what the model is to read; for `pre_model_hook`.

        The messages of the state stay as they are.
        """
        thread = str(config.get("configurable", {}).get("thread_id", "main"))
        found = state[self._key] if isinstance(state, dict) else getattr(state, self._key)
        # Nodes run in threads; what one thread of a graph says is kept in its order.
        with self._lock:
            return {"llm_input_messages": self.conversation(thread).context(found)}

    def conversation(self, thread: str) -> Conversation:
        """Return the conversation of a thread; its ``memory`` searches, opens and proves."""
        with self._lock:
            if thread not in self._threads:
                memory = Memory(self.folder, thread, **self._options)
                self._threads[thread] = Conversation(memory, LANGCHAIN, budget=self._budget)
            return self._threads[thread]

    def close(self) -> None:
        """Let go of the memories."""
        with self._lock:
            for one in self._threads.values():
                one.memory.close()
            self._threads.clear()


class Saver(BaseCheckpointSaver[str]):
    """Keeps states in the file of a memory."""

    def __init__(self, folder: Path, **options: Any) -> None:  # noqa: ANN401  of the base class
        super().__init__(**options)
        self._archive = Archive(folder)
        self._lock = RLock()
        self._chains: dict[tuple[str, str, str], list[tuple[object, str]]] = {}

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a state, or the newest of the thread."""
        return next(self.list(config, limit=1), None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  the name of the base class
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield states, the newest first."""
        asked, values = _selection(config, before)
        with self._archive.reading() as connection:
            if connection is None:
                return
            rows = connection.execute(asked, values).fetchall()
        for thread, space, name, parent, kind, content, told in rows:
            if limit is not None and limit <= 0:
                return
            metadata = self.serde.loads_typed(_typed(told))
            if any(metadata.get(one) != wanted for one, wanted in (filter or {}).items()):
                continue
            limit = None if limit is None else limit - 1
            checkpoint = self.serde.loads_typed((kind, content))
            yield self._tuple((thread, space, name), parent, checkpoint, metadata)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a state; values of channels that did not change are kept already."""
        thread, space, parent = _named(config)
        rest: dict[str, Any] = {**checkpoint}
        values = rest.pop("channel_values")
        told = _joined(self.serde.dumps_typed(get_checkpoint_metadata(config, metadata)))
        kept = (thread, space, checkpoint["id"], parent, *self.serde.dumps_typed(rest), told)
        with self._lock, self._archive.writing() as connection:
            for channel, version in new_versions.items():
                where = (thread, space, channel)
                kind, content = (_EMPTY, b"")
                if channel in values:
                    kind, content = self._value(connection, where, values[channel])
                connection.execute(
                    "INSERT OR REPLACE INTO state_values VALUES (?, ?, ?, ?, ?, ?)",
                    (*where, str(version), kind, content),
                )
            connection.execute("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?, ?, ?)", kept)
        return _config(thread, space, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what tasks wrote after a state; the first time counts, but for special channels."""
        thread, space, name = _named(config)
        with self._archive.writing() as connection:
            for number, (channel, value) in enumerate(writes):
                at = base.WRITES_IDX_MAP.get(channel, number)
                verb = "IGNORE" if at >= 0 else "REPLACE"
                row = (thread, space, name, task_id, at, channel, task_path)
                connection.execute(
                    f"INSERT OR {verb} INTO state_writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608  ours
                    (*row, *self.serde.dumps_typed(value)),
                )

    def delete_thread(self, thread_id: str) -> None:
        """Remove the states of a thread; what was said in it stays in the memory."""
        with self._lock, self._archive.writing() as connection:
            for table in STATES:
                connection.execute(f"DELETE FROM {table} WHERE thread = ?", (thread_id,))  # noqa: S608  ours
            for where in [one for one in self._chains if one[0] == thread_id]:
                del self._chains[where]

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """Return the version behind one; versions are in order as texts."""
        return f"{int(str(current or 0).partition('.')[0]) + 1:032}"

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Do what ``get_tuple`` does, in a thread."""
        found: CheckpointTuple | None = await _later(self.get_tuple, config)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  the name of the base class
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Do what ``list`` does, in a thread."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await _later(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Do what ``put`` does, in a thread."""
        found: RunnableConfig = await _later(self.put, config, checkpoint, metadata, new_versions)
        return found

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Do what ``put_writes`` does, in a thread."""
        await _later(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Do what ``delete_thread`` does, in a thread."""
        await _later(self.delete_thread, thread_id)

    def _tuple(
        self,
        name: tuple[str, str, str],
        parent: str | None,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
    ) -> CheckpointTuple:
        thread, space, _ = name
        with self._archive.reading() as connection:
            if connection is None:
                raise KeyError(name)
            values: dict[str, Any] = {}
            for channel, version in checkpoint["channel_versions"].items():
                found = self._read(connection, (thread, space, channel), str(version))
                values |= {channel: found[0]} if found else {}
            asked = (
                "SELECT task, number, channel, path, kind, content FROM state_writes"
                " WHERE thread = ? AND space = ? AND name = ?"
            )
            written = connection.execute(asked, name).fetchall()
        written.sort(key=lambda one: writes_sort_key(one[3], one[0], one[1]))
        writes = [(one[0], one[2], self.serde.loads_typed((one[4], one[5]))) for one in written]
        before = _config(thread, space, parent) if parent else None
        whole: Any = {**checkpoint, "channel_values": values}
        return CheckpointTuple(_config(*name), whole, metadata, before, writes)

    # A list of messages is kept as a chain: each link names the one before it and a message. A
    # list that goes on from one that was kept takes a link for each new message, and no more.

    def _value(
        self, connection: sqlite3.Connection, where: tuple[str, str, str], value: object
    ) -> tuple[str, bytes]:
        is_list = type(value) is list and bool(value)
        if not is_list or not all(_is_message(one) for one in value):  # type: ignore[attr-defined]
            typed: tuple[str, bytes] = self.serde.dumps_typed(value)
            return typed
        known = self._chains.get(where, [])
        chain: list[tuple[object, str]] = []
        for one, (other, link) in zip(value, known, strict=False):  # type: ignore[call-overload]
            if one is not other:
                break
            chain.append((one, link))
        if chain and not _has(connection, where[0], chain[-1][1]):
            # Somebody has forgotten what was kept, so nothing goes on from it.
            chain = []
        for one in value[len(chain) :]:  # type: ignore[index]
            kind, content = self.serde.dumps_typed(one)
            before = chain[-1][1] if chain else ""
            link = hashlib.sha256(f"{before} {kind} ".encode() + content).hexdigest()
            connection.execute(
                "INSERT OR IGNORE INTO state_items VALUES (?, ?, ?, ?, ?)",
                (where[0], link, before, kind, content),
            )
            chain.append((one, link))
        self._chains[where] = chain
        return (_LIST, chain[-1][1].encode())

    def _read(
        self, connection: sqlite3.Connection, where: tuple[str, str, str], version: str
    ) -> tuple[object] | None:
        asked = (
            "SELECT kind, content FROM state_values"
            " WHERE thread = ? AND space = ? AND channel = ? AND version = ?"
        )
        row = connection.execute(asked, (*where, version)).fetchone()
        if row is None or row[0] == _EMPTY:
            return None
        if row[0] != _LIST:
            return (self.serde.loads_typed(row),)
        rows = connection.execute(_CHAIN, (where[0], bytes(row[1]).decode(), where[0])).fetchall()
        return ([self.serde.loads_typed((kind, content)) for _, kind, content in rows],)


_CHAIN: Final = """
WITH RECURSIVE chain(depth, link, before, kind, content) AS (
    SELECT 0, link, before, kind, content FROM state_items WHERE thread = ? AND link = ?
    UNION ALL
    SELECT depth + 1, item.link, item.before, item.kind, item.content
    FROM state_items AS item JOIN chain ON item.link = chain.before WHERE item.thread = ?
)
SELECT depth, kind, content FROM chain ORDER BY depth DESC
"""


def _has(connection: sqlite3.Connection, thread: str, link: str) -> bool:
    asked = "SELECT 1 FROM state_items WHERE thread = ? AND link = ?"
    return connection.execute(asked, (thread, link)).fetchone() is not None


def _selection(
    config: RunnableConfig | None, before: RunnableConfig | None
) -> tuple[str, list[str]]:
    wanted: list[str] = []
    values: list[str] = []
    if config is not None:
        given = config["configurable"]
        wanted, values = ["thread = ?"], [str(given["thread_id"])]
        if "checkpoint_ns" in given:
            wanted.append("space = ?")
            values.append(str(given["checkpoint_ns"]))
        name = get_checkpoint_id(config)
        if name:
            wanted.append("name = ?")
            values.append(name)
    last = get_checkpoint_id(before) if before else None
    if last:
        wanted.append("name < ?")
        values.append(last)
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    columns = "thread, space, name, parent, kind, content, metadata"
    return f"SELECT {columns} FROM states{where} ORDER BY name DESC", values  # noqa: S608  ours


def _named(config: RunnableConfig) -> tuple[str, str, str | None]:
    given = config["configurable"]
    return str(given["thread_id"]), str(given.get("checkpoint_ns", "")), get_checkpoint_id(config)


def _config(thread: str, space: str, name: str | None) -> RunnableConfig:
    names = {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": name}
    return {"configurable": names}


def _joined(typed: tuple[str, bytes]) -> bytes:
    return typed[0].encode() + b"\n" + typed[1]


def _typed(joined: bytes) -> tuple[str, bytes]:
    kind, _, content = joined.partition(b"\n")
    return kind.decode(), content


def _is_message(one: object) -> bool:
    """Tell whether it is a message, which nobody changes; of other lists nothing is taken so."""
    return hasattr(one, "lc_serializable") and hasattr(one, "response_metadata")


async def _later(work: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401
    return await to_thread(work, *given)
