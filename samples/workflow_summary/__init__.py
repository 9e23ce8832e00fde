"""A Workflow with a DataSummarizer node."""
