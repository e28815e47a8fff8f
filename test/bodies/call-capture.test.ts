import t from 'tap'
import { CallCapture, type BodyMemory } from '../../lib/bodies/call-capture.ts'
import { printBody } from '../../lib/bodies/print-body.ts'
import { Redaction } from '../../lib/bodies/redaction.ts'
import { jsonReplyHeaders } from '../../lib/core/reply.ts'

const redaction = new Redaction({ fields: [], patterns: [] })
const options = { redaction, secrets: [], maxBytes: 1024 }

function memory (room: number): BodyMemory & { left: number } {
  return {
    left: room,
    take (bytes) {
      if (bytes > this.left) return false
      this.left -= bytes
      return true
    },
    release (bytes) { this.left += bytes }
  }
}

function capture (memory: BodyMemory, maxBytes = 1024): CallCapture {
  return new CallCapture(
    { keepMs: 1, maxBytes, readableBy: 'admin', redaction, projectId: 'p', secrets: [] },
    memory
  )
}

t.test('only the part of a stream that is read is recorded', async t => {
  const place = memory(10_000)
  const noted = capture(place)
  const { body } = noted.watch({
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: (async function* () {
      yield* ['é', Buffer.from('lan'), 'never']
    })()
  })
  const pieces: unknown[] = []
  for await (const piece of body as AsyncIterable<string>) if (pieces.push(piece) === 2) break // a stream
  t.match(noted.answer && (await printBody(noted.answer, options)), {
    media_type: 'text/plain',
    text: 'élan',
    size_bytes: 5,
    truncated: false
  })
  noted.release()
  t.equal(place.left, 10_000)
})

t.test('the recorded body is cut at a limit, its full size is kept, and media are left out', async t => {
  const place = memory(1e6)
  const noted = capture(place, 256)
  noted.takeRequest([Buffer.from(`{"a":"${'x '.repeat(5000)}`), Buffer.from('"}')])
  const before = place.left
  noted.watch({ status: 200, headers: { 'content-type': 'audio/mpeg' }, body: Buffer.alloc(5000) })
  t.equal(place.left, before)
  t.match(noted.request && (await printBody(noted.request, { ...options, maxBytes: 256 })), {
    size_bytes: 10_008,
    truncated: true,
    text: /^\{"a":"(?:x )+$/
  })
  t.same(noted.answer && (await printBody(noted.answer, options)), {
    media_type: 'audio/mpeg',
    size_bytes: 5000,
    text: null,
    truncated: false,
    redacted: false
  })
  noted.takeForm({
    fields: { model: 'a/b' },
    files: {
      file: [
        {
          name: 'a.mp3',
          mediaType: 'audio/mpeg',
          sizeBytes: 7,
          head: Buffer.alloc(0),
          open: async function* () {
            yield* []
          }
        }
      ]
    }
  })
  t.match(noted.request && (await printBody(noted.request, options)), {
    media_type: 'multipart/form-data',
    text: '{"fields":{"model":"a/b"},"files":[{"field":"file","name":"a.mp3","media_type":"audio/mpeg","size_bytes":7}]}'
  })
})

t.test('a replaced request takes the memory of the last one only', async t => {
  const place = memory(10_000)
  const noted = capture(place)
  const empty = place.left
  for (const size of [3000, 2500, 2000]) noted.takeRequest([Buffer.alloc(size, 'x')])
  t.equal(empty - place.left, 2000)
  noted.takeForm({ fields: { a: 'b' }, files: {} })
  t.ok(empty - place.left < 100)
  noted.takeRequest([])
  t.equal(place.left, empty)
  noted.takeRequest([Buffer.alloc(9000 - 1024, 'x')])
  noted.takeRequest([Buffer.alloc(9000, 'x')])
  t.ok(noted.isDropped, 'and what does not fit is still dropped')
  noted.release()
  t.equal(place.left, 10_000)
})

t.test('forgotten bodies take no memory', async t => {
  const place = memory(10_000)
  const noted = capture(place)
  const empty = place.left
  noted.takeRequest([Buffer.alloc(3000, 'x')])
  noted.watch({ status: 200, headers: jsonReplyHeaders, body: '"answer"' })
  noted.forget()
  t.equal(place.left, empty)
  noted.release()
  t.equal(place.left, 10_000)
})

t.test('when memory runs out the bodies of a call are dropped and the call continues', async t => {
  const place = memory(3000)
  const noted = capture(place)
  noted.takeRequest([Buffer.alloc(1500, 'x')])
  const reply = noted.watch({ status: 200, headers: jsonReplyHeaders, body: '"answer"'.repeat(200) })
  t.equal(reply.body, '"answer"'.repeat(200))
  t.ok(noted.isDropped)
  t.equal(place.left, 3000)
  t.ok(capture(memory(10)).isDropped)
})

t.test('text is cut between characters', async t => {
  const noted = capture(memory(1e6))
  noted.watch({ status: 200, headers: jsonReplyHeaders, body: JSON.stringify({ a: 'é€'.repeat(2000) }) })
  const body = noted.answer && await printBody(noted.answer, options)
  t.ok(body?.truncated)
  t.notMatch(body?.text, '\ufffd')
  t.ok(Buffer.byteLength(body?.text ?? '') > 1020)
})
