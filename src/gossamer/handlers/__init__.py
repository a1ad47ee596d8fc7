"""A page becomes findings: new URLs, records. Where users extend.

In: a Document (bytes kept) and its Page (bytes understood). Out: Findings, which the pipeline
commits in one transaction. Never: a network request, a database, a file.
"""
