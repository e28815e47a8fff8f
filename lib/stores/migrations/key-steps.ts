/** The keys of callers. */

import type { Migration } from './migration.ts'

export const keySteps: readonly Migration[] = [
  {
    number: 1,
    sql: `
      create table keys (
        id text primary key,
        name text not null,
        digest text not null unique,
        endpoints text,
        models text,
        created_at_ms bigint not null,
        expires_at_ms bigint,
        revoked_at_ms bigint
      );
      create unique index keys_in_use on keys (name) where revoked_at_ms is null`
  },
  {
    number: 4,
    sql: 'alter table keys add column limits text'
  },
  {
    number: 7,
    sql: `
      alter table keys add column mcp_servers text;
      alter table keys add column mcp_urls bigint`
  },
  {
    number: 11,
    sql: 'alter table keys add column provider_objects bigint'
  },
  {
    number: 18,
    sql: 'alter table keys add column temporary bigint'
  },
  {
    // `null` for keys of earlier versions.
    number: 23,
    sql: 'alter table keys add column set_by_admin text'
  },
  {
    number: 27,
    sql: `
      alter table keys add column stages text;
      alter table projects add column stages text`
  }
]
