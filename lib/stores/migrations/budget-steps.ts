/** Gateways that share the budgets of keys. */

import type { Migration } from './migration.ts'

export const budgetSteps: readonly Migration[] = [
  {
    number: 9,
    sql: `
      create table gateways (id text primary key, seen_ms bigint not null);
      create table holdings (
        gateway_id text not null, key_id text not null, from_ms bigint not null, nano_usd bigint not null,
        primary key (gateway_id, key_id, from_ms)
      )`
  }
]
