/**
 * `store`, `coordination`, `usage`, `deferred` and `responses` of `headgate.yaml`: what is stored, and where.
 */

import { Type } from 'typebox'
import { Bytes, Closed, Count, day, mebibyte, Milliseconds, Section, Text } from './entries.ts'
import { UsageExportsConfig } from './exports.ts'
import { Secret } from './secret.ts'

export const DeferredConfig = Section(
  {
    for_all_providers: Type.Boolean({
      default: false,
      description:
        'Run deferred calls in the gateway for providers that cannot defer. When off, such calls are completed at once; so are those with a body of more than `limits.stored_body_bytes`.'
    }),
    keep_ms: Milliseconds(day, 'Time a deferred answer is kept.', 30 * day),
    max_pending: Count(
      1000,
      'Maximum number of pending deferred calls, and of responses that run in the background, per process. A key may use at most half of the remaining capacity.',
      100_000
    ),
    max_bytes_per_key: Bytes(
      256 * mebibyte,
      'Maximum size of the calls and answers kept for one key; further calls are refused until some expire, and the answer of a completion that a provider has deferred is returned once and not kept. Answers of calls that were accepted are kept in any case.'
    )
  },
  'Deferred completions.'
)

export const ResponsesConfig = Section(
  {
    store: Type.Boolean({
      default: true,
      description:
        'Keep responses of the Responses API, unless a request says `store: false` or has a body of more than `limits.stored_body_bytes`. When off, none can be fetched or continued.'
    }),
    keep_ms: Milliseconds(30 * day, 'Time a response is kept.', 365 * day),
    max_bytes_per_key: Bytes(
      256 * mebibyte,
      'Maximum size of the responses kept for one key, streams of those in the background included; the oldest are deleted first, even while they run.'
    )
  },
  'Stored responses of the Responses API.'
)

export const StoreConfig = Section(
  {
    url: Type.Optional(
      Secret(
        'Address of a PostgreSQL database (`postgres://user:password@host/name`) that several gateways share. ' +
          'Default: SQLite in `server.data_dir`.'
      )
    ),
    pool_size: Count(
      10,
      'Maximum number of connections to PostgreSQL, per process; usage records have two more.',
      1000
    ),
    connect_ms: Milliseconds(5000, 'Longest wait for a connection to PostgreSQL.'),
    statement_ms: Milliseconds(10_000, 'Longest duration of a query of PostgreSQL.'),
    keys_stale_ms: Milliseconds(
      day,
      'How long keys of the store stay valid while it cannot be read; calls with them are refused with 503 after that.',
      30 * day
    )
  },
  'Where keys, usage records, deferred answers and stored responses are. Changes need a restart.'
)

export const CoordinationConfig = Section(
  {
    url: Type.Optional(
      Secret(
        'Address of a Redis or Valkey server (`redis://user:password@host:port/database`, `rediss://` for TLS) in which all gateways ' +
          'count the limits of keys together. Several hosts are separated by commas. `?sslrootcert=` names the file of the authority of its certificate. Default: each gateway counts for itself.'
      )
    ),
    sentinel: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Name of the primary, where the hosts of `coordination.url` are Sentinels.'
      })
    ),
    sentinel_password: Type.Optional(Secret('Password of the Sentinels.')),
    cluster: Type.Boolean({
      default: false,
      description: 'The hosts of `coordination.url` are nodes of a cluster.'
    }),
    timeout_ms: Milliseconds(
      500,
      'Longest wait for a reply of Redis; then `limits.without_coordination` applies until it replies again.'
    )
  },
  'What gateways on several machines share besides the store. Changes need a restart.'
)

const Tags = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 64, description: 'A tag, without commas.' }), {
    default: [], maxItems: 10, description
  })

const UsageProjectConfig = Closed(
  {
    project: Text(
      'Name or id of the project. `default` is the one that keys of the configuration are in as well.'
    ),
    expose_cost: Type.Boolean({
      default: true,
      description: 'As `usage.expose_cost`, for the keys of this project.'
    }),
    tags: Tags('Tags of all calls of this project.')
  },
  { description: 'Settings of one project.' }
)

const UsageKeyConfig = Closed(
  { key: Text('Name or id of the key.'), tags: Tags('Tags of all calls of this key.') },
  { description: 'Settings of one key.' }
)

const UsageRouteConfig = Closed(
  { route: Text('Name of the route.'), tags: Tags('Tags of all calls to this route.') },
  { description: 'Settings of one route.' }
)

export const UsageConfig = Section(
  {
    keep_days: Count(90, 'Days that usage records, and their sums by hour and day, are kept.', 3650),
    keep_rows: Count(
      1_000_000,
      'Maximum number of usage records; the oldest are deleted first.',
      1_000_000_000
    ),
    expose_cost: Type.Boolean({
      default: true,
      description: 'Tell callers what a call cost and what is left of its budget, by `x-headgate-cost-usd`, `x-headgate-budget-remaining-usd` and the `cost` in the usage of an answer.'
    }),
    projects: Type.Array(UsageProjectConfig, {
      default: [],
      description: 'Projects with settings of their own. Default: none.'
    }),
    keys: Type.Array(UsageKeyConfig, {
      default: [],
      description: 'Keys with settings of their own. Default: none.'
    }),
    exports: UsageExportsConfig,
    routes: Type.Array(UsageRouteConfig, {
      default: [],
      description: 'Routes with settings of their own. Default: none.'
    })
  },
  'Usage records: calls and their cost.'
)
