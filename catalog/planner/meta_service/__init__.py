"""Requests about the topology: which barrier a statement reads.

It may import `jobs` and the rooms below. Start with `consistency_requests.py`.
"""
