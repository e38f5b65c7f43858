"""One file for each command, or group of commands. A command imports no other command."""
