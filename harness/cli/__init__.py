"""The command line: one module a command, each with `main(argv) -> exit code`, imported only when it is asked for."""
