"""Analysis: from a history to anomalies with witnesses, metrics and a report, on Apache Spark."""
