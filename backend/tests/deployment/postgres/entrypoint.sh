#!/bin/sh
# Makes the database on the first start, then becomes the server, as the user postgres.
set -eu
if [ "$(id -u)" -eq 0 ]; then
  chown postgres:postgres "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE \"$POSTGRES_DB\";" | postgres --single -j -D "$PGDATA" postgres >/dev/null
fi
exec postgres -c listen_addresses='*' "$@"
