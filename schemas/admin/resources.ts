/** The resources of the gateway: models, providers and tool servers, with their health. */

import { Type, type Static } from 'typebox'
import { MapOf, OneOf } from '../nullable.ts'
import { Price } from '../price.ts'
import { Milliseconds, OrNull } from './common.ts'
import { Percentiles } from './usage.ts'

export const CatalogueEntry = Type.Object({
  id: Type.String(),
  provider_id: Type.String(),
  display_name: Type.String(),
  description: Type.String(),
  status: Type.String({ description: '`enabled`, `preview`, `deprecated` or `disabled`.' }),
  capabilities: MapOf(Type.Union([Type.Boolean(), Type.Number()]), {
    description: 'Capabilities, and limits in tokens, as in GET /v1/models.'
  }),
  price: OrNull(Price, '`null`: not known.'),
  kind: OneOf(['model', 'route', 'alias']),
  targets: Type.Array(Type.String(), { description: 'Of a route or an alias: the models it stands for.' }),
  circuit: OneOf(['closed', 'open'], {
    description: '`open`: it failed too often and is tried after others.'
  }),
  created_at_ms: OrNull(Milliseconds)
})
export type CatalogueEntry = Static<typeof CatalogueEntry>

export const CatalogueList = Type.Object({ object: Type.Literal('list'), data: Type.Array(CatalogueEntry) })
export type CatalogueList = Static<typeof CatalogueList>

export const ProviderHealth = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  enabled: Type.Boolean(),
  base_url: Type.String({ description: 'Empty for providers inside the process.' }),
  credentials: Type.Integer({
    description: 'Number of keys of the gateway at the provider; 0: callers bring their own.'
  }),
  credentials_ready: Type.Integer({ description: 'Those that are not cooling down.' }),
  cooldown_ms: Type.Integer({ description: 'Remaining cooldown; 0: none.' }),
  open_circuits: Type.Array(Type.String(), { description: 'Models whose circuit is open.' }),
  models: Type.Integer(),
  last_hour: Type.Object({
    attempts: Type.Integer({ description: 'Requests sent to it: of the last 10,000 calls.' }),
    failed_attempts: Type.Integer({
      description:
        'Those that failed because of the provider, its network or the account there, also where another provider answered the call; no mistakes of callers.'
    }),
    latency_ms: OrNull(Percentiles, 'Of the calls that it answered.'),
    first_byte_ms: OrNull(Percentiles, 'Of the streams among them.')
  })
})
export type ProviderHealth = Static<typeof ProviderHealth>

export const ProviderList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ProviderHealth) })
export type ProviderList = Static<typeof ProviderList>

export const ToolServer = Type.Object({
  slug: Type.String({ description: '`org/name`' }),
  transport: OneOf(['http', 'command']),
  target: Type.String({ description: 'URL without query, or the name of the command.' })
})
export type ToolServer = Static<typeof ToolServer>

export const ToolServerList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ToolServer) })
export type ToolServerList = Static<typeof ToolServerList>

/** GET /admin/v1/tool-servers/{org}/{name}: connects to the server and lists its tools. */
export const ToolServerTools = Type.Object({
  slug: Type.String(),
  connected: Type.Boolean(),
  error: OrNull(Type.String()),
  duration_ms: Type.Integer(),
  tools: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Type.String(),
      input_schema: Type.Unsafe<Record<string, unknown>>({ type: 'object' })
    })
  )
})
export type ToolServerTools = Static<typeof ToolServerTools>
