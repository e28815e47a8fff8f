/** Prints the stored form of a body: text without secrets, up to the length that the project keeps. */

import { yieldFairly } from '../async/yield-fairly.ts'
import { parseText } from '../json/parse-text.ts'
import { printText } from '../json/print-in-slices.ts'
import { sseDecoder } from '../wire/sse-decoder.ts'
import { joinDeltas } from './join-deltas.ts'
import { redactJson, type RedactedText } from './redact-json.ts'
import type { CallBody } from '../../schemas/admin/call-bodies.ts'
import type { NotedBody } from './call-capture.ts'
import type { Redaction } from './redaction.ts'

export interface PrintOptions {
  readonly redaction: Redaction
  /** Values to be redacted. */
  readonly secrets: readonly string[]
  readonly maxBytes: number
}

/** A longer event is parsed in separate ticks. */
const longEvent = 64 * 1024
/** Events parsed per tick. */
const eventsPerTick = 500

/** Prints a complete body. */
export async function printBody (
  { mediaType, isText, pieces, sizeBytes, isCut }: NotedBody,
  options: PrintOptions
): Promise<CallBody> {
  if (!isText) {
    return {
      media_type: mediaType ?? null,
      size_bytes: sizeBytes,
      text: null,
      truncated: false,
      redacted: false
    }
  }
  const { text, isRedacted, isTruncated } = await redacted(pieces, mediaType, isCut, options)
  const cut = cutText(text, options.maxBytes)
  return {
    media_type: mediaType ?? null,
    size_bytes: sizeBytes,
    text: cut,
    truncated: isCut || isTruncated || cut.length < text.length,
    redacted: isRedacted
  }
}

async function redacted (
  pieces: ReadonlyArray<string | Uint8Array>,
  mediaType: string | undefined,
  isCut: boolean,
  { redaction, secrets, maxBytes }: PrintOptions
): Promise<RedactedText> {
  const bytes = Buffer.concat(pieces.map(piece => Buffer.from(piece)))
  const options = { redaction, secrets, maxLength: maxBytes }
  if (mediaType === 'text/event-stream') {
    return await redactJson(await printText(await joinDeltas(await eventsOf(bytes))), options)
  }
  // Plain text is redacted like invalid JSON: it is one string.
  return mediaType?.startsWith('text/') === true
    ? await redactPlain(bytes.toString(), options)
    : await redactJson(bytes.toString(), { ...options, isCut })
}

async function redactPlain (text: string, options: Parameters<typeof redactJson>[1]): Promise<RedactedText> {
  const { text: string, ...facts } = await redactJson(JSON.stringify(text), options)
  return { ...facts, text: JSON.parse(string) as string } // of a string
}

/**
 * Returns the JSON of the events of a stream. Anything else, such as `[DONE]` or a truncated event, is left
 * out.
 */
async function eventsOf (bytes: Buffer): Promise<unknown[]> {
  const reader = sseDecoder(bytes.length + 1)
  const events: unknown[] = []
  for (const [index, { data }] of [...reader.push(bytes), ...reader.end()].entries()) {
    const event = await parsed(data)
    if (event !== undefined) events.push(event)
    if (index % eventsPerTick === eventsPerTick - 1) await yieldFairly()
  }
  return events
}

async function parsed (data: string): Promise<unknown> {
  try {
    return data.length > longEvent ? await parseText(data) : JSON.parse(data)
  } catch {
    return undefined
  }
}

/** Returns the longest prefix of a text with at most so many bytes in UTF-8. */
export function cutText (text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let end = maxBytes
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
