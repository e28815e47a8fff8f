import t from 'tap'
import { answerStart } from '../../lib/dialects/dialect.ts'
import { route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

t.test('an answer starts with the first event of its first batch, and with what `input` kept of the request', async t => {
  const call = routedCall<ChatInput>({ model: 'one/m', messages: [] }, { context: { echo: true } })
  const head: ChatEvent = { type: 'response-start', id: 'chatcmpl-1', model: 'one/m', createdSeconds: 7 }
  const start = answerStart({ call, route, events: [head, { type: 'choice-end', choice: 0, reason: 'stop' }] })
  t.strictSame(start, { head, call, route, context: { echo: true } })
})
