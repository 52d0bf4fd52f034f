"""Runs: settings resolved, studies run once, results kept, resumed bit for bit."""
