/** Alerts, and leases for work that one process does for all. */

import type { Migration } from './migration.ts'

export const alertSteps: readonly Migration[] = [
  {
    number: 31,
    sql: `
      create table leases (
        name text primary key,
        until_ms bigint not null
      ) without rowid;
      create table alerts (
        id text not null unique,
        event text not null,
        at_ms bigint not null,
        message text not null,
        data text not null,
        primary key (at_ms, id)
      ) without rowid;
      create table alert_deliveries (
        alert_id text not null,
        channel text not null,
        state text not null,
        attempts bigint not null,
        next_at_ms bigint not null,
        error text,
        delivered_at_ms bigint,
        primary key (alert_id, channel)
      ) without rowid;
      create index alert_deliveries_pending on alert_deliveries (next_at_ms) where state = 'pending';
      create table alert_conditions (
        name text primary key,
        since_ms bigint not null,
        seen_ms bigint not null
      ) without rowid`
  },
  {
    number: 33,
    sql: `
      alter table alerts add column raised_ms bigint not null default 0;
      update alerts set raised_ms = at_ms;
      create index alerts_raised on alerts (raised_ms)`
  }
]
