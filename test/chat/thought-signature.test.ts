import t from 'tap'
import { thoughtSignature } from '../../lib/chat/thought-signature.ts'
import type { ToolCall } from '../../schemas/messages.ts'

const call = (extra?: unknown): ToolCall =>
  // any value that a caller may send
  ({
    id: 'a',
    function: { name: 'f', arguments: '{}' },
    ...extra !== undefined && { extra_content: extra }
  }) as ToolCall

t.test('a signature is read from the extra_content of a tool call', async t => {
  t.equal(thoughtSignature(call({ google: { thought_signature: 's' } })), 's')
  for (const extra of [
    undefined,
    null,
    'none',
    {},
    { google: null },
    { google: { thought_signature: '' } },
    { google: { thought_signature: 1 } }
  ]) {
    t.equal(thoughtSignature(call(extra)), undefined, JSON.stringify(extra))
  }
  t.equal(thoughtSignature({ id: 'a', type: 'custom', custom: { name: 'f', input: '' } }), undefined)
})
