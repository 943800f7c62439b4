"""One module an API family: a decoded request in, a domain call, a response out."""
