"""Random numbers from a counter: Philox, and normals made from it."""
