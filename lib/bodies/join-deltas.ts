/**
 * Joins the deltas of an event stream: a text that arrived in many events is put into the first of them, and
 * the others are removed. Text to be redacted may be split over two events; it is found in the joined text.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { foldChunks } from '../dialects/chat-completions/complete.ts'
import { isObject, objectsOf, textOfValue, type JsonObject } from '../json/type-guards.ts'
import type { Chunk } from '../dialects/chat-completions/chunk.ts'

/** Fields that identify the part of an answer that an event is about. */
const identities: ReadonlySet<string> = new Set([
  'type',
  'index',
  'item_id',
  'output_index',
  'content_index',
  'summary_index',
  'id',
  'role',
  'name',
  'object'
])
/** Fields that hold parts of texts. */
const deltaFields: ReadonlySet<string> = new Set(['delta', 'choices'])
/** The last event of a response, which contains the whole response. */
const lastOfResponse = /^response\.(?:completed|incomplete|failed)$/

/**
 * Returns the content of an event stream: the complete answer if one of its events has it, otherwise its
 * events with joined texts.
 *
 * @param messages the JSON of each event
 */
export async function joinDeltas (messages: readonly unknown[]): Promise<unknown> {
  const events = messages.filter(isObject)
  const last = events.at(-1)
  if (last !== undefined && typeof last['type'] === 'string' && lastOfResponse.test(last['type'])) {
    return last['response']
  }
  const [chunks, others] = [events.filter(isChunk), events.filter(event => !isChunk(event))]
  if (chunks.length === 0) return await joined(others)
  const completion = foldChunks(chunks)
  return others.length === 0 ? completion : [completion, ...others]
}

function isChunk (event: JsonObject): event is JsonObject & Chunk {
  return (
    event['object'] === 'chat.completion.chunk' &&
    objectsOf(event['choices']).every(choice => isObject(choice['delta'])) &&
    Array.isArray(event['choices'])
  )
}

/** Events joined per tick. */
const eventsPerTick = 500

/** Drops events whose texts were all added to earlier events. */
async function joined (events: readonly JsonObject[]): Promise<JsonObject[]> {
  const firsts = new Map<string, GrowingText>()
  const kept: JsonObject[] = []
  for (const [index, event] of events.entries()) {
    const texts = deltaTexts(event)
    let added = 0
    for (const { key, holder, name } of texts) {
      const first = firsts.get(key)
      if (first === undefined) firsts.set(key, new GrowingText(holder, name))
      else first.take(holder, name)
      added += Number(first !== undefined)
    }
    if (added === 0 || added < texts.length) kept.push(event)
    if (index % eventsPerTick === eventsPerTick - 1) await yieldFairly()
  }
  for (const text of firsts.values()) text.finish()
  return kept
}

class GrowingText {
  readonly #holder: JsonObject
  readonly #name: string
  readonly #parts: string[]

  constructor (holder: JsonObject, name: string) {
    this.#holder = holder
    this.#name = name
    this.#parts = [String(holder[name])]
  }

  /** Moves another part here. */
  take (holder: JsonObject, name: string): void {
    this.#parts.push(String(holder[name]))
    holder[name] = ''
  }

  finish (): void {
    this.#holder[this.#name] = this.#parts.join('')
  }
}

interface DeltaText {
  /** Identifies the part of the answer. */
  readonly key: string
  readonly holder: JsonObject
  readonly name: string
}

/** Maximum objects of an event to search: an event with more is not a delta, and would take long. */
const maxObjects = 200

/** Returns the texts of an event that continue those of others. */
function deltaTexts (event: JsonObject): DeltaText[] {
  const found: DeltaText[] = []
  const open = [{ holder: event, path: '', isDelta: false }]
  for (let objects = 1, next = open.pop(); next !== undefined; objects++, next = open.pop()) {
    if (objects > maxObjects) return []
    const { holder, path, isDelta } = next
    const prefix = `${path} ${[...identities].map(name => textOfValue(holder[name])).join(' ')}`
    for (const [name, value] of Object.entries(holder)) {
      const isOfDelta = isDelta || deltaFields.has(name)
      if (typeof value === 'string' && isOfDelta && !identities.has(name)) {
        found.push({ key: `${prefix} ${name}`, holder, name })
      }
      const items = isObject(value) ? [value] : objectsOf(value)
      if (items.length > maxObjects) return []
      for (const item of items) open.push({ holder: item, path: `${prefix} ${name}`, isDelta: isOfDelta })
    }
  }
  return found
}
