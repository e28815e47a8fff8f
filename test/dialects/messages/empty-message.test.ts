import t from 'tap'
import { emptyMessage } from '../../../lib/dialects/messages/empty-message.ts'
import { streamEvents } from '../../support/responses.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { MessagesContext } from '../../../lib/dialects/messages/input.ts'

const context: MessagesContext = {
  request: { model: 'fast', messages: [] },
  keyId: 'key',
  hidesThinking: false,
  toolNames: new Map(),
  untranslatable: undefined,
  direct: { routes: new Set() }
}
const call = { ...routedCall<ChatInput>({ model: 'one/m', messages: [] }), context }

t.test('the answer to a request for zero tokens is empty, with a message id and the request id', async t => {
  const { status, headers, body } = emptyMessage(call)
  t.equal(status, 200)
  t.equal(headers['request-id'], 'call-1')
  const { id, ...message } = JSON.parse(typeof body === 'string' ? body : '') as Record<string, unknown>
  t.match(id, /^msg_[0-9a-f]{32}$/)
  t.strictSame(message, {
    type: 'message',
    role: 'assistant',
    model: 'fast',
    content: [],
    stop_reason: 'max_tokens',
    stop_sequence: null,
    usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }
  })
})

t.test('the stream for zero tokens has the events of an empty message', async t => {
  const request = { ...call.request, stream: true }
  const { headers, body } = emptyMessage({ ...call, request })
  t.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  t.equal(headers['request-id'], 'call-1')
  const events = streamEvents(typeof body === 'string' ? body : '')
  t.match(events, [
    { type: 'message_start', message: { model: 'fast', content: [], stop_reason: null } },
    { type: 'ping' },
    { type: 'message_delta', delta: { stop_reason: 'max_tokens', stop_sequence: null } },
    { type: 'message_stop' }
  ])
  t.equal(events.length, 4)
})
