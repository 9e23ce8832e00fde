"""What each pass did: the records that a pipeline keeps."""
