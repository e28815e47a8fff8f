import t from 'tap'
import { looksLikeStream, withoutComments } from '../../lib/attempts/sniff-body.ts'

t.test('a stream is recognised by its first line, after a mark and blanks', async t => {
  for (const text of ['data: 1', '\ufeffdata: 1', '\n event: a', 'id: 1', 'retry: 1', ': ping']) {
    t.ok(looksLikeStream(Buffer.from(text)), text)
  }
  for (const text of ['{"data": 1}', 'database: 1', '']) t.notOk(looksLikeStream(Buffer.from(text)), text)
})

t.test('comments before JSON are removed, and any other text is unchanged', async t => {
  const result = (text: string): string => withoutComments(Buffer.from(text)).toString()
  t.equal(result(': ping\n\n: ping\r\n {"a":1}'), '{"a":1}')
  t.equal(result(': ping\n[1]'), '[1]')
  for (const text of [': ping\ndata: 1\n\n', ': ping', ' {"a":1}', 'data: 1']) t.equal(result(text), text)
})
