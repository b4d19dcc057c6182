"""An application on the library: the command line, the report and the demo; nothing imports it."""
