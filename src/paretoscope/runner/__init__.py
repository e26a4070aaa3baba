"""Measuring: a callable or a command on any executor, driven by the one loop over rounds.

Nothing here knows a study: the loop talks to a desk (`drive.Desk`) that hands out requests and takes
values, and a measurement is anything that maps a candidate to its values.
"""
