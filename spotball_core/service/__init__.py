"""Files, paths, SQLite, plugins, the web and memory: what every other package builds on."""
