"""What operators ask of a cluster's past, answered from facts: tables, and the sections of a page with pictures.

Each report is a module: a function from a DataFrame of facts to a DataFrame of answers, which a notebook can use by
itself, and a function from that to a section. `page.py` puts sections together.
"""
