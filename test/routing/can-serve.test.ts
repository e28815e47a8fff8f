import t from 'tap'
import { canServe } from '../../lib/routing/can-serve.ts'
import { route } from '../support/routes.ts'
import { provider } from '../support/settings.ts'
import type { Adapters } from '../../lib/providers/provider.ts'

t.test('a route can serve the capabilities that its provider has an adapter for', async t => {
  // only its presence counts
  const chat = { ...provider('one'), adapters: { chat: {} } as unknown as Adapters }
  const providers = new Map([['one', chat], ['two', provider('two')]])
  const tests = (['chat', 'speech'] as const).map(capability => canServe(providers, capability))
  for (const [id, expected] of [
    ['one/a', [true, false]],
    ['two/a', [false, false]],
    ['three/a', [false, false]]
  ] as const) {
    t.same(
      tests.map(test => test(route(id))),
      expected,
      id
    )
  }
})
