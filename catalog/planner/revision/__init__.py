"""CALL sys.revise: corrects a table, and lets all that stands on it follow to one barrier.

It may import `jobs` and the rooms below. Start with `revise.py`; what is to be done is planned in
`catalog.meta_service.revision_plan`.
"""
