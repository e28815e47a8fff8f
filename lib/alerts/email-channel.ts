/** Sends alerts as emails, by SMTP. */

import { createTransport } from 'nodemailer'
import { describeError } from '../text/describe-error.ts'
import { printable } from '../text/printable.ts'
import { withoutValues } from '../text/redact.ts'
import type { Settings } from '../core/settings.ts'
import type { Alert, Channel } from './alert.ts'

type EmailSettings = Settings['alerts']['emails'][string]

/** Milliseconds without a byte from the email server, in each part of the conversation. */
const silentMs = 10_000
const defaultPorts = { 'smtp:': 587, 'smtps:': 465 } as const

export function emailChannel (
  { server, requireTls, user, password, from, to, events }: EmailSettings
): Channel {
  const { protocol, hostname, port } = new URL(server)
  const secure = protocol === 'smtps:'
  const secrets = password === undefined ? [] : formsOf(user, password.reveal())
  const mailer = createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? defaultPorts[secure ? 'smtps:' : 'smtp:'] : Number(port),
    secure,
    requireTLS: requireTls,
    ...user !== undefined && { auth: { user, pass: password?.reveal() ?? '' } },
    connectionTimeout: silentMs,
    greetingTimeout: silentMs,
    socketTimeout: silentMs,
    disableFileAccess: true,
    disableUrlAccess: true
  })
  return {
    target: to.join(', '),
    events,
    send: async (alert, signal) => {
      const message = {
        from,
        to: [...to],
        subject: `[Headgate] ${printable(alert.message)}`,
        text: emailText(alert),
        // The same in every attempt: email systems drop duplicates.
        messageId: `<${alert.id}@${from.slice(from.indexOf('@') + 1)}>`,
        headers: { 'X-Headgate-Event': alert.event, 'Auto-Submitted': 'auto-generated' },
        signal
      }
      const { rejected } = await mailer.sendMail(message).catch((error: unknown) => {
        throw signal.aborted ? error : new Error(withoutValues(describeError(error), secrets))
      })
      return rejected.length === 0 ? undefined : `refused for ${rejected.join(', ')}`
    },
    close: async () => mailer.close()
  }
}

/** Returns a password as SMTP sends it: a server may quote a command that it refuses. */
function formsOf (user: string | undefined, password: string): string[] {
  const inBase64 = [`\0${user ?? ''}\0${password}`, password].map(text =>
    Buffer.from(text).toString('base64')
  )
  return [...inBase64, password]
}

/** Names chosen by others must not begin a line. */
function emailText ({ id, event, atMs, message, data }: Alert): string {
  const facts = Object.entries({ event, at: new Date(atMs).toISOString(), ...data, id }).map(
    ([name, value]) => `${name}: ${printable(typeof value === 'string' ? value : JSON.stringify(value))}`
  )
  return `${printable(message)}\n\n${facts.join('\n')}\n`
}
