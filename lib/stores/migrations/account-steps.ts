/** Users and their administration. */

import type { Migration } from './migration.ts'

export const accountSteps: readonly Migration[] = [
  {
    // Users and their administration. The previous digest of a rotated key works until `previous_until_ms`.
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
    // Passkeys, and pending sign-ins.
    number: 16,
    sql: `
      create table passkeys (
        id text primary key,
        user_id text not null references users (id) on delete cascade,
        name text not null,
        credential_id text not null unique,
        public_key text not null,
        uses bigint not null,
        host text not null,
        created_at_ms bigint not null,
        last_used_at_ms bigint
      );
      create index passkeys_by_user on passkeys (user_id);
      create table challenges (
        id text primary key,
        purpose text not null,
        holder text not null,
        content text not null,
        expires_at_ms bigint not null
      );
      create index challenges_by_expiry on challenges (expires_at_ms)`
  },
  {
    number: 17,
    sql: `
      create table identities (
        issuer text not null,
        subject text not null,
        user_id text not null references users (id) on delete cascade,
        created_at_ms bigint not null,
        primary key (issuer, subject)
      );
      create unique index identities_by_user on identities (user_id, issuer)`
  },
  {
    // `null` for passkeys of earlier versions.
    number: 21,
    sql: 'alter table passkeys add column origin text'
  },
  {
    number: 22,
    sql: 'alter table users add column email_by_other bigint'
  },
  {
    number: 24,
    sql: `
      alter table challenges add column network text;
      create index challenges_by_network on challenges (network, expires_at_ms)`
  },
  {
    // Keys, projects and users imported from another gateway.
    number: 29,
    sql: `
      create table imported (
        source text not null,
        kind text not null,
        source_id text not null,
        id text not null,
        revoked_at_ms bigint,
        spent text not null,
        primary key (source, kind, source_id)
      )`
  }
]
