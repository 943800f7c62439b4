"""One HTML file that tells what a run was, what it showed, and why that is right or wrong; it needs nothing but a browser."""

from analysis.report.page import REPORT_FILE, write_report

__all__ = ["REPORT_FILE", "write_report"]
