import { setImmediate as check } from 'node:timers/promises'
import t from 'tap'
import { writeInNextTurn } from '../../lib/upstream/write-in-next-turn.ts'

t.test('what is to be written is written in order, once the sockets have been polled again', async t => {
  const written: string[] = []
  const writer = (name: string, then?: () => void) => ({ write: () => { written.push(name); then?.() } })
  writeInNextTurn(writer('first', () => { writeInNextTurn(writer('third')) }))
  await check()
  writeInNextTurn(writer('second'))
  t.strictSame(written, [], 'no poll lies between the call and the first `setImmediate`')
  await check()
  t.strictSame(written, ['first', 'second'])
  await check()
  t.strictSame(written, ['first', 'second'])
  await check()
  t.strictSame(written, ['first', 'second', 'third'])
})
