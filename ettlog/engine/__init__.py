"""Spark, Spark Connect and Sail in the place of this machine: the same parsers and the same SQL (docs/engines.md).

An engine is named by a word or an address: `sail` (in this process, no Java), `sc://host:port` (Spark Connect,
Databricks), `spark://host:port`, `yarn`, `local[4]`, `local-cluster[2,1,1024]` (Spark with its own Java).
"""
