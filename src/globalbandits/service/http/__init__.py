"""The service over HTTP: the application, its operations, their messages and the page."""
