/**
 * Fetches the model lists of providers: in the background, never on behalf of a call.
 *
 * A server whose models no catalogue can list (a local one, a gateway) works without its list, since unknown
 * models are passed on; the list makes them visible.
 */

import { startDeadline, tooLate } from '../async/start-deadline.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { ModelEntry } from '../core/model.ts'
import { maxDepth, ValueCounter } from '../json/parse-bounded.ts'
import { parseInSlices } from '../json/parse-in-slices.ts'
import type { UpdatableModelRegistry } from './create-models.ts'
import type { Provider, UpstreamResponse } from '../providers/provider.ts'
import { chatCompletionsModels } from '../providers/chat-completions/model-list.ts'
import { kinds } from '../providers/kinds.ts'
import { readErrorBody } from '../providers/error-body.ts'
import { redirectTarget } from '../providers/redirect.ts'
import { unknownModelEntry } from './known-models.ts'
import { ModelListFailure, type ModelListFailureFacts } from './model-list-failure.ts'

export interface DiscoveryOptions {
  /** Milliseconds between two readings of a list. Default 10 minutes. */
  readonly everyMs?: number
  /** Ends the discovery. */
  readonly signal: AbortSignal
  /** Called for lists that could not be read; the last valid one stays in use. */
  readonly onFailure: (providerId: string, error: unknown) => void
}

const maxListBytes = 4 * 1024 * 1024
/**
 * Maximum numbers in a list; property names, strings, objects and lists count as eight: 5,000 models of 50
 * fields each.
 */
const maxListCost = 4_000_000
const maxModels = 5_000
const maxIdLength = 256
const listTimeoutMs = 15_000

/**
 * Reads the lists of these providers at intervals, until the signal aborts. The timer does not keep the
 * process alive.
 *
 * @returns when every list has been read once, or could not be. No caller needs to wait for it.
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
  // `read` handles every rejection, so its promise needs no handler.
  const timer = setInterval(() => { void read() }, everyMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  await read()
}

/**
 * Requests a provider's models.
 *
 * @throws GatewayError of the transport; ModelListFailure for an answer that is not a list
 */
export async function listModels (
  provider: Provider,
  kind: ProviderKind,
  signal: AbortSignal
): Promise<readonly ModelEntry[]> {
  const deadline = startDeadline(listTimeoutMs, signal, tooLate(listTimeoutMs))
  try {
    return await readList(provider, kind, deadline.signal)
  } finally {
    deadline.end()
  }
}

async function readList (
  provider: Provider,
  kind: ProviderKind,
  signal: AbortSignal
): Promise<readonly ModelEntry[]> {
  const { path, headers, read } = kinds[kind].modelList ?? chatCompletionsModels
  const answer = await provider.transport.send({ method: 'GET', path, headers }, {
    signal,
    credential: provider.authorize(),
    timeouts: provider.timeouts,
    streamed: false
  })
  const target = redirectTarget(answer)
  const facts = { path, status: answer.status, target, mediaType: mediaTypeOf(answer) }
  if (target !== undefined) {
    answer.body.cancel()
    throw new ModelListFailure('redirect', facts)
  }
  if (answer.status !== 200) {
    throw new ModelListFailure((await refusesKey(answer)) ? 'credential' : 'status', facts)
  }
  const body = await parseList(await answer.body.buffer(maxListBytes), facts)
  const entries: ModelEntry[] = []
  for (const item of attempt(() => read(body), () => new ModelListFailure('no_list', facts))) {
    const isValid = typeof item.id === 'string' && item.id !== '' && item.id.length <= maxIdLength
    if (!isValid || entries.length === maxModels) continue
    entries.push({ ...unknownModelEntry(provider.id, item.id, kind), ...item.facts })
  }
  return entries
}

/** Returns true for a refused key: Google and xAI answer a wrong one with 400. Reads or cancels the body. */
async function refusesKey (answer: UpstreamResponse): Promise<boolean> {
  if (answer.status === 400) return /api[ _]key/i.test(JSON.stringify(await readErrorBody(answer)))
  answer.body.cancel()
  return answer.status === 401 || answer.status === 403
}

function mediaTypeOf ({ headers }: UpstreamResponse): string | undefined {
  const type = String(headers['content-type'] ?? '').split(';', 1)[0]?.trim() ?? ''
  return /^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(type) ? type : undefined
}

/** Parses a list in slices. @throws ModelListFailure */
async function parseList (bytes: Buffer, facts: ModelListFailureFacts): Promise<unknown> {
  const counter = new ValueCounter(Infinity)
  counter.push(bytes)
  if (counter.parseCost > maxListCost) throw new ModelListFailure('too_many_values', facts)
  try {
    return await parseInSlices(bytes, maxDepth)
  } catch {
    throw new ModelListFailure('not_json', facts) // a parser's own error quotes the response
  }
}

function attempt<T> (read: () => T, failure: () => Error): T {
  try {
    return read()
  } catch {
    throw failure()
  }
}
