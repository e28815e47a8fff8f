/**
 * No text bypasses a guard: one that replaces a word, at every place, in every dialect, with providers of
 * every protocol, for complete and streamed answers.
 */

import t from 'tap'
import {
  dialects,
  holdsWord,
  messagesIn,
  protocols,
  replaced,
  scriptOf,
  takenBy,
  type Json,
  type Protocol
} from '../support/conversations.ts'
import { claudeCodeTurn, codexTurn } from '../support/agent-sessions.ts'
import { chatAnswer, fakeUpstream, type FakeUpstream } from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { replacement, withStages, word, wordStages } from '../support/word-stages.ts'
import type { Test } from 'tap'

async function start (
  t: Test,
  protocol: Protocol,
  found?: string
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(scriptOf(protocol))
  t.teardown(upstream.close)
  const parts = found === undefined ? {} : withStages(wordStages(undefined, found))
  return { upstream, api: await testGateway(t, { providers: [protocol.provider(upstream.url)] }, {}, parts) }
}

for (const [name, protocol] of Object.entries(protocols)) {
  t.test(`a replaced word appears nowhere, in any dialect with ${name}`, async t => {
    const { upstream, api } = await start(t, protocol, word)
    for (const [dialectName, { path, request, textsOf }] of Object.entries(dialects)) {
      for (const stream of [false, true]) {
        const title = `${dialectName} ${stream ? 'streamed' : 'complete'}`
        const before = upstream.requests.length
        const response = await api.post(path, { ...takenBy(protocol, request(protocol.model, word)), stream })
        const body = await response.text()
        t.equal(response.status, 200, `${title}: ${body.slice(0, 300)}`)
        const sent = upstream.requests.slice(before).map(({ text }) => text).join('')
        t.notOk(holdsWord(sent), `${title}: not upstream`)
        t.ok(sent.includes(replacement), `${title}: replaced upstream`)
        const texts = textsOf(stream ? messagesIn(body) : [JSON.parse(body) as Json])
        for (const text of [body, ...texts]) {
          t.notOk(holdsWord(text), `${title}: not downstream in ${text.slice(0, 2000)}`)
        }
        t.ok(
          texts.some(text => text.includes(replaced)),
          `${title}: replaced downstream in ${texts.join('\n')}`
        )
      }
    }
  })

  t.test(
    `without findings everything passes unchanged, in any dialect with ${name}`,
    async t => {
      const plain = await start(t, protocol)
      const inspected = await start(t, protocol, 'no such word')
      for (const [dialectName, { path, request }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${dialectName} ${stream ? 'streamed' : 'complete'}`
          const body = JSON.stringify(
            { ...takenBy(protocol, request(protocol.model, word)), stream },
            null,
            2
          )
          const [expected, answer] = [await plain.api.post(path, body), await inspected.api.post(path, body)]
          t.equal(steady(await answer.text()), steady(await expected.text()), title)
          t.equal(inspected.upstream.requests.at(-1)?.text, plain.upstream.requests.at(-1)?.text, title)
        }
      }
    }
  )
}

/** Removes what differs from call to call. */
function steady (body: string): string {
  return body.replaceAll(
    /"(?:id|item_id|request_id|call_id)":\s*"[^"]*"|"(?:created|created_at|completed_at)":\s*\d+/g,
    '""'
  )
}

t.test(
  'a direct request is sent byte for byte as received, except for replaced words',
  async t => {
    for (const [dialectName, protocol] of [
      ['messages', protocols.anthropic],
      ['responses', protocols.responses]
    ] as const) {
      const { path, request } = dialects[dialectName]
      for (const found of ['no such word', word]) {
        const { upstream, api } = await start(t, protocol, found)
        const body = JSON.stringify(
          { ...request(protocol.model, word), x_unknown: { kept: 1, 'é': '\u2028' } },
          null,
          3
        ).replace('"kept": 1', '"kept" :1.0 ')
        t.equal((await api.post(path, body)).status, 200, dialectName)
        const expected = body.replace(protocol.model, protocol.model.replace(/^.*\//, ''))
        t.equal(
          upstream.requests[0]?.text,
          found === word ? expected.replaceAll(word, replacement) : expected,
          `${dialectName}: ${found}`
        )
      }
    }
  }
)

t.test('a word in signed thinking or in an unknown field refuses the call', async t => {
  const { upstream, api } = await start(t, protocols.anthropic, word)
  const { path, request } = dialects.messages
  const rows: ReadonlyArray<readonly [title: string, fields: Json]> = [
    [
      'signed thinking',
      {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: `in ${word}`, signature: 'c2ln' },
              { type: 'text', text: 'ok' }
            ]
          },
          { role: 'user', content: 'on' }
        ]
      }
    ],
    ['an unknown field', { x_new: { deep: [word] } }],
    ['the name of an unknown field', { [`x_${word}`]: 1 }],
    ['an unknown block', { messages: [{ role: 'user', content: [{ type: 'x_block', x_text: word }] }] }],
    [
      'the name of an argument',
      {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 't1', name: 'look', input: { [word]: 1 } }]
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }] }
        ]
      }
    ]
  ]
  for (const [title, fields] of rows) {
    const response = await api.post(path, { ...request(protocols.anthropic.model, 'here'), ...fields })
    t.match(
      await response.json(),
      { type: 'error', error: { type: 'invalid_request_error', message: 'A word is not allowed here.' } },
      title
    )
    t.equal(response.status, 400, title)
  }
  t.equal(upstream.requests.length, 0)
})

t.test(
  'a number in tool arguments or in a schema refuses the call, as it cannot be masked',
  async t => {
    const card = 4111111111111111
    const stages = [
      {
        name: 'cards',
        use: 'pattern' as const,
        at: ['request' as const, 'tool_call' as const],
        action: 'mask' as const,
        patterns: ['card_number' as const]
      }
    ]
    const upstream = await fakeUpstream({ pieces: [chatAnswer('ok')] })
    t.teardown(upstream.close)
    const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`)], guards: stages })
    const call = {
      id: 'c',
      type: 'function',
      function: { name: 'pay', arguments: JSON.stringify({ card }) }
    }
    const tool = (schema: object): object => ({
      type: 'function',
      function: { name: 'pay', parameters: { type: 'object', properties: { card: schema } } }
    })
    const turn = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'x' }
    ]
    for (const body of [
      { messages: turn, tools: [tool({})] },
      { messages: 'hi', tools: [tool({ const: card })] },
      { messages: 'hi', tools: [tool({ enum: [1, card] })] }
    ]) {
      const response = await api.post('/v1/chat/completions', { model: 'openai/gpt-4.1', ...body })
      t.match(await response.json(), { error: { code: 'content_refused' } })
    }
    t.equal(upstream.requests.length, 0)
    t.equal(
      (
        await api.post('/v1/chat/completions', {
          model: 'openai/gpt-4.1',
          messages: 'hi',
          tools: [tool({ maximum: 4111 })]
        })
      ).status,
      200
    )
  }
)

t.test(
  "in an agent's request only masked text differs: marks, signatures and unknown blocks are unchanged",
  async t => {
    for (const [path, protocol, turn] of [
      ['/v1/messages?beta=true', protocols.anthropic, claudeCodeTurn],
      ['/v1/responses', protocols.responses, codexTurn]
    ] as const) {
      const { upstream, api } = await start(t, protocol, word)
      const body = JSON.stringify(turn(protocol.model, word))
      t.equal((await api.post(path, body)).status, 200, path)
      const sent = upstream.requests[0]?.text
      t.equal(
        sent,
        body.replace(protocol.model, protocol.model.replace(/^.*\//, '')).replaceAll(word, replacement),
        path
      )
    }
  }
)

t.test('in a passed-through stream only events with a replaced word differ', async t => {
  const event = (value: Json): string => `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
  const [first = '', ...others] = protocols.anthropic.frames
  const thinking = [
    event({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' }
    }),
    event({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'They mean an island.' }
    }),
    event({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'signature_delta', signature: 'EqQBCkgIBRABGAIiQL8+/3s9Kx==' }
    }),
    event({ type: 'content_block_stop', index: 0 }),
    event({ type: 'event_of_the_future', payload: { nested: [1, { a: '\u2028' }] } })
  ]
  const { api } = await start(t, { ...protocols.anthropic, frames: [first, ...thinking, ...others] }, word)
  const body = await (
    await api.post('/v1/messages', {
      model: protocols.anthropic.model,
      max_tokens: 10,
      stream: true,
      messages: [{ role: 'user', content: 'hi' }]
    })
  ).text()
  for (const frame of thinking) t.ok(body.includes(frame), frame.slice(0, 40))
  for (const frame of others.filter(frame => !/text_delta|input_json_delta/.test(frame))) {
    t.ok(body.includes(frame), frame.slice(0, 40))
  }
  t.notOk(holdsWord(body))
})
