/** Files of usage rows, exported or pending. */

import type { Migration } from './migration.ts'

export const exportSteps: readonly Migration[] = [
  {
    number: 34,
    sql: `
      create table usage_exports (
        target text not null,
        from_ms bigint not null,
        until_ms bigint not null,
        state text not null,
        file text,
        revision bigint not null,
        rows bigint not null,
        calls bigint not null,
        bytes bigint not null,
        sums text,
        attempts bigint not null,
        next_at_ms bigint not null,
        error text,
        written_at_ms bigint,
        primary key (target, from_ms)
      ) without rowid;
      create index usage_exports_waiting on usage_exports (target, from_ms) where state = 'waiting'`
  }
]
