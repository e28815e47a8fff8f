import t from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { answerStart } from '../../../lib/replies/answer-reply.ts'
import { encodeMessage } from '../../../lib/dialects/messages/encode.ts'
import { route } from '../../support/stages.ts'
import { callWith, framesOf } from './answer.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { MessagesContext } from '../../../lib/dialects/messages/input.ts'
import type { FramePrinter } from '../../../lib/wire/sse-frames.ts'

const call = callWith()
const head: ChatEvent = { type: 'answer-start', id: 'chatcmpl-1', model: 'one/m', createdSeconds: 7 }

function printer (): FramePrinter<ChatEvent> {
  return encodeMessage(answerStart<MessagesContext>({ call, route, events: [head] }))
}

t.test('a hand-printed text delta equals its JSON serialization', async t => {
  const text = 'a "quoted"\n ü \ud800'
  const print = printer()
  print.print([head, { type: 'text-delta', choice: 0, text: 'first' }])
  const frames = framesOf(print.print([{ type: 'text-delta', choice: 0, text }]))
  t.strictSame(frames, [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }])
})

t.test('every frame has an event name, and the last is message_stop', async t => {
  const print = printer()
  const text =
    print.print([
      head,
      { type: 'text-delta', choice: 0, text: 'a' },
      { type: 'choice-end', choice: 0, reason: 'stop' }
    ]) + print.end()
  t.strictSame(
    framesOf(text).map(({ type }) => type),
    [
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop'
    ]
  )
})

t.test('a failure is an error event with the request id, and silence gives a ping', async t => {
  const print = printer()
  t.equal(
    print.fail?.(new GatewayError('upstream_timeout'), call),
    'event: error\ndata: {"type":"error","error":{"type":"timeout_error","message":"The provider did not answer in time.","details":{"error_code":"upstream_timeout"}},"request_id":"call-1"}\n\n'
  )
  t.equal(print.keepAlive?.(), 'event: ping\ndata: {"type":"ping"}\n\n')
})
