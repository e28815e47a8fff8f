import t from 'tap'
import { toAnswerReply } from '../../lib/replies/to-answer-reply.ts'

t.test('an answer is printed at once, a large one in parts', async t => {
  t.same(toAnswerReply({ a: 1 }, { answerBytes: 100 }), { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{"a":1}' })
  const value = { a: 'x'.repeat(3_000_000), b: [1] }
  const { status, body } = toAnswerReply(value, { answerBytes: 3_000_000 })
  t.equal(status, 200)
  if (typeof body === 'string' || body instanceof Uint8Array) return t.fail('in one piece')
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece))
  t.ok(pieces.length > 10)
  t.ok(Buffer.concat(pieces).toString() === JSON.stringify(value))
})
