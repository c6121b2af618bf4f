#!/bin/sh
# ApplicationStart: the application, and with it the agent. The node is registered, and paused.
set -eu

systemctl daemon-reload # the bundle may have brought units
systemctl start app.service
