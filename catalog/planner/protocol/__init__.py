"""The messages between Scala and Python: a value for each request, handle and answer.

May import: values of `catalog` and `storage`; nothing else of the planner.
Start with `json_form.py`, which turns JSON into these values and back; then `scans.py`, an example.
The bridge's requests are in `catalog/bridge/process/Requests.scala`; a test compares both.
"""
