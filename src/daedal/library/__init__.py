"""Ready components, named after the Modelica Standard Library: electrical, rotational, translational, thermal, fluid.

A component is a function that returns an ordinary Model with ports; its own symbols are short and local, `assemble`
puts the part's path before them. Parameters are SI values, expressions, or a `Parameter` with bounds. `blocks` have
signals in place of ports.
"""
