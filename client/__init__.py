"""What programs without Spark work with: tables, scans and warehouses.

It may import all of storage, and of the catalog what knows no Spark. Start reading at `table.py`.
"""
