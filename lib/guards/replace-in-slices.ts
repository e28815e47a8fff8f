/** Replaces findings in a large value, some of its text in each tick. */

import { yieldFairly } from '../async/yield-fairly.ts'
import { parseText } from '../json/parse-text.ts'
import { spliceInSlices } from '../json/splice-strings.ts'
import type { ChatEvent } from '../core/events.ts'
import type { PlaceTable, ReplaceText, TextPlace } from '../json/place-table.ts'
import { ReportedEnds, type PlaceFilters, type TextFilter } from './text-filter.ts'

/** Characters searched per tick. */
export const tickLength = 64 * 1024

/** JSON of at least this many characters is inspected in slices. */
export const largeLength = 128 * 1024

export type DirectAnswer = ChatEvent & { readonly type: 'direct-answer' }

/** Returns true for an answer that is inspected in slices. */
export function isLargeAnswer (event: ChatEvent): event is DirectAnswer {
  return event.type === 'direct-answer' && event.json.length > largeLength
}

interface Found {
  readonly text: string
  readonly place: TextPlace
}

/**
 * Returns the value with its findings replaced.
 *
 * @param replaceTexts visits the texts of the value in a fixed order; returns the value with the replaced
 *   texts, or the same value if none changed
 * @param check called in each tick; may throw
 * @throws GatewayError for a finding that refuses the call
 */
export async function replaceInSlices<T> (
  value: T,
  filters: PlaceFilters,
  replaceTexts: (value: T, replace: ReplaceText) => T | Promise<T>,
  check: () => void = () => undefined
): Promise<T> {
  const found: Found[] = []
  await replaceTexts(value, (text, place) => {
    found.push({ text, place })
    return text
  })
  const replaced: string[] = []
  let searched = 0
  for (const { text, place } of found) {
    const filter = filters.at(place)
    if (filter === undefined) {
      replaced.push(text)
      continue
    }
    searched += text.length
    if (searched > tickLength) {
      searched = 0
      await yieldFairly()
      check()
    }
    replaced.push(
      text.length <= tickLength ? filters.replace(text, place) : await replaceLong(filter, text, place)
    )
  }
  let next = 0
  return await replaceTexts(value, text => replaced[next++] ?? text)
}

/**
 * Returns the text of a JSON object with its findings replaced and duplicate keys removed.
 *
 * @param type the type of an event, which some servers send only as the SSE event name
 * @throws GatewayError for a finding that refuses the call; SyntaxError for invalid JSON
 */
export async function replaceJsonInSlices (
  json: string,
  filters: PlaceFilters,
  places: PlaceTable,
  type?: string
): Promise<string> {
  const parsed = await parseText(json)
  const value = type === undefined ? parsed : { type, ...Object(parsed) as object }
  const replaced = await replaceInSlices(
    value,
    filters,
    (value, replace) => places.replaceInSlices(value, replace)
  )
  return await spliceInSlices(json, value, replaced)
}

async function replaceLong (filter: TextFilter, text: string, { kind }: TextPlace): Promise<string> {
  let result = ''
  let from = 0
  const reported = new ReportedEnds()
  for (let until = tickLength; from < text.length; until = Math.max(from, until) + tickLength) {
    let copied = from
    // A match may look at the character before it, and is shorter than `reach`.
    const start = Math.max(0, from - 1)
    const part = text.slice(start, until + filter.reach)
    reported.partStart = start
    for (const edit of filter.find(part, from - start, until - start, reported)) {
      if (kind === 'fixed' && filter.refusal !== undefined) throw filter.refusal(edit)
      result += text.slice(copied, start + edit.start) + edit.replacement
      copied = start + edit.end
    }
    from = Math.max(copied, Math.min(until, text.length))
    result += text.slice(copied, from)
    await yieldFairly()
  }
  return result
}
