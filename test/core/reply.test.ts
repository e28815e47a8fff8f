import t from 'tap'
import { EarlyReply, toJsonReply, nowSeconds } from '../../lib/core/reply.ts'

t.test('a value is a JSON reply, with status 200 by default', async t => {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  t.strictSame(toJsonReply({ a: 'ä' }), { status: 200, headers, body: '{"a":"ä"}' })
  t.strictSame(toJsonReply(null, 404), { status: 404, headers, body: 'null' })
})

t.test('the time is in seconds, and never in the future', async t => {
  const before = Date.now()
  const seconds = nowSeconds()
  t.ok(Number.isInteger(seconds))
  t.ok(seconds * 1000 > before - 1000 && seconds * 1000 <= Date.now())
})

t.test('an early reply is thrown, but is not an Error and has no stack', async t => {
  const reply = { status: 202, headers: {}, body: '{}' }
  const early = new EarlyReply(reply)
  t.equal(early.reply, reply)
  t.notOk(early instanceof Error)
  t.notOk('stack' in early)
})
