/** Models, providers and tool servers, with their health as this process knows it. */

import { standardSignal } from '../../lib/async/cancellation.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { ToolServerSettings } from '../../lib/core/settings.ts'
import { isContainer } from '../../lib/json/type-guards.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { isPattern } from '../../lib/models/name-patterns.ts'
import type { AttemptCounts } from '../../lib/usage/attempts-report.ts'
import type { Services } from '../../lib/services.ts'
import type { CatalogueEntry, ProviderHealth, ToolServer } from '../../schemas/admin/resources.ts'
import type { Usage } from '../../schemas/admin/usage.ts'
import type { Price } from '../../schemas/price.ts'
import { notFound, param, principalOf, report } from './acts.ts'
import { visibleProjects } from './call-filter.ts'
import type { AdminHandlers } from './handler.ts'

const hourMs = 3_600_000

export const resourceHandlers: AdminHandlers<
  | 'GET /admin/v1/models'
  | 'GET /admin/v1/providers'
  | 'GET /admin/v1/tool-servers'
  | 'GET /admin/v1/tool-servers/:org/:name'
> = {
  'GET /admin/v1/models': async (_call, services) => {
    const open = openCircuits(services)
    const known = services.models.list().map(entry => describeModel(entry, open))
    return { object: 'list', data: [...configuredNames(services, open), ...known] }
  },

  'GET /admin/v1/providers': async (call, services) => {
    const untilMs = Date.now()
    const period = { fromMs: untilMs - hourMs, untilMs }
    const projects = visibleProjects(call, undefined)
    const usage = await report(call, 'usageReport', {
      period,
      origin: { projects },
      bucket: 'hour',
      groupBy: 'provider'
    })
    const attempts = await report(call, 'attemptsReport', { fromMs: period.fromMs, projects })
    return {
      object: 'list',
      data: services.settings.providers.map(({ id }) =>
        describeProvider(id, services, usage, attempts.get(id)))
    }
  },

  'GET /admin/v1/tool-servers': async (_call, { settings }) => ({
    object: 'list',
    data: settings.toolServers.map(describeToolServer)
  }),

  'GET /admin/v1/tool-servers/:org/:name': async (call, { settings, toolServers }) => {
    const slug = `${param(call, 'org')}/${param(call, 'name')}`
    if (!settings.toolServers.some(server => server.slug === slug)) throw notFound('name', 'tool server')
    const startMs = performance.now()
    const { offered, errors } = await toolServers.open({
      request: { mcp_servers: [slug] },
      key: { id: `admin:${principalOf(call).id}` },
      reservedNames: new Set(),
      signal: standardSignal(call.signal)
    })
    const [failure] = Object.values(errors)
    return {
      slug,
      connected: failure === undefined,
      error: failure?.message ?? null,
      duration_ms: Math.round(performance.now() - startMs),
      tools: offered.map(({ tool: { name, description = '', inputSchema } }) => ({
        name,
        description,
        input_schema: { ...inputSchema }
      }))
    }
  }
}

function openCircuits ({ routingState }: Services): ReadonlySet<string> {
  return new Set([...routingState.circuits()].filter(([, isOpen]) => isOpen).map(([modelId]) => modelId))
}

function describeModel (
  { id, providerId, displayName, description, status, capabilities, price, createdAt }: ModelEntry,
  open: ReadonlySet<string>
): CatalogueEntry {
  return {
    id,
    provider_id: providerId,
    display_name: displayName ?? id,
    description: description ?? '',
    status,
    capabilities: { ...capabilities },
    price: price === undefined ? null : wirePrice(price),
    kind: 'model',
    targets: [],
    circuit: open.has(id) ? 'open' : 'closed',
    created_at_ms: createdAt === undefined ? null : Date.parse(createdAt)
  }
}

/** Describes routes and aliases by the first model behind each. */
function configuredNames ({ settings, models }: Services, open: ReadonlySet<string>): CatalogueEntry[] {
  const aliases = settings.models
    .filter(({ id, alias, hidden }) => alias !== undefined && !hidden && !isPattern(id))
    .map(({ id }) => ({ name: id, kind: 'alias' as const }))
  const routes = settings.routes.map(({ name }) => ({ name, kind: 'route' as const }))
  return [...routes, ...aliases].flatMap(({ name, kind }) => {
    const targets = models.routes(name)
    const [first] = targets
    if (first === undefined) return []
    const entry = models.find(first.modelId) ?? unknownModelEntry(first.providerId, first.model, undefined)
    return [
      {
        ...describeModel(entry, open),
        id: name,
        display_name: name,
        price: null,
        kind,
        targets: targets.map(({ modelId }) => modelId)
      }
    ]
  })
}

/** Renames the fields of a price to the names in the configuration and in answers. */
function wirePrice (price: NonNullable<ModelEntry['price']>): Price {
  const { asOf: _, ...fields } = price
  const renamed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(renamed)
    if (!isContainer(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
        renamed(field)
      ])
    )
  }
  return renamed(fields) as Price // the fields of a price under their wire names
}

function describeProvider (
  id: string,
  { settings, models, routingState }: Services,
  usage: Usage,
  { attempts, failed }: AttemptCounts = { attempts: 0, failed: 0 }
): ProviderHealth {
  const { kind, enabled, baseUrl, apiKey, apiKeys } = settings.providers.find(
    provider => provider.id === id
  ) ?? { kind: '', enabled: false, baseUrl: '' }
  const pool = routingState.credentials(id)
  const credentials = apiKeys?.length ?? (apiKey === undefined ? 0 : 1)
  const totals = usage.groups.find(group => group.id === id)?.totals
  return {
    id,
    kind,
    enabled,
    base_url: baseUrl,
    credentials,
    credentials_ready: pool?.ready ?? credentials,
    cooldown_ms: Math.round(routingState.pauseMs(id)),
    open_circuits: [...routingState.circuits()]
      .filter(([modelId, isOpen]) => isOpen && modelId.startsWith(`${id}/`))
      .map(([modelId]) => modelId),
    models: models.list().filter(({ providerId }) => providerId === id).length,
    last_hour: {
      attempts,
      failed_attempts: failed,
      latency_ms: totals?.latency_ms ?? null,
      first_byte_ms: totals?.first_byte_ms ?? null
    }
  }
}

/** Returns the location of a server without parts that may be secret: query, credentials and arguments. */
function describeToolServer ({ slug, url, command = '' }: ToolServerSettings): ToolServer {
  return url === undefined
    ? { slug, transport: 'command', target: command }
    : { slug, transport: 'http', target: url.split(/[?#]/, 1)[0] ?? '' }
}
