import t from 'tap'
import { bufferedAttempt } from '../../lib/attempts/open-attempt.ts'

t.test('a response that was read to its end is one read', async t => {
  const attempt = bufferedAttempt(['a', 'b'])
  t.same([await attempt.next(), await attempt.next(), await attempt.next()], [['a', 'b'], undefined, undefined])
  t.equal(attempt.sizeBytes(), 0)
  t.doesNotThrow(() => attempt.close())
})
