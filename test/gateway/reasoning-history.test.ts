/** Reasoning in the history is sent back to its provider as the caller received it. */

import t from 'tap'
import { textOfValue } from '../../lib/json/type-guards.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import {
  chatAnswer, chatFrames, completionOf, eventStream, fakeUpstream, type FakeUpstream, type Script,
  type SeenRequest
} from '../support/upstream.ts'
import type { Test } from 'tap'

const details = [
  { type: 'reasoning.text', text: 'thought', signature: 'S1', format: 'anthropic-claude-v1', index: 0 },
  { type: 'reasoning.encrypted', data: 'E1', id: 'call_1', format: 'google-gemini-v1', index: 1 }
]

t.test(
  'OpenRouter gets its reasoning details back, and other servers of the dialect do not',
  async t => {
    const upstream = await fakeUpstream({ pieces: [chatAnswer('ok')] })
    t.teardown(upstream.close)
    const kinds = [
      ['openrouter', true],
      ['mistral', false]
    ] as const
    const { post } = await testGateway(t, {
      providers: kinds.map(([kind]) => upstreamAt(`${upstream.url}/v1`, kind, kind))
    })
    for (const [kind, isSent] of kinds) {
      const history = [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: null,
          reasoning_details: details,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }]
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'seen' }
      ]
      t.equal(
        (await post('/v1/chat/completions', { model: `${kind}/some-model`, messages: history })).status,
        200,
        kind
      )
      // of the dialect
      const sent = upstream.requests.at(-1)?.json as
        { readonly messages: ReadonlyArray<Record<string, unknown>> } | undefined
      t.same(sent?.messages[1]?.['reasoning_details'], isSent ? details : undefined, kind)
    }
  }
)

const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }

/** The details as a stream brings them: the text in pieces, then its signature, then data with the call. */
const textDetail = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 }
const streamed = [
  { reasoning: 'tho', reasoning_details: [{ ...textDetail, text: 'tho' }] },
  { reasoning: 'ught', reasoning_details: [{ ...textDetail, text: 'ught', signature: null }] },
  { reasoning_details: [{ ...textDetail, signature: 'S1' }] },
  { tool_calls: [{ index: 0, ...call }], reasoning_details: [details[1]] }
]

/** Answers the first request with reasoning and a call, in the form it asks for, and later ones with text. */
function reasons ({ json }: SeenRequest, number: number): Script {
  const isStreamed = typeof json === 'object' && json !== null && 'stream' in json && json.stream === true
  if (!isStreamed) {
    return {
      pieces: [number === 0
        ? completionOf(
            { content: null, reasoning: 'thought', reasoning_details: details, tool_calls: [call] },
            { finishReason: 'tool_calls' }
          )
        : chatAnswer('ok')]
    }
  }
  const [head = '', ...rest] = chatFrames(number === 0 ? [] : ['ok'], { usage: false })
  const deltas = number === 0 ? streamed : []
  const frames = deltas.map(delta => head.replace(/"delta":\{.*?\}/, `"delta":${JSON.stringify(delta)}`))
  const end = rest.map(frame => number === 0 ? frame.replace('"stop"', '"tool_calls"') : frame)
  return { pieces: [head, ...frames, ...end], headers: eventStream }
}

/** Returns the reasoning in the last request to the provider. */
function sentBack (upstream: FakeUpstream): unknown {
  // of the dialect
  const sent = upstream.requests.at(-1)?.json as
    { readonly messages: ReadonlyArray<Record<string, unknown>> } | undefined
  return sent?.messages.find(({ role }) => role === 'assistant')?.['reasoning_details']
}

interface Block { type: string, [field: string]: unknown }

/** Joins the blocks of a stream of the Messages API as its clients do, but for the arguments of calls. */
function blocksIn (stream: string): Block[] {
  const blocks: Block[] = []
  for (const [, data = ''] of stream.matchAll(/^data: (.*)$/gm)) {
    const event = JSON.parse(data) as {
      readonly index: number
      readonly content_block?: Block
      readonly delta?: Record<string, unknown>
    }
    if (event.content_block !== undefined) blocks[event.index] = { ...event.content_block }
    const { type: _, ...delta } = event.delta ?? {}
    const block = blocks[event.index]
    if (block === undefined) continue
    for (const [name, text] of Object.entries(delta)) {
      if (name !== 'partial_json') block[name] = textOfValue(block[name]) + textOfValue(text)
    }
  }
  return blocks
}

for (const stream of [false, true]) {
  const form = stream ? 'streamed' : 'complete'
  const start = async (t: Test) => {
    const upstream = await fakeUpstream(reasons)
    t.teardown(upstream.close)
    const tools = await startToolServer(t, { more: ['look'] })
    const { post } = await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`, 'openrouter', 'openrouter')],
      tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] }
    })
    return { upstream, post, tools }
  }
  const common = { model: 'openrouter/some-model', stream }

  t.test(`a tool loop sends reasoning details back, ${form}`, async t => {
    const { upstream, post, tools } = await start(t)
    await (await post('/v1/chat/completions', { ...common, messages: 'hi', mcp_servers: tools.url })).text()
    t.equal(upstream.requests.length, 2)
    t.same(sentBack(upstream), details)
  })

  t.test(`callers of the Messages API bring reasoning details back, ${form}`, async t => {
    const { upstream, post } = await start(t)
    const ask = async (messages: readonly object[]): Promise<string> => await (await post('/v1/messages', {
      ...common,
      max_tokens: 100,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages
    })).text()
    const hi = { role: 'user', content: 'hi' }
    const answer = await ask([hi])
    const content = stream ? blocksIn(answer) : (JSON.parse(answer) as { readonly content: Block[] }).content
    const types = content.map(({ type }) => type)
    t.equal(types.at(-1), 'tool_use', types.join())
    t.match(content[0], { type: 'thinking', thinking: 'thought' })
    const result = { type: 'tool_result', tool_use_id: content.at(-1)?.['id'], content: 'seen' }
    await ask([hi, { role: 'assistant', content }, { role: 'user', content: [result] }])
    t.same(sentBack(upstream), details)
  })

  t.test(`callers of the Responses API bring reasoning details back, ${form}`, async t => {
    const { upstream, post } = await start(t)
    const ask = async (input: readonly object[]): Promise<string> => await (await post('/v1/responses', {
      ...common,
      store: false,
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }],
      input
    })).text()
    const hi = { role: 'user', content: 'hi' }
    const answer = await ask([hi])
    const [, completed = answer] = /^data: (\{"type":"response\.completed".*)$/m.exec(answer) ?? []
    const { output: whole, response } = JSON.parse(completed) as {
      readonly output?: Block[]
      readonly response?: { readonly output: Block[] }
    }
    const output = whole ?? response?.output ?? []
    t.equal(output.at(-1)?.type, 'function_call', output.map(({ type }) => type).join())
    const result = { type: 'function_call_output', call_id: output.at(-1)?.['call_id'], output: 'seen' }
    await ask([hi, ...output, result])
    t.same(sentBack(upstream), details)
  })
}

for (const stream of [false, true]) {
  const form = stream ? 'streamed' : 'complete'

  t.test(`DeepSeek gets reasoning back that its caller did not want to see, ${form}`, async t => {
    const upstream = await fakeUpstream((_, number) => {
      const deltas = number > 0 ? [{ content: 'ok' }] : [
        { reasoning_content: 'I should' },
        { reasoning_content: ' look.' },
        { content: 'Let me look.' },
        { tool_calls: [{ index: 0, ...call }] }
      ]
      const [head = '', ...rest] = chatFrames([], { usage: false })
      const frames = deltas.map(delta => head.replace(/"delta":\{.*?\}/, `"delta":${JSON.stringify(delta)}`))
      const end = rest.map(frame => number === 0 ? frame.replace('"stop"', '"tool_calls"') : frame)
      const whole = number > 0 ? chatAnswer('ok') : completionOf(
        { content: 'Let me look.', reasoning_content: 'I should look.', tool_calls: [call] },
        { finishReason: 'tool_calls' }
      )
      return stream ? { pieces: [...frames, ...end], headers: eventStream } : { pieces: [whole] }
    })
    t.teardown(upstream.close)
    const { post } = await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`, 'deepseek', 'deepseek')]
    })
    const ask = async (messages: readonly object[]): Promise<string> => await (await post('/v1/messages', {
      model: 'deepseek/some-model',
      stream,
      max_tokens: 100,
      thinking: { type: 'adaptive', display: 'omitted' },
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages
    })).text()
    const reminded = ['remember', 'hi'].map(text => ({ type: 'text', text }))
    const hi = { role: 'user', content: reminded }
    const answer = await ask([hi])
    t.notMatch(answer, /I should/)
    const content = stream ? blocksIn(answer) : (JSON.parse(answer) as { readonly content: Block[] }).content
    t.same(content.map(({ type }) => type).toSorted(), ['text', 'thinking', 'tool_use'])
    const result = { type: 'tool_result', tool_use_id: content.at(-1)?.['id'], content: 'seen' }
    await ask([hi, { role: 'assistant', content }, { role: 'user', content: [result] }])
    // of the dialect
    const sent = upstream.requests.at(-1)?.json as { readonly messages: ReadonlyArray<object> }
    t.match(sent.messages, [
      { role: 'user', content: 'remember\n\nhi' },
      { role: 'assistant', content: 'Let me look.', reasoning_content: 'I should look.', tool_calls: [call] },
      { role: 'tool', content: 'seen' }
    ])
  })
}

t.test('a signature after the text comes back as well', async t => {
  const late = [{ type: 'reasoning.encrypted', data: 'E2', index: 0 }]
  const upstream = await fakeUpstream((_, number) => {
    const [head = '', ...rest] = chatFrames(['ok'], { usage: false })
    const piece = head.replace(/"delta":\{.*?\}/, `"delta":${JSON.stringify({ reasoning_details: late })}`)
    const pieces = [head, ...rest.slice(0, 1), ...number === 0 ? [piece] : [], ...rest.slice(1)]
    return { pieces, headers: eventStream }
  })
  t.teardown(upstream.close)
  const { post } = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openrouter', 'openrouter')]
  })
  const common = { model: 'openrouter/some-model', stream: true }
  const hi = { role: 'user', content: 'hi' }
  const messages = { ...common, max_tokens: 100, messages: [hi] }
  const content = blocksIn(await (await post('/v1/messages', messages)).text())
  t.same(content.map(({ type }) => type), ['text', 'thinking'])
  const continued = [hi, { role: 'assistant', content }, hi]
  await (await post('/v1/messages', { ...messages, messages: continued })).text()
  t.same(sentBack(upstream), late)
})

t.test('each turn of a Responses answer has its own reasoning details', async t => {
  for (const approval of ['never', 'always'] as const) {
    const detail = (text: string): object => ({ type: 'reasoning.text', text, index: 0 })
    const upstream = await fakeUpstream((_, number) => ({
      pieces: [number === 0
        ? completionOf(
            { content: null, reasoning_details: [detail('T0')], tool_calls: [call] },
            { finishReason: 'tool_calls' }
          )
        : completionOf({ content: 'ok', reasoning_details: [detail('T1')] })]
    }))
    t.teardown(upstream.close)
    const tools = await startToolServer(t, { more: ['look'] })
    const { post } = await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`, 'openrouter', 'openrouter')],
      tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] }
    })
    const server = {
      type: 'mcp', server_label: 'tools', server_url: tools.url, require_approval: approval
    }
    const ask = async (input: readonly object[]): Promise<Block[]> => {
      const request = { model: 'openrouter/some-model', store: false, tools: [server], input }
      const { output } = await (await post('/v1/responses', request)).json() as { readonly output: Block[] }
      return output
    }
    const hi = { role: 'user', content: 'hi' }
    const first = await ask([hi])
    const approved = first.flatMap(({ type, id }) => type === 'mcp_approval_request'
      ? [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }]
      : [])
    t.equal(approved.length, approval === 'always' ? 1 : 0)
    await ask([hi, ...first, ...approved.length > 0 ? approved : [hi]])
    const last = upstream.requests.at(-1)?.json as
      { readonly messages: ReadonlyArray<Record<string, unknown>> } | undefined
    const sent = (last?.messages ?? []).flatMap(message => message['role'] === 'assistant'
      ? [[message['reasoning_details'], message['tool_calls'] !== undefined]]
      : [])
    t.same(sent[0], [[detail('T0')], true], approval)
    t.same(sent.slice(1), approval === 'never' ? [[[detail('T1')], false]] : [], approval)
  }
})

t.test('reasoning that is cut off is one item with its details', async t => {
  const upstream = await fakeUpstream(() => {
    const [head = '', ...rest] = chatFrames([], { usage: false })
    const frame = head.replace(/"delta":\{.*?\}/, `"delta":${JSON.stringify(streamed[0])}`)
    const end = rest.map(frame => frame.replace('"stop"', '"length"'))
    return { pieces: [head, frame, ...end], headers: eventStream }
  })
  t.teardown(upstream.close)
  const { post } = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openrouter', 'openrouter')]
  })
  const request = { model: 'openrouter/some-model', stream: true, store: false, input: 'hi' }
  const text = await (await post('/v1/responses', request)).text()
  const [, last = '{}'] = /^data: (\{"type":"response\.incomplete".*)$/m.exec(text) ?? []
  const { response } = JSON.parse(last) as { readonly response?: { readonly output: readonly Block[] } }
  t.match(response?.output, [{ type: 'reasoning', status: 'incomplete' }])
  t.match(
    Buffer.from(String(response?.output[0]?.['encrypted_content']).slice(4), 'base64url').toString(),
    /"details":\[/
  )
})

t.test('reasoning details are bounded, and those of a final whole message are not repeated', async t => {
  const piece = 'x'.repeat(1_000_000)
  const upstream = await fakeUpstream((_, number) => {
    const [head = '', ...rest] = chatFrames([], { usage: false })
    const withDelta = (delta: object): string =>
      head.replace(/"delta":\{.*?\}/, `"delta":${JSON.stringify(delta)}`)
    const large = { reasoning_details: [{ ...textDetail, text: piece }] }
    const message = { role: 'assistant', content: 'ok', reasoning_details: details }
    return {
      pieces: number === 0
        ? [head, ...Array.from({ length: 18 }, () => withDelta(large)), ...rest]
        : [head, withDelta({ reasoning_details: details }), withDelta({ content: 'ok' }),
            ...rest.map(end => end.replace('"delta":{}', `"delta":{},"message":${JSON.stringify(message)}`))],
      headers: eventStream
    }
  })
  t.teardown(upstream.close)
  const { post } = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openrouter', 'openrouter')]
  })
  const request = {
    model: 'openrouter/some-model', stream: true, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }]
  }
  t.match(await (await post('/v1/messages', request)).text(), /"type":"error"/)
  const content = blocksIn(await (await post('/v1/messages', request)).text())
  t.same(content.map(({ type }) => type), ['thinking', 'text'])
})
