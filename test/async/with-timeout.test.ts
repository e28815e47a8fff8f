import t from 'tap'
import { withTimeout } from '../../lib/async/with-timeout.ts'

t.test('work that ends in time returns its value or its error', async t => {
  t.equal(await withTimeout(60_000, Promise.resolve('done')), 'done')
  await t.rejects(withTimeout(60_000, Promise.reject(new Error('failed'))), { message: 'failed' })
})

t.test('work that takes longer returns undefined', async t => {
  t.equal(await withTimeout(1, new Promise<string>(() => undefined)), undefined)
})

t.test('no timer is left when the work has ended', async t => {
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  await withTimeout(60_000, Promise.resolve())
  await withTimeout(60_000, Promise.reject(new Error('failed'))).catch(() => undefined)
  t.equal(timers(), before)
})
