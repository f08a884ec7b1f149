"""The life of queries: requests in, numbered changelogs out."""
