"""memory.db: schema, connections and every statement that runs against it."""
