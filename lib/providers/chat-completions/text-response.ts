/**
 * Reads a complete response whose text goes to the caller as it stands in JSON.
 *
 * One character beyond Latin-1 makes a text of two bytes a character, which takes several times as long to decode, parse, print and
 * encode. Here the text is cut out of the bytes, and only what stands around it is parsed.
 */

import { isUtf8 } from 'node:buffer'
import { parseBounded } from '../../json/parse-bounded.ts'
import { LiteralScanner } from '../../json/literal-scanner.ts'
import { placeholder } from '../../json/placeholder.ts'
import type { ChatEvent } from '../../core/events.ts'

/** Longer ones are parsed in turns of the event loop. */
const maxBytes = 256 * 1024
const beyondAscii = /[^\0-\x7f]/
const scanner = new LiteralScanner()

/**
 * Reads a response with a `text-run` in place of its text.
 *
 * @param read makes the events of the parsed response
 * @returns `undefined` for a response that has to be parsed entirely
 * @throws SyntaxError for what is not JSON, and what `read` throws
 */
export function readTextResponse (bytes: Buffer, read: (value: unknown) => ChatEvent[]): ChatEvent[] | undefined {
  if (bytes.length > maxBytes || !isUtf8(bytes)) return undefined
  const json = bytes.toString('latin1')
  // A key, or the end of one: in a string, the second quote would be escaped.
  const opening = /"content":\s?"/.exec(json)
  if (opening === null) return undefined
  const start = opening.index + opening[0].length
  const text = scanner.scan(json, start)
  const { end, characters } = text
  if (end <= start) return undefined
  const around = json.slice(0, start) + placeholder + json.slice(end)
  if (beyondAscii.test(around)) return undefined
  const events = read(parseBounded(around))
  const at = events.findIndex(event => event.type === 'text-delta' && event.text === placeholder)
  const event = events[at]
  if (event?.type !== 'text-delta' || event.logprobs !== undefined) return undefined
  events[at] = { type: 'text-run', choice: event.choice, literals: [json.slice(start, end)], isAscii: text.isAscii, characters }
  return events
}
