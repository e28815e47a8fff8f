import t from 'tap'
import { defineProvider } from '../../lib/public/define-provider.ts'
import { provider } from '../support/settings.ts'

const { transport } = provider('x')

t.test('omitted settings have the defaults of the configuration', async t => {
  const own = defineProvider({ id: 'own', transport, adapters: {} })
  t.match(own, { id: 'own', enabled: true, transport, secrets: [], quirks: {}, onDisconnect: 'abort' })
  t.strictSame(own.authorize('key'), {})
  t.ok(own.timeouts.connectMs > 0)
})

t.test('explicit settings win', async t => {
  const own = defineProvider({
    id: 'own',
    transport,
    adapters: {},
    retries: 7,
    authorize: key => ({ 'x-key': key ?? '' })
  })
  t.equal(own.retries, 7)
  t.strictSame(own.authorize('k'), { 'x-key': 'k' })
})
