/** Posts alerts as Standard Webhooks. @see https://www.standardwebhooks.com */

import { httpTransport } from '../client/transport.ts'
import { signWebhook } from '../wire/sign-webhook.ts'
import type { Settings } from '../core/settings.ts'
import { alertBody, Undeliverable, type Channel } from './alert.ts'

type WebhookSettings = Settings['alerts']['webhooks'][string]

/** The signal's deadline for an attempt is shorter. */
const wait = 60_000
const timeouts = {
  connectMs: wait,
  firstByteMs: wait,
  responseMs: wait,
  idleBytesMs: wait,
  idleEventsMs: wait
}

/** The status with which a receiver asks for no more attempts. */
const gone = 410

/** @param now Unix milliseconds, which the signature covers */
export function webhookChannel (
  { url, secret, headers, events }: WebhookSettings,
  now: () => number = Date.now
): Channel {
  const { origin, pathname } = new URL(url)
  const [, folder = ''] = pathname.split('/')
  const transport = httpTransport({ baseUrl: origin, connections: 8, connectMs: wait, headers })
  return {
    // The rest may be a secret.
    target: `${origin}/${folder}`,
    events,
    send: async (alert, signal) => {
      const body = alertBody(alert)
      const signature = signWebhook({ id: alert.id, sentAtMs: now(), body }, secret)
      const { status, body: answer } = await transport.send(
        {
          method: 'POST',
          path: pathname,
          headers: { 'content-type': 'application/json', ...signature },
          body
        },
        { signal, credential: {}, timeouts, streamed: false }
      )
      answer.cancel()
      if (status >= 200 && status < 300) return undefined
      const message = `the receiver answered with status ${status}`
      throw status === gone ? new Undeliverable(message) : new Error(message)
    },
    close: transport.close
  }
}
