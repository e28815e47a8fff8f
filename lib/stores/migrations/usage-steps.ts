/** The usage ledger, and what it adds up to. */

import type { Migration } from './migration.ts'

export const usageSteps: readonly Migration[] = [
  {
    number: 3,
    sql: `
      create table usage (
        id text primary key,
        call_id text not null,
        at_ms bigint not null,
        key_id text not null,
        endpoint text not null,
        requested_model text,
        model text,
        provider text,
        outcome text not null,
        status bigint,
        error_code text,
        streamed bigint not null,
        attempts bigint not null,
        turns bigint,
        prompt_tokens bigint,
        completion_tokens bigint,
        cached_tokens bigint,
        reasoning_tokens bigint,
        estimated bigint not null,
        pages bigint,
        audio_ms bigint,
        characters bigint,
        images bigint,
        cost_nano_usd bigint,
        own_provider_key bigint not null,
        duration_ms bigint not null,
        first_byte_ms bigint
      );
      create index usage_by_time on usage (at_ms);
      create index usage_by_key on usage (key_id, at_ms);
      create table pruned_usage (
        key_id text not null,
        day_ms bigint not null,
        cost_nano_usd bigint not null,
        primary key (key_id, day_ms)
      )`
  },
  {
    // A row of usage is in two trees instead of four; what a key has spent is one row a day.
    number: 6,
    sql: `
      create table usage_by_moment (
        id text not null,
        call_id text not null,
        at_ms bigint not null,
        key_id text not null,
        endpoint text not null,
        requested_model text,
        model text,
        provider text,
        outcome text not null,
        status bigint,
        error_code text,
        streamed bigint not null,
        attempts bigint not null,
        turns bigint,
        prompt_tokens bigint,
        completion_tokens bigint,
        cached_tokens bigint,
        reasoning_tokens bigint,
        estimated bigint not null,
        pages bigint,
        audio_ms bigint,
        characters bigint,
        images bigint,
        cost_nano_usd bigint,
        own_provider_key bigint not null,
        duration_ms bigint not null,
        first_byte_ms bigint,
        primary key (at_ms, id)
      ) without rowid;
      insert into usage_by_moment select * from usage;
      drop table usage;
      alter table usage_by_moment rename to usage;
      create index usage_by_key on usage (key_id, at_ms);
      create table spending (
        key_id text not null,
        day_ms bigint not null,
        cost_nano_usd bigint not null,
        primary key (key_id, day_ms)
      ) without rowid;
      insert into spending
        select key_id, day_ms, sum(cost) from (
          select key_id, at_ms - at_ms % 86400000 as day_ms, cost_nano_usd as cost from usage where cost_nano_usd > 0
          union all
          select key_id, day_ms, cost_nano_usd as cost from pruned_usage
        ) as costs group by key_id, day_ms;
      drop table pruned_usage;
      alter table deferred add column attempts bigint not null default 0`,
    // A partition for each month, which `insertUsage` makes. No store on PostgreSQL is older than this step: no row is moved.
    postgres: sql => sql.replace('without rowid', 'partition by range (at_ms)')
  },
  {
    number: 8,
    sql: `
      alter table usage add column cache_write_tokens bigint;
      alter table usage add column searches bigint;
      alter table usage add column image_size text;
      alter table usage add column image_quality text`
  }
]
