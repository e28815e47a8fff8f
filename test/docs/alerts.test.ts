/** Checks docs/alerts.md against the alerts that are sent. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { alertBody, alertOf } from '../../lib/alerts/alert.ts'
import { Secret } from '../../lib/core/secret.ts'
import { signWebhook } from '../../lib/wire/sign-webhook.ts'
import { alertEventNames } from '../../schemas/config/alerts.ts'
import { load } from '../support/config.ts'

const text = readFileSync(join(import.meta.dirname, '../../../docs/alerts.md'), 'utf8')

t.test('the table lists every event', t => {
  const rows = text
    .split('\n')
    .filter(line => line.startsWith('| `'))
    .flatMap(line => [...(line.split('|')[1] ?? '').matchAll(/`([a-z.]+)`/g)].map(([, name = '']) => name))
  t.same(rows.toSorted(), [...alertEventNames].toSorted())
  t.end()
})

t.test('the configuration is valid', t => {
  const { alerts } = load(t, /```yaml\n([^]*?)```/.exec(text)?.[1] ?? '', {
    ALERTS_SECRET: 'whsec_a2V5',
    MAIL_PASSWORD: 'p'
  })
  t.match(alerts, {
    webhooks: { ops: { events: alertEventNames } },
    emails: { team: { requireTls: true, to: ['platform@example.com'] } }
  })
  t.end()
})

t.test('the signature of the example message matches its secret', t => {
  const [, head = '', body = ''] = /```http\n([^]*?)\n\n([^]*?)\n```/.exec(text) ?? []
  const header = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1] ?? ''
  const secret = new Secret(/`(whsec_[^`]+)`/.exec(text)?.[1] ?? '')
  const message = { id: header('webhook-id'), sentAtMs: Number(header('webhook-timestamp')) * 1000, body }
  t.match(signWebhook(message, secret), { 'webhook-signature': header('webhook-signature') })
  const {
    type,
    timestamp,
    data: { message: sentence, ...data }
  } = JSON.parse(body) as { type: 'budget.threshold', timestamp: string, data: Record<string, string> }
  const alert = alertOf(
    { event: type, message: sentence ?? '', data },
    ['key', 'key_1', 80, 10, 'month', Date.UTC(2026, 10, 1)],
    Date.parse(timestamp)
  )
  t.equal(alertBody(alert), body)
  t.equal(alert.id, message.id)
  t.end()
})
