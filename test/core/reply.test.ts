import t from 'tap'
import { toJsonReply, nowSeconds } from '../../lib/core/reply.ts'

t.test('a value is a reply in JSON, with 200 unless it is said', async t => {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  t.strictSame(toJsonReply({ a: 'ä' }), { status: 200, headers, body: '{"a":"ä"}' })
  t.strictSame(toJsonReply(null, 404), { status: 404, headers, body: 'null' })
})

t.test('the time is in seconds, never ahead', async t => {
  const before = Date.now()
  const seconds = nowSeconds()
  t.ok(Number.isInteger(seconds))
  t.ok(seconds * 1000 > before - 1000 && seconds * 1000 <= Date.now())
})
