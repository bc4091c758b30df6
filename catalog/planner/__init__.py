"""The Python side of the bridge: sessions, and one function for each request of the JVM."""
