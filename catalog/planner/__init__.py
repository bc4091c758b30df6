"""The Python side of the bridge: one function for each request of the JVM.

May import: `catalog` and `storage`. The order in here, top first: `requests.py`, `stream`,
`write`, `read`, `names`, `process`, `protocol`.
Start with `requests.py`, the table of all requests; `process/endpoint.py`, which calls them.
"""
