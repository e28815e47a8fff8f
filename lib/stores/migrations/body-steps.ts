/** Bodies of calls. */

import type { Migration } from './migration.ts'

export const bodySteps: readonly Migration[] = [
  {
    // Expired bodies leave a row with their state.
    number: 20,
    sql: `
      create table call_bodies (
        id text primary key,
        project_id text not null,
        readable_by text not null,
        expires_at_ms bigint not null,
        state text not null,
        request text,
        answer text
      );
      create index call_bodies_by_expiry on call_bodies (state, expires_at_ms)`
  }
]
