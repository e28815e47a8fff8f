import t from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import { readerOf, streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import { ask, eventsOf, sse, start, textStart, half, finish, stop } from '../../support/anthropic-answers.ts'

t.test('a stream that breaks off is an error, not an end', async t => {
  for (const messages of [[], [start], [start, textStart, half]]) {
    t.throws(() => eventsOf(...messages), { code: 'upstream_stream_interrupted', status: 502 })
  }
  t.throws(
    () =>
      readEvents(
        [
          Buffer.concat([
            sse([start, textStart, half]),
            Buffer.from('event: message_delta\ndata: {"type":"mess')
          ])
        ],
        streamOf(anthropicChat, ask())
      ),
    GatewayError
  )
  for (const reason of ['end_turn', 'yet to be invented']) {
    t.match(eventsOf(start, textStart, half, { ...finish, delta: { stop_reason: reason } }).at(-1), {
      type: 'usage'
    })
  }
})

t.test('a second answer in one stream is refused, a repeated first one is not', async t => {
  const second = { type: 'message_start', message: { id: 'msg_2' } }
  t.throws(() => eventsOf(start, textStart, half, second), { code: 'upstream_invalid_response' })
  t.equal(eventsOf(start, start, finish, stop).filter(event => event.type === 'answer-start').length, 1)
})

t.test('the stream ends with its last event: nothing after it is read', async t => {
  const reader = streamOf(anthropicChat, ask())
  const next = readerOf(reader)
  for (const message of [start, finish]) {
    next({ event: message.type, data: JSON.stringify(message), id: undefined })
  }
  t.equal(reader.isDone, false)
  t.match(next({ event: 'message_stop', data: '{}', id: undefined }), [
    { type: 'choice-end' },
    { type: 'usage' }
  ])
  t.equal(reader.isDone, true)
})
