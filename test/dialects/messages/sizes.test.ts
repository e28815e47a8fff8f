import t from 'tap'
import { messagesSizes } from '../../../lib/dialects/messages/sizes.ts'
import { routedCall } from '../../support/stages.ts'
import type { MessagesBlock, MessagesRequest } from '../../../schemas/messages-request.ts'

const check = messagesSizes({ chatMessages: 2, chatParts: 3, chatTools: 1 })
const call = (request: Partial<MessagesRequest>) =>
  routedCall<MessagesRequest>({ model: 'one/m', max_tokens: 1, messages: [], ...request })
const text = { type: 'text', text: 'a' } as const
const addedTool = {
  type: 'tool_addition', tool: { type: 'tool_definition', definition: { name: 'b' } }
} as unknown as MessagesBlock // a block without a schema

t.test('a request within the limits passes unchanged', async t => {
  const small = call({
    messages: [
      { role: 'user', content: [text, text, text] },
      { role: 'assistant', content: 'b' }
    ]
  })
  t.equal(check(small), small)
})

t.test('the error names the list that is too long', async t => {
  const message = { role: 'user', content: 'a' } as const
  const rows: ReadonlyArray<readonly [Partial<MessagesRequest>, Array<string | number>]> = [
    [{ messages: [message, message, message] }, ['body', 'messages']],
    [
      {
        tools: [
          { name: 'a', input_schema: { type: 'object' } },
          { name: 'b', input_schema: { type: 'object' } }
        ]
      },
      ['body', 'tools']
    ],
    [
      {
        messages: [
          { role: 'user', content: [text, text] },
          { role: 'user', content: [text, text] }
        ]
      },
      ['body', 'messages', 1, 'content']
    ],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: [text, text, text] }] }
        ]
      },
      ['body', 'messages', 0, 'content']
    ],
    [
      {
        tools: [{ name: 'a', input_schema: { type: 'object' } }],
        messages: [{ role: 'system', content: [addedTool] }]
      },
      ['body', 'messages', 0, 'content']
    ]
  ]
  for (const [request, loc] of rows) {
    t.match(
      t.throws(() => check(call(request))),
      { status: 422, detail: [{ loc }] }
    )
  }
})
