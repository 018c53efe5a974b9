"""Provide basic services for all packages: files, paths, SQLite, plugins, the web, memory and processes."""
