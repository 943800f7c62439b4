"""Suites: what is measured and how carefully, as data. The TOML files here are those that come with the project."""
