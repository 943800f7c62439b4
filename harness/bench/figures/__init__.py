"""What was measured, and what may be said of it: results, percentiles, intervals, comparisons. All of it pure."""
