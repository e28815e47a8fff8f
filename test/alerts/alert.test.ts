import t from 'tap'
import { alertBody, alertOf } from '../../lib/alerts/alert.ts'

const text = { event: 'provider.down', message: 'openai is down.', data: { provider: 'openai' } } as const

t.test('the id of an alert depends on its subject, not on when or by whom it was noticed', t => {
  const { id } = alertOf(text, ['openai', 5], 1000)
  t.match(id, /^alert_[\w-]{22}$/)
  t.equal(alertOf({ ...text, message: 'Other words.' }, ['openai', 5], 2000).id, id)
  const others = [
    alertOf({ ...text, event: 'provider.up' }, ['openai', 5], 1000),
    alertOf(text, ['openai', 6], 1000),
    alertOf(text, ['openai'], 1000),
    alertOf(text, ['openai,5'], 1000)
  ]
  t.equal(new Set([id, ...others.map(alert => alert.id)]).size, 5)
  t.end()
})

t.test('the body has the type, the timestamp and the data that Standard Webhooks recommends', t => {
  t.equal(
    alertBody(alertOf(text, [], 1_763_686_800_000)),
    '{"type":"provider.down","timestamp":"2025-11-21T01:00:00.000Z","data":{"message":"openai is down.","provider":"openai"}}'
  )
  t.end()
})
