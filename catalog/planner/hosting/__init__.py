"""What a job runner asks each second: which submitted jobs and which views it is to go on with.

May import: the planner's room `jobs`, and what that may import. Start with `host_requests.py`.
"""
