"""MetaService: REST, a page and metrics about the topology of a warehouse, for people and programs.

It is a cache of what storage says and has no state of its own, so any number of them may run and
die. `observation.py` is one look at the warehouse, `endpoints.py` what is told of it, `models.py`
how it looks as JSON; `guard.py` and `workers.py` bound who may ask and what it may cost. It may
import `shown` and what is below, and it alone names the web libraries, which are optional. Start
with `application.py`, then `endpoints.py`.
"""
