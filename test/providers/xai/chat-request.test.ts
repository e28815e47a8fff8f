import t from 'tap'
import { xaiBody } from '../../support/xai.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import { requests } from '../../support/xai-answers.ts'

function fixture (name: string): Partial<ChatInput> {
  const found = requests.find(request => request.name === name)
  if (found === undefined) throw new Error(`no fixture ${name}`)
  return found.request
}

t.test('the body has the fields that xAI knows, in its form', async t => {
  t.same(xaiBody({}), { model: 'grok-4.6', messages: [{ role: 'user', content: 'hi' }] })
  const { messages: _, model, tools, ...rest } = xaiBody(fixture('every field it takes'), true)
  const { tools: __, ...expected } = fixture('every field it takes')
  t.same(rest, { ...expected, stop: ['END'], stream: true, stream_options: { include_usage: true } })
  t.equal(model, 'grok-4.6')
  t.same(tools, [
    {
      type: 'function',
      function: {
        name: 'ferry_times',
        parameters: { type: 'object', properties: { pier: { anyOf: [{ type: 'string' }] } } }
      }
    }
  ])
  t.same(xaiBody(fixture('fields of others')), {
    model: 'grok-4.6',
    messages: [{ role: 'user', content: 'hi' }],
    reasoning_effort: 'low',
    user: 's' // its `safety_identifier`
  })
  t.same(xaiBody(fixture('a conversation with functions')), {
    model: 'grok-4.6',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'When?' },
          { type: 'image_url', image_url: { url: 'https://example.com/clock.png' } }
        ],
        name: 'ada'
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call00002', type: 'function', function: { name: 'now', arguments: '{}' } }]
      },
      { role: 'tool', tool_call_id: 'call00002', content: 'noon' },
      { role: 'user', content: 'Thanks' }
    ],
    tools: [{ type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } }],
    tool_choice: { type: 'function', function: { name: 'now' } },
    parallel_tool_calls: false
  })
})

t.test('a request that would be answered differently than requested is refused by name', async t => {
  const rows: Array<[Partial<ChatInput>, string]> = [
    [{ modalities: ['text', 'audio'], audio: { format: 'wav', voice: 'eve' } }, 'modalities'],
    [{ audio: { format: 'wav', voice: 'eve' } }, 'audio'],
    [{ logprobs: true, top_logprobs: 9 }, 'top_logprobs'],
    [{ seed: 2 ** 31 }, 'seed'],
    [
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERg==' } }
            ]
          }
        ]
      },
      'messages[0].content[1]'
    ],
    [{ tools: [{ type: 'custom', custom: { name: 'sql' } }] }, 'tools[0].type']
  ]
  for (const [request, param] of rows) {
    t.throws(() => xaiBody(request), { code: 'unsupported_parameter', status: 400, param }, param)
  }
})
