"""Findings rendered: one offline HTML page, figures and tables for paper."""

from twofold.report.own_model import write_report as write_report

__all__ = ["write_report"]
