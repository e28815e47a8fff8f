/** Errors of translated requests name the parameters that the caller sent, not those of the translation. */

import t from 'tap'
import { chatUpstreamAt, testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { fakeUpstream, type Script } from '../support/upstream.ts'
import type { Test } from 'tap'

const user = { role: 'user', content: 'Hi' }
const brief = { role: 'developer', content: 'Be brief.' }
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] }
const call = (more: object): object => ({
  type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}', ...more
})
const output = { type: 'function_call_output', call_id: 'call_1', output: 'nothing' }
const look = { type: 'function', name: 'look', parameters: { type: 'object' } }
const web = { type: 'web_search' }
const odd = { type: 'function', name: '1 odd name', parameters: { type: 'object' } }

async function startWith (t: Test, script: Script = { pieces: [] }): Promise<TestGateway> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  return await testGateway(t, {
    providers: [
      { ...chatUpstreamAt(`${upstream.url}/v1`), id: 'chat' },
      upstreamAt(`${upstream.url}/v1`, 'vllm', 'vllm'),
      upstreamAt(upstream.url, 'google', 'google'),
      upstreamAt(upstream.url, 'anthropic', 'anthropic')
    ]
  })
}

t.test('errors of Responses name the items and tools of the caller', async t => {
  const api = await startWith(t)
  const paramOf = async (model: string, body: object): Promise<unknown> => {
    const answer = await api.post('/v1/responses', { model, store: false, ...body })
    const { error } = (await answer.json()) as { error: { param: unknown, message: string } }
    t.equal(answer.status, 400, error.message)
    return error.param
  }
  const image = { type: 'input_image', image_url: 'data:image/tiff;base64,AAAA' }
  const before = { instructions: 'Be kind.' }
  for (const [model, body, param] of [
    [
      'google/m',
      { ...before, input: [brief, user, reasoning, call({ arguments: '[1]' }), output] },
      'input[3].arguments'
    ],
    ['anthropic/m', { input: [user, reasoning, call({ arguments: 'no' }), output] }, 'input[2].arguments'],
    [
      'anthropic/m',
      { ...before, input: [user, { role: 'user', content: [{ type: 'input_text', text: 'a' }, image] }] },
      'input[1].content[1].image_url'
    ],
    [
      'anthropic/m',
      { input: [user, call({}), { ...output, output: [image] }] },
      'input[2].output[0].image_url'
    ],
    ['google/m', { input: 'Hi', tools: [web, look, odd] }, 'tools[2].name'],
    [
      'google/m',
      { input: [user, { type: 'additional_tools', tools: [web, odd] }], tools: [look] },
      'input[1].tools[1].name'
    ],
    [
      'google/m',
      { input: 'Hi', tools: [{ type: 'namespace', name: '1', tools: [look, odd] }] },
      'tools[0].tools[0].name'
    ],
    [
      'anthropic/m',
      {
        input: 'Hi',
        tools: [look],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'x' }] }
      },
      'tool_choice.tools'
    ]
  ] as ReadonlyArray<[string, object, string]>) {
    t.equal(await paramOf(model, body), param)
  }
  const server = { type: 'mcp', server_label: 'mine', server_url: 'https://a.example/mcp' }
  t.equal(
    await paramOf('chat/m', {
      input: [
        user,
        { type: 'additional_tools', tools: [{ ...server, server_url: 'https://b.example/mcp' }] }
      ],
      tools: [web, server]
    }),
    'input[1].tools[0].server_label'
  )
  const files = await api.post('/v1/responses', {
    model: 'google/m',
    store: false,
    input: [brief, { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }]
  })
  t.match(await files.json(), { error: { param: 'input[1].content[0].file_id' } })
})

t.test('errors of Messages name the blocks of the caller', async t => {
  const api = await startWith(t)
  const messageOf = async (model: string, body: object): Promise<unknown> => {
    const answer = await api.post('/v1/messages', { model, max_tokens: 9, ...body })
    const { error } = (await answer.json()) as { error: { message: string } }
    t.equal(answer.status, 400, error.message)
    return error.message
  }
  const use = (id: string): object => ({ type: 'tool_use', id, name: 'look', input: {} })
  const result = (id: string, more: object = {}): object =>
    ({ type: 'tool_result', tool_use_id: id, ...more })
  const image = { type: 'image', source: { type: 'url', url: 'nonsense' } }
  const mark = { cache_control: { type: 'ephemeral' } }
  const tool = (name: string): object => ({ name, input_schema: { type: 'object' } })
  for (const [body, start] of [
    [
      {
        system: 'Be brief.',
        messages: [user, { role: 'assistant', content: [{ type: 'text', text: 'a' }, use('a')] }, user]
      },
      'messages.1.content.1.id: '
    ],
    [
      {
        messages: [
          user,
          { role: 'assistant', content: [use('a')] },
          {
            role: 'user',
            content: [result('a', { content: [{ type: 'text', text: 'a', ...mark }] }), result('b')]
          }
        ]
      },
      'messages.2.content.1.tool_use_id: '
    ],
    [
      { messages: [user, { role: 'user', content: [{ type: 'text', text: 'See:' }, image] }] },
      'messages.1.content.1.source: '
    ],
    [{ messages: [user], tools: [tool('look'), { ...tool('1 odd name'), ...mark }] }, 'tools.1.name: ']
  ] as ReadonlyArray<[object, string]>) {
    t.match(await messageOf('google/m', body), start)
  }
})

t.test('a field that a provider refuses has the name that the caller sent', async t => {
  const error = (param: string): Script => ({
    status: 400,
    headers: { 'content-type': 'application/json' },
    pieces: [JSON.stringify({ error: { message: 'Bad.', type: 'invalid_request_error', param } })]
  })
  for (const [theirs, param] of [
    ['messages[2].tool_calls[0].function.arguments', 'input[2].arguments'],
    ['messages.3.content', 'input[3].output'],
    ['messages', 'input'],
    ['messages[9]', 'input'],
    ['tools[0].function.parameters', 'tools[1].parameters']
  ] as const) {
    const api = await startWith(t, error(theirs))
    const answer = await api.post('/v1/responses', {
      model: 'chat/m',
      store: false,
      instructions: 'Be brief.',
      input: [user, reasoning, call({}), output],
      tools: [web, look]
    })
    t.match(await answer.json(), { error: { param } })
  }
  const api = await startWith(t, error('messages[1].content'))
  const answer = await api.post('/v1/chat/completions', {
    model: 'vllm/m',
    messages: [brief, brief, user, brief]
  })
  t.match(await answer.json(), { error: { param: 'messages[2].content' } }, 'system messages were joined')
})
