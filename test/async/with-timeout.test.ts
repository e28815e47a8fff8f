import t from 'tap'
import { withTimeout } from '../../lib/async/with-timeout.ts'

t.test('work that ends in time gives its value or its failure', async t => {
  t.equal(await withTimeout(60_000, Promise.resolve('done')), 'done')
  await t.rejects(withTimeout(60_000, Promise.reject(new Error('failed'))), { message: 'failed' })
})

t.test('work that takes longer gives nothing', async t => {
  t.equal(await withTimeout(1, new Promise<string>(() => undefined)), undefined)
})

t.test('no clock keeps the process alive when the work has ended', async t => {
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  await withTimeout(60_000, Promise.resolve())
  await withTimeout(60_000, Promise.reject(new Error('failed'))).catch(() => undefined)
  t.equal(timers(), before)
})
