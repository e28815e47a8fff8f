import t from 'tap'
import { createProvider } from '../../lib/providers/index.ts'
import { MissingApis, missingMs } from '../../lib/routing/missing-apis.ts'
import { providerSettings } from '../support/settings.ts'
import type { Provider } from '../../lib/providers/provider.ts'

function server (): Provider {
  return createProvider(providerSettings('openai', 'openai'), {
    send: async () => {
      throw new Error('nothing is sent here')
    }
  })
}

t.test('a server without the API is remembered for 15 minutes, and others are not affected', async t => {
  let now = 5
  const apis = new MissingApis(() => now)
  const [one, two] = [server(), server()]
  t.equal(apis.isMissing(one), false)
  apis.noteMissing(one)
  t.same([apis.isMissing(one), apis.isMissing(two)], [true, false])
  now += missingMs - 1
  t.equal(apis.isMissing(one), true)
  now += 1
  t.equal(apis.isMissing(one), false)
  t.equal(missingMs, 15 * 60_000)
  apis.noteMissing(one)
  t.equal(apis.isMissing(one), true, 'until then again')
})

t.test('a server that has used the API successfully is never marked as lacking it', async t => {
  const apis = new MissingApis(() => 0)
  const [before, after] = [server(), server()]
  apis.noteServed(before)
  apis.noteMissing(before)
  t.equal(apis.isMissing(before), false)
  apis.noteMissing(after)
  apis.noteServed(after)
  t.equal(apis.isMissing(after), false)
})
