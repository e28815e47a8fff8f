import t from 'tap'
import { bytesReply } from '../../lib/replies/bytes.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import type { SpeechEvent } from '../../lib/core/events.ts'

const sink = bytesReply(async function * (source) {
  for await (const { events } of source) yield `${events.map(({ type }) => type).join()};`
})
const start: SpeechEvent = { type: 'audio-start', mediaType: 'audio/wav' }
const chunk = (...bytes: number[]): SpeechEvent => ({ type: 'audio-chunk', bytes: Uint8Array.from(bytes) })

t.test('bytes are sent unchanged, with their media type', async t => {
  const { status, headers, body } = await sink(
    batchesOf(routedCall({}), [
      [start, chunk(1)],
      [chunk(2), chunk(3)],
      [{ type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }]
    ])
  )
  t.strictSame([status, headers], [200, { 'content-type': 'audio/wav' }])
  t.same(
    await collect(body as AsyncIterable<Uint8Array>),
    [[1], [2], [3]].map(bytes => Uint8Array.from(bytes))
  )
})

t.test('audio that breaks off throws, so that the connection is cut', async t => {
  const broken = new Error('broken')
  const { body } = await sink(batchesOf(routedCall({}), [[start, chunk(1)]], broken))
  await t.rejects(collect(body as AsyncIterable<Uint8Array>), broken)
})

t.test('events are streamed to a caller who requested a stream, and are an error for others', async t => {
  const delta: SpeechEvent = { type: 'speech-delta', audio: 'AA==' }
  const { headers, body } = await sink(batchesOf(routedCall({ stream: true }), [[delta]]))
  t.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  t.same(await collect(body as AsyncIterable<string>), ['speech-delta;'])
  await t.rejects(sink(batchesOf(routedCall({}), [[delta]])), { code: 'upstream_invalid_response' })
})
