/** Deferred completions, and the secret that seals their ids. */

import type { Migration } from './migration.ts'

export const deferredSteps: readonly Migration[] = [
  {
    number: 2,
    sql: `
      create table secrets (
        name text primary key,
        value text not null
      );
      create table deferred (
        id text primary key,
        state text not null,
        owner text,
        lease_until_ms bigint not null,
        task text,
        status bigint,
        body text,
        expires_at_ms bigint not null
      );
      create index deferred_by_state on deferred (state, lease_until_ms);
      create index deferred_by_expiry on deferred (expires_at_ms)`
  },
  {
    number: 5,
    sql: `
      alter table deferred add column key_id text;
      alter table deferred add column size_bytes bigint not null default 0;
      create index deferred_by_key on deferred (key_id, state, size_bytes)`
  },
  {
    // Has all that `DeferredStore.take` compares, so it reads no other tasks, which may be long.
    number: 39,
    sql: `
      drop index deferred_by_state;
      create index deferred_by_state on deferred (state, lease_until_ms, expires_at_ms, key_id)`
  }
]
