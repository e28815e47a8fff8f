/** Signatures of Standard Webhooks. @see https://www.standardwebhooks.com */

import { createHmac } from 'node:crypto'
import type { Secret } from '../core/secret.ts'

const prefix = 'whsec_'

export interface SignedMessage {
  /** The same for each attempt to deliver a message. */
  readonly id: string
  readonly sentAtMs: number
  readonly body: string
}

/**
 * Returns the headers that authenticate a message and its time.
 *
 * @param secret `whsec_` followed by the base64 key, or any other string, whose bytes are the key
 */
export function signWebhook (
  { id, sentAtMs, body }: SignedMessage,
  secret: Secret | undefined
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(sentAtMs / 1000))
  const identity = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === undefined) return identity
  const text = secret.reveal()
  const key = text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), 'base64') : Buffer.from(text)
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { ...identity, 'webhook-signature': `v1,${signature}` }
}
