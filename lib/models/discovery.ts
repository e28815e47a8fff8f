/**
 * Fetches the models that providers list themselves: in the background, never on behalf of a call.
 *
 * A server whose models cannot be in a catalogue (a local one, a gateway) is usable
 * without it, since unknown models are passed on; its list makes them visible.
 */

import type { ProviderKind } from '../../schemas/providers.ts'
import type { ModelEntry } from '../core/model.ts'
import type { UpdatableModelRegistry } from './create-models.ts'
import type { Provider } from '../providers/provider.ts'
import { bareEntry } from './known-models.ts'

export interface DiscoveryOptions {
  /** Milliseconds between two readings of a list. Default 10 minutes. */
  readonly everyMs?: number
  /** Ends the discovery. */
  readonly signal: AbortSignal
  /** Hears of lists that could not be read; the last good one stays in use. */
  readonly onFailure: (providerId: string, error: unknown) => void
}

const maxListBytes = 4 * 1024 * 1024
const maxModels = 5_000
const maxIdLength = 256
const listTimeoutMs = 15_000

/**
 * Reads the lists of these providers now and then at intervals, until the signal aborts. The
 * timer keeps no process alive.
 *
 * @returns when every list has been read once, or has failed to be. No caller needs to wait for it.
 */
export async function startDiscovery (
  targets: ReadonlyArray<{ readonly provider: Provider, readonly kind: ProviderKind }>,
  models: UpdatableModelRegistry,
  { everyMs = 600_000, signal, onFailure }: DiscoveryOptions
): Promise<void> {
  const read = async () => {
    await Promise.all(targets.map(async ({ provider, kind }) => {
      try {
        models.setDiscovered(provider.id, await listModels(provider, kind, signal))
      } catch (error) {
        if (!signal.aborted) onFailure(provider.id, error)
      }
    }))
  }
  if (signal.aborted || targets.length === 0) return
  // `read` handles every rejection itself, so its promise can be left alone.
  const timer = setInterval(() => { void read() }, everyMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  await read()
}

/**
 * Asks a provider for its models.
 *
 * @throws GatewayError of the transport; Error for an answer that is not a list.
 */
export async function listModels (
  provider: Provider,
  kind: ProviderKind,
  signal: AbortSignal
): Promise<readonly ModelEntry[]> {
  const { path, headers, parse } = dialects[kind] ?? openaiDialect
  const answer = await provider.transport.send({ method: 'GET', path, headers }, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]),
    credential: provider.authorize(),
    timeouts: provider.timeouts,
    streamed: false
  })
  if (answer.status !== 200) {
    answer.body.cancel()
    throw new Error(`The model list of ${provider.id} was answered with status ${answer.status}.`)
  }
  const body: unknown = JSON.parse((await answer.body.buffer(maxListBytes)).toString())
  const entries: ModelEntry[] = []
  for (const item of parse(body)) {
    const known = typeof item.id === 'string' && item.id !== '' && item.id.length <= maxIdLength
    if (!known || entries.length === maxModels) continue
    entries.push({ ...bareEntry(provider.id, item.id, kind), ...item.facts })
  }
  return entries
}

type Facts = Partial<Pick<ModelEntry, 'createdAt' | 'displayName' | 'description' | 'capabilities'>>

interface Listed {
  readonly id: unknown
  readonly facts: Facts
}

interface ListDialect {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly parse: (body: unknown) => Listed[]
}

const openaiDialect: ListDialect = {
  path: '/models',
  headers: {},
  parse: body => items(body, 'data').map(({ id, created }) => ({
    id,
    // Zero is what servers say that do not know.
    facts: typeof created === 'number' && created > 0 && created < 1e11
      ? { createdAt: new Date(created * 1000).toISOString() }
      : {}
  }))
}

const dialects: { readonly [kind in ProviderKind]?: ListDialect } = {
  anthropic: {
    path: '/v1/models?limit=1000',
    headers: { 'anthropic-version': '2023-06-01' },
    parse: body => items(body, 'data').map(item => ({
      id: item.id,
      facts: { ...text(item.display_name, 'displayName'), ...day(item.created_at) }
    }))
  },
  google: {
    path: '/v1beta/models?pageSize=1000',
    headers: {},
    parse: body => items(body, 'models').map(item => ({
      id: typeof item.name === 'string' ? item.name.replace(/^models\//, '') : undefined,
      facts: {
        ...text(item.displayName, 'displayName'),
        ...text(item.description, 'description'),
        capabilities: {
          ...limit(item.inputTokenLimit, 'input_token_limit'),
          ...limit(item.outputTokenLimit, 'output_token_limit')
        }
      }
    }))
  }
}

/** @throws Error when there is no list under that name. */
function items (body: unknown, name: string): Array<Record<string, unknown>> {
  const list = isObject(body) ? body[name] : undefined
  if (!Array.isArray(list)) throw new Error(`The answer holds no list "${name}".`)
  return list.filter(isObject)
}

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text (value: unknown, name: 'displayName' | 'description'): Facts {
  return typeof value === 'string' && value !== '' ? { [name]: value } : {}
}

function day (value: unknown): Facts {
  const time = typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isNaN(time) ? {} : { createdAt: new Date(time).toISOString() }
}

function limit (value: unknown, name: string): Record<string, number> {
  return typeof value === 'number' && Number.isInteger(value) ? { [name]: value } : {}
}
