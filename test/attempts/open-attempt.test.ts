import t from 'tap'
import { bufferedAttempt, AnswerMemory } from '../../lib/attempts/open-attempt.ts'
import { GatewayError } from '../../lib/core/errors.ts'

t.test('a response that was read to its end is one read', async t => {
  const attempt = bufferedAttempt(['a', 'b'])
  t.same(
    [await attempt.next(), await attempt.next(), await attempt.next()],
    [['a', 'b'], undefined, undefined]
  )
  t.equal(attempt.sizeBytes(), 0)
  t.doesNotThrow(() => attempt.close())
})

const free = 64 * 1024

t.test('the most that was held at once is counted, as received and as printed', async t => {
  const taken: number[] = []
  const memory = new AnswerMemory(bytes => { taken.push(bytes) })
  memory.hold(free)
  t.same(taken, [], 'a small answer is free')
  memory.hold(100)
  t.same(taken, [200])
  memory.release()
  memory.hold(free + 100)
  t.same(taken, [200], 'the same memory again')
  memory.hold(1)
  t.same(taken, [200, 2])
})

t.test(
  'an answer for which there is no room is refused, and one that never fits is the fault of no route',
  async t => {
    const refusing = (code: 'overloaded' | 'file_too_large'): AnswerMemory =>
      new AnswerMemory(() => {
        throw new GatewayError(code)
      })
    t.throws(() => refusing('overloaded').hold(free + 1), { code: 'overloaded' })
    t.throws(() => refusing('file_too_large').hold(free + 1), {
      code: 'upstream_invalid_response',
      fault: 'caller',
      message: /more memory than one API key/
    })
    t.doesNotThrow(() => new AnswerMemory(undefined).hold(free + 1), 'a call without a bound')
  }
)
