/** Reads the bodies of error responses. */

import { parseBounded } from '../json/parse-bounded.ts'
import type { UpstreamResponse } from './provider.ts'

const maxBytes = 64 * 1024
/** The status says most; a caller should not wait longer for the message. */
const maxWaitMs = 3000

/**
 * Reads the body of an error response: parsed JSON, or text; empty for HTML and truncated bodies. Reading
 * stops after three seconds.
 */
export async function readErrorBody (response: UpstreamResponse, waitMs = maxWaitMs): Promise<unknown> {
  return (await readErrorAnswer(response, waitMs)).body
}

/** Reads an error response like `readErrorBody`; `text` is the raw JSON. */
export async function readErrorAnswer (
  { body }: UpstreamResponse, waitMs = maxWaitMs
): Promise<{ readonly body: unknown, readonly text?: string }> {
  const { text, complete } = await readFor(body, waitMs)
  try {
    return { body: parseBounded(text), text }
  } catch {
    return { body: complete && !text.trimStart().startsWith('<') ? text : '' }
  }
}

async function readFor (
  body: UpstreamResponse['body'],
  waitMs: number
): Promise<{ text: string, complete: boolean }> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  let complete = false
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>(resolve => { timer = setTimeout(resolve, waitMs, undefined) })
  // If the body breaks off, use what has arrived.
  const interrupted = (): undefined => undefined
  try {
    const source = body[Symbol.asyncIterator]()
    while (sizeBytes <= maxBytes) {
      const next = await Promise.race([source.next().catch(interrupted), over])
      if (next === undefined) break
      complete = next.done === true
      if (next.done === true) break
      pieces.push(next.value)
      sizeBytes += next.value.length
    }
  } finally {
    clearTimeout(timer)
    if (!complete) body.cancel()
  }
  return { text: Buffer.concat(pieces).toString(), complete }
}
