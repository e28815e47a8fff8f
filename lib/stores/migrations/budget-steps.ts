/** Gateways that share budgets, and spending of parties other than keys and projects. */

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
  },
  {
    // Owners of earlier keys are identified by id, or by a name that only one person has.
    number: 35,
    sql: `
      alter table users add column limits text;
      alter table keys add column owner_id text;
      update keys set owner_id = coalesce(
        (select id from users where users.id = keys.created_by),
        (select min(id) from users where users.name = keys.created_by group by name having count(*) = 1)
      );
      alter table usage add column parties text;
      create table party_spending (
        span_ms bigint not null, party text not null, from_ms bigint not null, cost_nano_usd bigint not null,
        primary key (span_ms, party, from_ms)
      ) without rowid;
      create index party_spending_by_age on party_spending (span_ms, from_ms)`
  },
  {
    // End users of a project are a range of parties in byte order, as in SQLite.
    number: 37,
    sql: `
      drop index party_spending_by_age;
      create index party_spending_by_age on party_spending (span_ms, from_ms, party)`,
    postgres: sql => `alter table party_spending alter column party type text collate "C"; ${sql}`
  }
]
