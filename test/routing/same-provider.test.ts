import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { sameProviders } from '../../lib/routing/same-provider.ts'
import { fail, route } from '../support/routes.ts'
import { providerSettings } from '../support/settings.ts'

const [a, b] = [route('one/a'), route('two/b')]

t.test('the state of unchanged providers survives a reload, and nothing else', async t => {
  const before = new RoutingState()
  for (const one of [a, b]) {
    before.failed(
      one,
      before.begin(one, 'key-1'),
      new GatewayError('upstream_overloaded', { retryAfterSeconds: 60 })
    )
  }
  const old = [
    { ...providerSettings('one', 'vllm'), apiKey: new Secret('k') },
    { ...providerSettings('two', 'vllm'), apiKey: new Secret('k') },
    providerSettings('three', 'vllm')
  ]
  const now = [
    { ...providerSettings('one', 'vllm'), apiKey: new Secret('k'), retries: 7 },
    { ...providerSettings('two', 'vllm'), apiKey: new Secret('other') }
  ]
  const same = sameProviders(old, now)
  t.same(['one', 'two', 'three', 'four'].map(same), [true, false, false, false])
  t.notOk(
    sameProviders(
      old,
      old.map(provider => ({ ...provider, baseUrl: 'http://127.0.0.1:8' }))
    )('one'),
    'another address'
  )
  const state = new RoutingState()
  state.adopt(before, same)
  t.match(state.cooldown(a, 'key-1'), { reason: 'rate_limited' })
  t.equal(state.cooldown(b, 'key-1'), undefined)
  for (let count = 0; count < 4; count++) fail(before, a)
  t.same([...state.circuits()], [['one/a', true]], 'calls in flight under the old configuration still count')
})

t.test(
  'a new key, header, dialect or list of keys makes it another provider; gateway settings do not',
  async t => {
    const before = {
      ...providerSettings('one', 'vllm'),
      headers: { 'x-team': new Secret('a') },
      apiKeys: [{ key: new Secret('k'), weight: 1 }]
    }
    const same = (changes: object): boolean => sameProviders([before], [{ ...before, ...changes }])('one')
    t.equal(same({ connections: 9, retries: 2, apiKeys: [{ key: new Secret('k'), weight: 5 }] }), true)
    t.equal(same({ kind: 'ollama' }), false)
    t.equal(same({ headers: { 'x-team': new Secret('b') } }), false)
    t.equal(same({ apiKeys: [{ key: new Secret('other'), weight: 1 }] }), false)
    t.equal(same({ apiKeys: [] }), false)
  }
)
