import t from 'tap'
import { CallCapture } from '../../lib/bodies/call-capture.ts'
import { Redaction } from '../../lib/bodies/redaction.ts'
import { captureBoth, secretsIn, takeCapture } from '../../lib/bodies/several-captures.ts'
import { toJsonReply } from '../../lib/core/reply.ts'
import { CallRecord } from '../../lib/core/record.ts'

class One extends CallCapture {}
class Other extends CallCapture {}
const rule = { maxBytes: 100, redaction: new Redaction({ fields: [], patterns: [] }), secrets: [] }
const memory = { take: () => true, release: () => undefined }
const key = { id: 'key', name: 'key' }
const text = (
  body: { readonly pieces: ReadonlyArray<string | Uint8Array> } | undefined
): string | undefined => body && Buffer.concat(body.pieces.map(piece => Buffer.from(piece))).toString()

t.test('both captures record what a call receives and sends, and each is read separately', async t => {
  const record = new CallRecord('chat')
  record.bodies = captureBoth(() => new One(rule, memory), () => new Other(rule, memory))?.(key, 'chat')
  record.bodies?.takeRequest([Buffer.from('{"a":1}')])
  const { body } =
    record.bodies?.watch({
      ...toJsonReply({}),
      body: (async function* () {
        yield 'x'
        yield 'y'
      })()
    }) ?? {}
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) throw new TypeError('no stream')
  for await (const piece of body) t.ok(piece)
  for (const kind of [One, Other]) {
    const capture = takeCapture(record, kind)
    t.equal(text(capture?.request), '{"a":1}')
    t.equal(text(capture?.answer), 'xy')
    t.equal(takeCapture(record, kind), undefined, 'once')
  }
  t.equal(record.bodies, undefined)
})

t.test('both record a form', async t => {
  const record = new CallRecord('chat')
  record.bodies = captureBoth(() => new One(rule, memory), () => new Other(rule, memory))?.(key, 'chat')
  record.bodies?.takeForm({ fields: { a: '1' }, files: {} })
  t.match(
    [takeCapture(record, One), takeCapture(record, Other)],
    [{ request: { mediaType: 'multipart/form-data' } }, { request: { mediaType: 'multipart/form-data' } }]
  )
})

t.test('when one capture is not needed, the other is used alone', async t => {
  const one = new One(rule, memory)
  t.equal(captureBoth(() => one, undefined)?.(key, 'chat'), one)
  t.equal(captureBoth(undefined, () => one)?.(key, 'chat'), one)
  t.equal(captureBoth(() => undefined, () => one)?.(key, 'chat'), one)
  t.equal(captureBoth(() => one, () => undefined)?.(key, 'chat'), one)
  t.equal(captureBoth(undefined, undefined), undefined)
})

t.test('credentials in the headers of a call are secrets to redact from its bodies', async t => {
  t.same(secretsIn({ authorization: 'Bearer a', 'x-provider-key': 'b' }), ['a', 'b'])
  t.same(secretsIn({}), [])
})
