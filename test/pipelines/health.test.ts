import t from 'tap'
import { health, livez, readyz } from '../../pipelines/health.ts'
import { settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import type { Reply } from '../../lib/core/reply.ts'

const keys = { check: (presented: string) => presented === 'good' ? { id: 'k', name: 'k' } : undefined }
const call = routedCall({})
const withKey = routedCall({}, { headers: { authorization: 'Bearer good' } })
const shown = ({ status, body }: Reply): readonly [number, unknown] => [status, typeof body === 'string' ? JSON.parse(body) : body]

t.test('/health lists the parts that do not work, for callers with a key or for all where it is public', async t => {
  const parts: string[] = []
  const report = health({ settings: settings(), keys }, { ready: () => true, degraded: () => parts })
  t.strictSame(shown(await report(withKey)), [200, { status: 'ok' }])
  parts.push('ledger')
  t.strictSame(shown(await report(withKey)), [200, { status: 'ok', degraded: ['ledger'] }])
  await t.rejects(report(call), { code: 'invalid_api_key' })
  const { server } = settings()
  const open = health({ settings: settings({ server: { ...server, publicHealth: true } }), keys }, { ready: () => true })
  t.strictSame(shown(await open(call)), [200, { status: 'ok' }])
})

t.test('/livez is always fine, /readyz while calls are accepted', async t => {
  t.strictSame(shown(await livez()(call)), [200, { status: 'ok' }])
  let ready = true
  const probe = readyz({ ready: () => ready })
  t.strictSame(shown(await probe(call)), [200, { status: 'ok' }])
  ready = false
  t.strictSame(shown(await probe(call)), [503, { status: 'unavailable' }])
})
