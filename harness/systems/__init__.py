"""Systems: how a broker is installed, started, stopped and told to be up on a host."""
