"""Programs over HTTP: a JSON interface, a dashboard, and a client; needs the extra `service`."""
