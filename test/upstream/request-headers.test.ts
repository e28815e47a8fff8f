import t from 'tap'
import { RequestHeaders } from '../../lib/upstream/request-headers.ts'

const own = { accept: 'a/b' }

t.test('headers are printed once for the same objects, and anew for others', async t => {
  const headers = new RequestHeaders({ host: 'h', accept: '*/*' })
  const credential = { authorization: 'Bearer 1' }
  const printed = headers.of(own, credential)
  t.same(printed, { lines: 'host: h\r\naccept: a/b\r\nauthorization: Bearer 1\r\n', contentLength: undefined })
  t.equal(headers.of(own, credential), printed)
  t.match(headers.of(own, { authorization: 'Bearer 2' }).lines, 'Bearer 2')
  t.match(headers.of({ 'content-length': '7' }, credential), { lines: /Bearer 1/, contentLength: '7' })
})

t.test('a value that no header can have is refused, each time', async t => {
  const headers = new RequestHeaders({})
  const credential = { authorization: 'a\r\nb: c' }
  for (const _ of [1, 2]) t.throws(() => headers.of(own, credential), { code: 'internal_error', cause: 'the header authorization cannot be sent' })
})
