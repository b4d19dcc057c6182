"""The report: one HTML page about a model and its samples.

jinja2 and matplotlib come with the extra ``report`` and are imported only when a page is written.
"""

from tenfold.app.report.model_page import write_report

__all__ = ["write_report"]
