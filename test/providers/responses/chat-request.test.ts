import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fixtures, responsesBody } from '../../support/responses-api.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

// ours
const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as Array<{
  name: string
  request: Partial<ChatInput>
}>

function bodyOf (name: string, streamed = false): Record<string, unknown> {
  const found = requests.find(request => request.name === name)
  if (found === undefined) throw new Error(`no fixture ${name}`)
  return responsesBody(found.request, streamed)
}

const start = { model: 'gpt-5-pro', store: false, include: ['reasoning.encrypted_content'] }
const greeting = [{ type: 'message', role: 'user', content: 'hi' }]

t.test('the body has only fields that the API knows, under its names', async t => {
  t.same(bodyOf('a greeting'), { ...start, input: greeting })
  t.same(bodyOf('every field it takes', true), {
    ...start,
    include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
    input: greeting,
    temperature: 0.4,
    top_p: 0.9,
    top_logprobs: 2,
    max_output_tokens: 400,
    user: 'u-1',
    metadata: { team: 'a' },
    safety_identifier: 's-1',
    prompt_cache_key: 'c-1',
    prompt_cache_retention: '24h',
    reasoning: { effort: 'high', summary: 'auto' },
    text: {
      format: { type: 'json_schema', name: 'plan', schema: { type: 'object' }, strict: true },
      verbosity: 'low'
    },
    service_tier: 'priority',
    parallel_tool_calls: true,
    tools: [
      {
        type: 'function',
        name: 'ferry_times',
        description: 'Times.',
        parameters: { type: 'object', properties: { pier: { anyOf: [{ type: 'string' }] } } },
        strict: false
      },
      {
        type: 'custom',
        name: 'apply_patch',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' }
      },
      {
        type: 'web_search',
        search_context_size: 'low',
        user_location: { type: 'approximate', country: 'NO' }
      }
    ],
    tool_choice: {
      type: 'allowed_tools',
      mode: 'required',
      tools: [
        { type: 'function', name: 'ferry_times' },
        { type: 'custom', name: 'apply_patch' }
      ]
    },
    stream: true,
    stream_options: { include_obfuscation: false }
  })
  t.same(bodyOf('fields of others'), {
    ...start,
    input: greeting,
    max_output_tokens: 50,
    service_tier: 'default'
  })
})

t.test('messages become items; reasoning of this API is sent back, that of others is not', async t => {
  t.same(bodyOf('a conversation with functions')['input'], [
    { type: 'message', role: 'system', content: 'Be brief.' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'When?' },
        { type: 'input_image', image_url: 'https://example.com/clock.png', detail: 'auto' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERg==', filename: 'a.pdf' }
      ]
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Both piers.' }],
      encrypted_content: 'gAAAAA'
    },
    { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gBBBBB' },
    { type: 'message', role: 'assistant', content: 'Looking.' },
    { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'sql', input: 'select 1' },
    { type: 'function_call_output', call_id: 'call_1', output: 'noon' },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: '1' },
    { type: 'message', role: 'assistant', content: 'No.' },
    { type: 'function_call', call_id: 'call00006', name: 'now', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call00006', output: 'one' },
    { type: 'message', role: 'developer', content: 'Be kind.' },
    { type: 'message', role: 'user', content: 'Thanks' }
  ])
})

t.test('every tool choice is translated to this API', async t => {
  const tools: ChatInput['tools'] = [{ function: { name: 'f' } }]
  const rows: Array<[NonNullable<ChatInput['tool_choice']>, unknown]> = [
    ['required', 'required'],
    [{ type: 'function', function: { name: 'f' } }, { type: 'function', name: 'f' }],
    [{ type: 'custom', custom: { name: 'f' } }, { type: 'custom', name: 'f' }],
    [{ type: 'tool', name: 'f' }, { type: 'function', name: 'f' }],
    [{ type: 'any' }, 'required'],
    [{ type: 'auto' }, 'auto'],
    [{ server_label: 's', name: 'f' }, { type: 'function', name: 'f' }]
  ]
  for (const [choice, expected] of rows) {
    t.same(responsesBody({ tools, tool_choice: choice })['tool_choice'], expected)
  }
  t.equal(
    responsesBody({ tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } })[
      'parallel_tool_calls'
    ],
    false
  )
  t.equal(responsesBody({ tool_choice: 'auto' })['tool_choice'], undefined)
})

t.test(
  'a call id that is too long is shortened consistently in the call and its result',
  async t => {
    const id = 'x'.repeat(100)
    const { input } = responsesBody({
      messages: [
        { role: 'assistant', tool_calls: [{ id, function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: '1' }
      ]
    })
    const [call, result] = input as Array<{ call_id: string }> // two items
    t.match(call?.call_id, /^call_[0-9a-f]{32}$/)
    t.equal(call?.call_id, result?.call_id)
  }
)

t.test('a request that would be answered differently than requested is refused by name', async t => {
  const rows: Array<[Partial<ChatInput>, string]> = [
    [{ modalities: ['text', 'audio'], audio: { format: 'wav', voice: 'eve' } }, 'audio'],
    [{ modalities: ['audio'] }, 'modalities'],
    [{ stop: 'END' }, 'stop'],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }] }
        ]
      },
      'messages[0].content[0]'
    ]
  ]
  for (const [request, param] of rows) {
    t.throws(() => responsesBody(request), { code: 'unsupported_parameter', status: 400, param }, param)
  }
})

t.test('a file at an address is left to the server to fetch', async t => {
  const file_url = 'https://a.example/b.pdf'
  const part = { type: 'file' as const, file: { file_data: file_url } }
  t.match(responsesBody({ messages: [{ role: 'user', content: [part] }] })['input'], [
    { content: [{ type: 'input_file', file_url }] }
  ])
})

t.test("a token limit is raised to the API's minimum", async t => {
  for (const [limit, sent] of [
    [1, 16],
    [16, 16],
    [17, 17]
  ] as const) {
    t.equal(responsesBody({ max_completion_tokens: limit })['max_output_tokens'], sent)
  }
})

t.test('thinking is summarised for callers who read it', async t => {
  t.same(responsesBody({ showsThinking: true, reasoning_effort: 'low' })['reasoning'], {
    effort: 'low',
    summary: 'auto'
  })
  t.same(responsesBody({ showsThinking: true, reasoningSummary: 'detailed' })['reasoning'], {
    summary: 'detailed'
  })
  t.same(
    responsesBody({ thinking: { type: 'adaptive', display: 'omitted' }, reasoning_effort: 'low' })[
      'reasoning'
    ],
    { effort: 'low' }
  )
})
