import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { writeAtTurnEnd } from '../../lib/upstream/write-at-turn-end.ts'

t.test('all that is to be written in a turn is written at its end, in order, and what follows in the next', async t => {
  const written: string[] = []
  const writer = (name: string, then?: () => void) => ({ write: () => { written.push(name); then?.() } })
  writeAtTurnEnd(writer('first', () => { writeAtTurnEnd(writer('third')) }))
  writeAtTurnEnd(writer('second'))
  await Promise.resolve()
  t.strictSame(written, [], 'not before the turn ends')
  await turn()
  t.strictSame(written, ['first', 'second'])
  await turn()
  t.strictSame(written, ['first', 'second', 'third'])
})
