import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { provider, providerSettings } from '../support/settings.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'

const { transport } = provider('x')
const create = (parts: Partial<ProviderSettings> = {}) =>
  createProvider({ ...providerSettings('one', 'openai'), ...parts }, transport)

t.test('a provider uses the credential of its kind, or that of the caller instead', async t => {
  const one = create({ apiKey: new Secret('sk-1') })
  t.strictSame(one.authorize(), { authorization: 'Bearer sk-1' })
  t.strictSame(one.authorize('caller'), { authorization: 'Bearer caller' })
  t.strictSame(create().authorize(), {}, 'none without a key')
  t.strictSame(
    createProvider(
      { ...providerSettings('one', 'anthropic'), apiKey: new Secret('k') },
      transport
    ).authorize(),
    { 'x-api-key': 'k' }
  )
})

t.test('each of several credentials has its index', async t => {
  const one = create({
    apiKeys: [
      { key: new Secret('a'), weight: 1 },
      { key: new Secret('b'), weight: 2 }
    ]
  })
  t.same(
    [one.authorize(), one.authorize(undefined, 1), one.authorize(undefined, 2)],
    [{ authorization: 'Bearer a' }, { authorization: 'Bearer b' }, {}]
  )
})

t.test('every configured key and header is a secret', async t => {
  const one = create({
    apiKeys: [{ key: new Secret('a'), weight: 1 }],
    headers: { 'x-team': new Secret('b') }
  })
  t.same(
    one.secrets.map(secret => secret.reveal()),
    ['a', 'b']
  )
})

t.test('configured quirks override those of the kind, and the rest is as configured', async t => {
  const one = create({ quirks: { rename: { a: 'b' } }, retries: 3, enabled: false, onDisconnect: 'drain' })
  t.match(one, {
    id: 'one',
    enabled: false,
    transport,
    retries: 3,
    onDisconnect: 'drain',
    quirks: { rename: { a: 'b' } }
  })
})
