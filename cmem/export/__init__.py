"""The store as files for people and for other stores."""
