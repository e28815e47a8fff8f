import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { health, livez, readyz } from '../../pipelines/health.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Reply } from '../../lib/core/reply.ts'

const routingState = new RoutingState()
const keys = { check: (presented: string) => presented === 'good' ? { id: 'k', name: 'k' } : undefined }
const call = routedCall({})
const withKey = routedCall({}, { headers: { authorization: 'Bearer good' } })
const shown = ({ status, body }: Reply): readonly [number, unknown] => [
  status,
  typeof body === 'string' ? JSON.parse(body) : body
]

t.test(
  '/health lists failing parts, for callers with a key or for everyone if public',
  async t => {
    const parts: string[] = []
    const report = health(
      { settings: settings(), keys, routingState },
      { ready: () => true, degraded: () => parts }
    )
    t.strictSame(shown(await report(withKey)), [200, { status: 'ok' }])
    parts.push('ledger')
    t.strictSame(shown(await report(withKey)), [200, { status: 'ok', degraded: ['ledger'] }])
    await t.rejects(report(call), { code: 'invalid_api_key' })
    const { server } = settings()
    const open = health(
      { settings: settings({ server: { ...server, publicHealth: true } }), keys, routingState },
      { ready: () => true }
    )
    t.strictSame(shown(await open(call)), [200, { status: 'ok' }])
  }
)

t.test('/health lists what the key may use and what is cooling down, only with a key', async t => {
  const allowed: ApiKey = { id: 'k', name: 'k', models: ['one/a', 'two/*'] }
  const failing = new RoutingState(() => 0)
  for (const modelId of ['one/a', 'one/b']) {
    failing.learn({ providerId: 'one', modelId, forMs: 5000, failingMs: 0 }, 'other')
  }
  for (const id of ['one', 'two']) {
    failing.retryBudget(id).onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 9 }))
  }
  const report = health(
    { settings: settings(), keys: { check: () => allowed }, routingState: failing },
    { ready: () => true }
  )
  t.match(shown(await report(withKey)), [
    200,
    {
      cooldowns: [
        { provider: 'two', reason: 'rate_limited', origin: 'this_process', until: /Z$/ },
        { provider: 'one', model: 'one/a', reason: 'circuit_open', origin: 'another_process', until: /Z$/ }
      ]
    }
  ])
  const { server } = settings()
  const open = health(
    { settings: settings({ server: { ...server, publicHealth: true } }), keys, routingState: failing },
    { ready: () => true }
  )
  t.strictSame(shown(await open(call)), [200, { status: 'ok' }])
})

t.test('/livez always succeeds, /readyz while calls are accepted', async t => {
  t.strictSame(shown(await livez()(call)), [200, { status: 'ok' }])
  let ready = true
  const probe = readyz({ ready: () => ready })
  t.strictSame(shown(await probe(call)), [200, { status: 'ok' }])
  ready = false
  t.strictSame(shown(await probe(call)), [503, { status: 'unavailable' }])
})
