"""A smaller plan that still fails: fewer faults, fewer clients, a shorter run. What is left is what it takes."""
