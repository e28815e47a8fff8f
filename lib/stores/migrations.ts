/**
 * Builds the schema of the store, in numbered steps.
 *
 * Forward only: a released step is never changed, a later one corrects it. Each step holds on SQLite and on PostgreSQL:
 *
 * - Columns are `text` or `bigint`, without `autoincrement`, `json`, `boolean` or times of the database: booleans are 0 or 1,
 *   times Unix milliseconds, and what has a shape of its own is JSON in a `text`.
 * - `without rowid` may end a table; it is left out on PostgreSQL. Partial indexes, `references … on delete cascade`,
 *   `alter table … add column` and `insert … select` are the same on both.
 * - Columns of `usage` are added by `alter table`, as in step 8: on PostgreSQL that reaches every partition.
 * - A step that cannot be written for both says in `postgres` what differs.
 */

export interface Migration {
  readonly number: number
  readonly sql: string
  /** Returns what PostgreSQL runs instead. */
  readonly postgres?: (sql: string) => string
}

export const migrations: readonly Migration[] = [
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
    number: 4,
    sql: 'alter table keys add column limits text'
  },
  {
    number: 5,
    sql: `
      alter table deferred add column key_id text;
      alter table deferred add column size_bytes bigint not null default 0;
      create index deferred_by_key on deferred (key_id, state, size_bytes)`
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
    number: 7,
    sql: `
      alter table keys add column mcp_servers text;
      alter table keys add column mcp_urls bigint`
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
    number: 9,
    sql: `
      create table gateways (id text primary key, seen_ms bigint not null);
      create table holdings (
        gateway_id text not null, key_id text not null, from_ms bigint not null, nano_usd bigint not null,
        primary key (gateway_id, key_id, from_ms)
      )`
  },
  {
    // Responses that follow from one another have the same root; they stay while one of them is to be kept.
    number: 10,
    sql: `
      create table responses (
        id text primary key,
        key_id text not null,
        previous_id text,
        root_id text not null,
        status text not null,
        response text not null,
        input text not null,
        size_bytes bigint not null,
        created_at_ms bigint not null,
        expires_at_ms bigint not null,
        owner text,
        lease_until_ms bigint not null default 0
      );
      create index responses_by_key on responses (key_id, created_at_ms, size_bytes);
      create index responses_by_previous on responses (previous_id);
      create index responses_by_root on responses (root_id, expires_at_ms);
      create index responses_by_expiry on responses (expires_at_ms);
      create index responses_by_owner on responses (owner, lease_until_ms);
      create table response_items (
        key_id text not null,
        item_id text not null,
        response_id text not null references responses (id) on delete cascade,
        primary key (key_id, item_id)
      );
      create index response_items_by_response on response_items (response_id);
      create table response_events (
        response_id text not null references responses (id) on delete cascade,
        sequence_number bigint not null,
        frame text not null,
        primary key (response_id, sequence_number)
      )`
  },
  {
    number: 11,
    sql: 'alter table keys add column provider_objects bigint'
  },
  {
    // Users, and what they administer. Of a rotated key the digest before works until `previous_until_ms`.
    number: 12,
    sql: `
      create table projects (
        id text primary key,
        name text not null,
        models text,
        limits text,
        created_at_ms bigint not null,
        archived_at_ms bigint
      );
      create unique index projects_in_use on projects (name) where archived_at_ms is null;
      insert into projects (id, name, created_at_ms) values ('default', 'Default', 0);
      alter table keys add column project_id text not null default 'default';
      alter table keys add column hint text;
      alter table keys add column created_by text;
      alter table keys add column changes bigint not null default 0;
      alter table keys add column previous_digest text;
      alter table keys add column previous_until_ms bigint;
      create index keys_by_project on keys (project_id, created_at_ms);
      create table users (
        id text primary key,
        name text not null,
        email text,
        role text not null,
        password text,
        created_at_ms bigint not null,
        last_seen_at_ms bigint,
        disabled_at_ms bigint
      );
      create unique index users_by_email on users (email);
      create table members (
        project_id text not null,
        user_id text not null references users (id) on delete cascade,
        added_at_ms bigint not null,
        primary key (project_id, user_id)
      );
      create index members_by_user on members (user_id);
      create table sessions (
        digest text primary key,
        id text not null unique,
        user_id text not null references users (id) on delete cascade,
        csrf_token text not null,
        by_link bigint not null,
        address text,
        user_agent text,
        created_at_ms bigint not null,
        last_seen_at_ms bigint not null,
        expires_at_ms bigint not null
      );
      create index sessions_by_user on sessions (user_id);
      create index sessions_by_expiry on sessions (expires_at_ms);
      create table sign_in_links (
        digest text primary key,
        user_id text not null references users (id) on delete cascade,
        expires_at_ms bigint not null
      );
      create table invitations (
        id text primary key,
        digest text not null unique,
        email text,
        role text not null,
        projects text not null,
        invited_by text not null,
        created_at_ms bigint not null,
        expires_at_ms bigint not null
      );
      create table admin_keys (
        id text primary key,
        name text not null,
        digest text not null unique,
        role text not null,
        scopes text,
        created_by text,
        created_at_ms bigint not null,
        expires_at_ms bigint,
        last_used_at_ms bigint
      );
      create table audit (
        id text not null,
        at_ms bigint not null,
        actor text not null,
        actor_id text,
        action text not null,
        subject text,
        subject_name text,
        address text,
        before text,
        after text,
        primary key (at_ms, id)
      );
      create table idempotent_answers (
        id text primary key,
        request text not null,
        answer text,
        expires_at_ms bigint not null
      );
      create index idempotent_answers_by_expiry on idempotent_answers (expires_at_ms)`
  },
  {
    number: 13,
    sql: 'alter table responses add column origin text'
  }
]

/** Returns the number of the last step of a program. */
export function lastNumber (steps: readonly Migration[]): number {
  return steps.at(-1)?.number ?? 0
}

/** Returns the error of a store that this program does not know how to read. */
export function newerVersion (found: number, newest: number): Error {
  return new Error(`it was created by a newer version (step ${found} of ${newest})`)
}
