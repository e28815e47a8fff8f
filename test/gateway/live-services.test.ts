import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testGateway } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'

t.test('a configuration that arrives at the shutdown is closed without being used', async t => {
  const file = join(t.testdir(), 'mine.mjs')
  writeFileSync(file, `globalThis.openMine = (globalThis.openMine ?? 0) + 1
export default { request: () => undefined, close: () => { globalThis.openMine-- } }`)
  t.teardown(() => Reflect.deleteProperty(globalThis, 'openMine'))
  const { gateway } = await testGateway(t)
  const before = gateway.services
  const closed = gateway.close()
  await gateway.reload(settings({ guards: [{ name: 'mine', use: file, at: ['request'] }] }))
  await closed
  t.equal(gateway.services, before)
  t.equal(Reflect.get(globalThis, 'openMine'), 0, 'it was opened, and closed')
})

t.test('of two configurations, the one requested last is used', async t => {
  const { gateway } = await testGateway(t)
  const named = (message: string) =>
    settings({ responses: { ...settings().responses, maxBytesPerKey: Number(message) } })
  await Promise.all([gateway.reload(named('1000')), gateway.reload(named('2000'))])
  t.equal(gateway.services.settings.responses.maxBytesPerKey, 2000)
})
