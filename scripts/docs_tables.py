"""Format the tables of an SQLite file for the documentation."""

from __future__ import annotations

from spotball_core.service.sqlite_file import Column, Schema, Table


def tables(schema: Schema, *, version: int, file: str | None = None) -> str:
    """Return a section in Markdown for each table.

    Args:
        version: the schema's version that the page states.
        file: the name of the SQLite file, if the page describes several files.
    """
    assert schema.version == version
    return "\n".join(_section(name, table, file) for name, table in schema.tables.items())


def _section(name: str, table: Table, file: str | None) -> str:
    keys = ", ".join(f"`{column}`" for column in table.key)
    lines = [f"### {name}\n", f"{f'In `{file}`. ' if file else ''}{table.meaning} Key: {keys}.\n"]
    lines += ["| Column | Type | Meaning |", "| --- | --- | --- |"]
    lines += [f"| `{column.name}` | {_kind(column, table)} | {column.meaning} |" for column in table.columns]
    return "\n".join(lines) + "\n"


def _kind(column: Column, table: Table) -> str:
    required = "NOT NULL" in column.type or column.name in table.key
    return column.type.split()[0] + ("" if required else " or null")
