import t from 'tap'
import { AnswerMemory } from '../../lib/attempts/answer-memory.ts'
import { GatewayError } from '../../lib/core/errors.ts'

const free = 64 * 1024

t.test('the peak of buffered bytes is counted twice: as received and as serialized', async t => {
  const taken: number[] = []
  const memory = new AnswerMemory(bytes => { taken.push(bytes) })
  memory.hold(free)
  t.same(taken, [], 'a small answer is not counted')
  memory.hold(100)
  t.same(taken, [200])
  memory.release()
  memory.hold(free + 100)
  t.same(taken, [200], 'reuse of the same memory')
  memory.hold(1)
  t.same(taken, [200, 2])
})

t.test(
  'an answer that exceeds free memory is refused; one that can never fit is not blamed on the route',
  async t => {
    const refusing = (code: 'overloaded' | 'file_too_large'): AnswerMemory =>
      new AnswerMemory(() => {
        throw new GatewayError(code)
      })
    t.throws(() => refusing('overloaded').hold(free + 1), { code: 'overloaded' })
    t.throws(() => refusing('file_too_large').hold(free + 1), {
      code: 'upstream_invalid_response',
      fault: 'final',
      message: /more memory than one API key/
    })
    t.doesNotThrow(() => new AnswerMemory(undefined).hold(free + 1), 'a call without a bound')
  }
)
