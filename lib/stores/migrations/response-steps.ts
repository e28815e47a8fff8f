/** Stored responses. */

import type { Migration } from './migration.ts'

export const responseSteps: readonly Migration[] = [
  {
    // Responses that continue one another have the same root and are kept until all have expired.
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
    number: 13,
    sql: 'alter table responses add column origin text'
  },
  {
    // Long texts of responses and deferred completions.
    number: 14,
    sql: `
      create table text_pieces (
        owner_id text not null,
        name text not null,
        number bigint not null,
        piece text not null,
        primary key (owner_id, name, number)
      );
      alter table responses add column stream_bytes bigint not null default 0;
      drop index responses_by_key;
      create index responses_by_key on responses (key_id, created_at_ms, size_bytes, stream_bytes)`
  },
  {
    // Attribution, for deleting the data of an end user.
    number: 32,
    sql: `
      alter table responses add column end_user text;
      create index responses_by_end_user on responses (end_user) where end_user is not null;
      alter table deferred add column end_user text;
      create index deferred_by_end_user on deferred (end_user) where end_user is not null`
  }
]
