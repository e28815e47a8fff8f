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
import { chatCompletionsModels } from '../providers/chat-completions/model-list.ts'
import { kinds } from '../providers/kinds.ts'
import { unknownModelEntry } from './known-models.ts'

export interface DiscoveryOptions {
  /** Milliseconds between two readings of a list. Default 10 minutes. */
  readonly everyMs?: number
  /** Ends the discovery. */
  readonly signal: AbortSignal
  /** Called for lists that could not be read; the last good one stays in use. */
  readonly onFailure: (providerId: string, error: unknown) => void
}

const maxListBytes = 4 * 1024 * 1024
const maxModels = 5_000
const maxIdLength = 256
const listTimeoutMs = 15_000

/**
 * Reads the lists of these providers at intervals, until the signal aborts. The
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
  const { path, headers, read } = kinds[kind].modelList ?? chatCompletionsModels
  const answer = await provider.transport.send({ method: 'GET', path, headers }, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]),
    credential: provider.authorize(),
    timeouts: provider.timeouts,
    streamed: false
  })
  if (answer.status !== 200) {
    answer.body.cancel()
    throw new Error(`The model list of ${provider.id} failed with status ${answer.status}.`)
  }
  const body: unknown = JSON.parse((await answer.body.buffer(maxListBytes)).toString())
  const entries: ModelEntry[] = []
  for (const item of read(body)) {
    const known = typeof item.id === 'string' && item.id !== '' && item.id.length <= maxIdLength
    if (!known || entries.length === maxModels) continue
    entries.push({ ...unknownModelEntry(provider.id, item.id, kind), ...item.facts })
  }
  return entries
}
