r"""A second opinion: deterministic certificates redone in ball arithmetic, from their inputs.

Nothing of the float proofs is used, and nothing from outside this folder but NumPy, python-flint:
`standalone.py` joins the files into one ``recheck.py`` that can be sent along with a proof file.
"""
