/** The usage ledger and its sums. */

import { sumCountsSqlite, sumCountsPostgres, bucketSql } from '../percentiles.ts'
import type { Migration } from './migration.ts'

const group = 'key_id, model, provider, endpoint'

/**
 * Returns statements that count the durations of complete calls in buckets: by hour, and by day from those.
 */
function countDurations (
  column: 'latencies' | 'first_bytes',
  duration: 'duration_ms' | 'first_byte_ms'
): string {
  const texts = column === 'latencies' ? 'counts, null' : 'null, counts'
  return `
      create table counted as
        select at_ms - at_ms % 3600000 as from_ms, key_id, substr(coalesce(model, ''), 1, 200) as model, coalesce(provider, '') as provider, endpoint,
          ${bucketSql(duration)} as bucket, count(*) as number
        from usage where outcome = 'ok' and ${duration} is not null group by 1, 2, 3, 4, 5, 6;
      ${[3_600_000, 86_400_000].map(span => `
      insert into usage_rollups
        select ${span}, from_ms, ${group}, ${'0, '.repeat(16)} ${texts} from (
          select from_ms, ${group}, string_agg(bucket || ':' || number, ',') as counts from (
            select from_ms - from_ms % ${span} as from_ms, ${group}, bucket, sum(number) as number
              from counted group by 1, 2, 3, 4, 5, 6
          ) as added group by from_ms, ${group}
        ) as joined where true
        on conflict (span_ms, from_ms, ${group}) do update set ${column} = excluded.${column};`).join('')}
      drop table counted`
}

const nameSums = `calls, errors, cancelled, estimated_calls, unpriced_calls, prompt_tokens, completion_tokens,
  cached_tokens, cache_write_tokens, reasoning_tokens, searches, pages, audio_ms, characters, images,
  cost_nano_usd`

/** Returns the statement that sums over all names by day, project and model. */
function sumAllNames (addedCounts: (counts: string) => string): string {
  const sums = nameSums.split(',').map(name => `sum(${name}) as ${name}`).join(', ')
  return `
      insert into name_rollups (kind, from_ms, project_id, name, model, ${nameSums}, latencies, first_bytes)
        select kind, from_ms, project_id, '', model, ${nameSums},
          ${addedCounts('latencies')}, ${addedCounts('first_bytes')}
        from (
          select kind, from_ms, project_id, model, ${sums},
            string_agg(latencies, ',') as latencies, string_agg(first_bytes, ',') as first_bytes
          from name_rollups where kind <> 'tagged' group by kind, from_ms, project_id, model
        ) as of_all`
}

/** The step from which sums over all names exist. */
export const allNamesStep = 38

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
    // A row of usage is in two B-trees instead of four; a key's spending is one row per day.
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
    // One partition per month, created by `insertUsage`. No PostgreSQL store predates this step, so no rows
    // are moved.
    postgres: sql => sql.replace('without rowid', 'partition by range (at_ms)')
  },
  {
    number: 8,
    sql: `
      alter table usage add column cache_write_tokens bigint;
      alter table usage add column searches bigint;
      alter table usage add column image_size text;
      alter table usage add column image_quality text`
  },
  {
    // Sums by hour and by day, including those of existing rows.
    number: 15,
    sql: `
      create table usage_rollups (
        span_ms bigint not null,
        from_ms bigint not null,
        key_id text not null,
        model text not null,
        provider text not null,
        endpoint text not null,
        calls bigint not null,
        errors bigint not null,
        cancelled bigint not null,
        estimated_calls bigint not null,
        unpriced_calls bigint not null,
        prompt_tokens bigint not null,
        completion_tokens bigint not null,
        cached_tokens bigint not null,
        cache_write_tokens bigint not null,
        reasoning_tokens bigint not null,
        searches bigint not null,
        pages bigint not null,
        audio_ms bigint not null,
        characters bigint not null,
        images bigint not null,
        cost_nano_usd bigint not null,
        latencies text,
        first_bytes text,
        primary key (span_ms, from_ms, key_id, model, provider, endpoint)
      ) without rowid;
      insert into usage_rollups
        select 3600000, at_ms - at_ms % 3600000, key_id, substr(coalesce(model, ''), 1, 200), coalesce(provider, ''), endpoint, count(*),
          count(case when outcome in ('error', 'interrupted') then 1 end), count(case when outcome = 'client_closed' then 1 end),
          count(case when estimated = 1 and cost_nano_usd > 0 then 1 end), count(case when cost_nano_usd is null then 1 end),
          coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cached_tokens), 0),
          coalesce(sum(cache_write_tokens), 0), coalesce(sum(reasoning_tokens), 0), coalesce(sum(searches), 0), coalesce(sum(pages), 0),
          coalesce(sum(audio_ms), 0), coalesce(sum(characters), 0), coalesce(sum(images), 0), coalesce(sum(cost_nano_usd), 0), null, null
        from usage group by 1, 2, 3, 4, 5, 6;
      insert into usage_rollups
        select 86400000, from_ms - from_ms % 86400000, ${group}, sum(calls), sum(errors), sum(cancelled), sum(estimated_calls),
          sum(unpriced_calls), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(reasoning_tokens),
          sum(searches), sum(pages), sum(audio_ms), sum(characters), sum(images), sum(cost_nano_usd), null, null
        from usage_rollups group by 1, 2, ${group};
      ${countDurations('latencies', 'duration_ms')};
      ${countDurations('first_bytes', 'first_byte_ms')}`,
    // Sums comma-separated counts.
    postgres: sql => `${sql};
      create function added_durations (counts text) returns text language sql immutable as $$
        select string_agg(bucket || ':' || number, ',') from (
          select split_part(count, ':', 1) as bucket, sum(split_part(count, ':', 2)::bigint) as number
          from unnest(string_to_array(counts, ',')) as count group by 1
        ) as added
      $$`
  },
  {
    number: 19,
    sql: 'alter table usage add column steps text'
  },
  {
    number: 25,
    sql: 'alter table usage add column cached bigint'
  },
  {
    number: 26,
    sql: 'alter table usage add column findings text'
  },
  {
    // Attribution of calls.
    number: 28,
    sql: `
      alter table usage add column end_user text;
      alter table usage add column session text;
      alter table usage add column tags text;
      alter table usage add column metadata text;
      create index usage_by_end_user on usage (end_user, at_ms) where end_user is not null;
      create index usage_by_session on usage (session, at_ms) where session is not null`,
    // SQLite's `json_each`, as far as lists of texts need it.
    postgres: sql => `${sql};
      create function json_each (list text) returns table (value text) language sql immutable as $$
        select json_array_elements_text(list::json)
      $$`
  },
  {
    // Usage of cancelled requests, separate from that of the answer.
    number: 30,
    sql: `
      alter table usage add column wasted_tokens bigint;
      alter table usage add column wasted_nano_usd bigint`
  },
  {
    // Sums by caller-supplied names. Existing records are summed up later, while calls are served. So are
    // those of the next hour, because gateways of the previous version may still write some.
    number: 36,
    sql: `
      create table name_rollups (
        kind text not null,
        from_ms bigint not null,
        project_id text not null,
        name text not null,
        model text not null,
        calls bigint not null,
        errors bigint not null,
        cancelled bigint not null,
        estimated_calls bigint not null,
        unpriced_calls bigint not null,
        prompt_tokens bigint not null,
        completion_tokens bigint not null,
        cached_tokens bigint not null,
        cache_write_tokens bigint not null,
        reasoning_tokens bigint not null,
        searches bigint not null,
        pages bigint not null,
        audio_ms bigint not null,
        characters bigint not null,
        images bigint not null,
        cost_nano_usd bigint not null,
        latencies text,
        first_bytes text,
        primary key (kind, from_ms, project_id, name, model)
      ) without rowid;
      create table counted_names (
        kind text not null,
        from_ms bigint not null,
        project_id text not null,
        name text not null,
        primary key (kind, from_ms, project_id, name)
      ) without rowid;
      create table rollup_backlog (at_ms bigint not null primary key, id text not null) without rowid;
      insert into rollup_backlog select cast(strftime('%s', 'now') as integer) * 1000 + 3600000, '' from usage limit 1`,
    // Counts that were subtracted leave nothing behind.
    postgres:
      sql => `${sql.replace("cast(strftime('%s', 'now') as integer)", 'extract(epoch from now())::bigint')};
      create or replace function added_durations (counts text) returns text language sql immutable as $$
        select string_agg(bucket || ':' || number, ',') from (
          select split_part(count, ':', 1) as bucket, sum(split_part(count, ':', 2)::bigint) as number
          from unnest(string_to_array(counts, ',')) as count group by 1
        ) as added where number <> 0
      $$`
  },
  {
    // Data for reports: the top names in order, and one sum for all others.
    number: allNamesStep,
    sql: `
      create index name_rollups_by_name on name_rollups
        (kind, name, from_ms, project_id, model, calls, cost_nano_usd);
      delete from name_rollups where name = '' and kind <> 'tagged';
      ${sumAllNames(sumCountsSqlite)}`,
    postgres: sql => sql.replace(
      sumAllNames(sumCountsSqlite), sumAllNames(sumCountsPostgres)
    )
  }
]
