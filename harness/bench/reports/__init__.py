"""A result for people and for programs: a page, Markdown, CSV, JSON."""
