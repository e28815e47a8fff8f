import t from 'tap'
import { countTurns } from '../support/turns.ts'
import { toAnswerReply } from '../../lib/replies/to-answer-reply.ts'

t.test('an answer is printed at once, a large one in parts', async t => {
  t.same(await toAnswerReply({ a: 1 }, { answerBytes: 100 }), { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{"a":1}' })
  const value = { a: 'x'.repeat(3_000_000), b: [1] }
  const turns = countTurns(t)
  const { status, body } = await toAnswerReply(value, { answerBytes: 3_000_000 })
  t.equal(status, 200)
  t.ok(turns() > 10)
  t.ok(body instanceof Uint8Array && Buffer.from(body).toString() === JSON.stringify(value))
})
