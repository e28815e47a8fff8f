import t from 'tap'
import { contentTypeOf, parseObject } from '../../../lib/providers/openai/wire.ts'

t.test('a media type is read without parameters and in lower case', async t => {
  const read = (type?: string): string =>
    contentTypeOf({ status: 200, headers: type === undefined ? {} : { 'content-type': type } })
  t.equal(read('Audio/MPEG ; rate=1'), 'audio/mpeg')
  t.equal(read(), '')
})

t.test('anything but a JSON object is refused', async t => {
  t.same(parseObject('{"a":1}'), { a: 1 })
  for (const text of ['', 'text', '[]', 'null', '{"a":']) {
    t.throws(() => parseObject(text), { code: 'upstream_invalid_response' }, text)
  }
})
