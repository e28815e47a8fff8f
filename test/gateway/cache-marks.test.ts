/** Prompts of every API are marked for the prompt cache of Anthropic. */

import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { fakeUpstream } from '../support/upstream.ts'
import type { MessagesRequest } from '../../lib/providers/anthropic/wire.ts'
import type { Test } from 'tap'

/**
 * Simulates Anthropic's cache: a mark writes the prompt up to it, or reads it if cached; a plain text counts
 * as one block.
 */
async function cachingProvider (
  t: Test
): Promise<{ readonly url: string, readonly marks: number[], readonly reads: boolean[] }> {
  const known = new Set<string>()
  const marks: number[] = []
  const reads: boolean[] = []
  const upstream = await fakeUpstream(({ json }) => {
    const { tools = [], system = [], messages } = json as MessagesRequest
    const blocksOf = (content: string | object[]): object[] =>
      typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const blocks = [...tools, ...blocksOf(system), ...messages.flatMap(({ content }) => blocksOf(content))]
    const prefixes = blocks.flatMap((block, index) => {
      return 'cache_control' in block
        ? [
            JSON.stringify(blocks.slice(0, index + 1), (name, value: unknown) =>
              name === 'cache_control' ? undefined : value
            )
          ]
        : []
    })
    marks.push(prefixes.length)
    reads.push(prefixes.some(prefix => known.has(prefix) && prefix.includes('question')))
    for (const prefix of prefixes) known.add(prefix)
    return {
      pieces: [
        JSON.stringify({
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'claude-opus-5',
          content: [{ type: 'text', text: 'ok' }],
          stop_reason: 'end_turn',
          stop_sequence: null,
          usage: {
            input_tokens: 5,
            output_tokens: 2,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 0
          }
        })
      ]
    }
  })
  t.teardown(upstream.close)
  return { url: upstream.url, marks, reads }
}

const long = 'Be kind. '.repeat(400)
const model = 'anthropic/claude-opus-5'
const functions = (turn: number) => {
  const names = ['look_up', 'add', 'search']
  return (turn % 2 === 0 ? names : names.toReversed()).map(name => ({
    name,
    description: `Does ${name}. ${long}`
  }))
}
const said = (turn: number, part: (role: string, text: string) => object) =>
  Array.from({ length: turn * 2 + 1 }, (_, index) =>
    index % 2 === 0 ? part('user', `question ${index}`) : part('assistant', 'ok')
  )

const calls: Record<string, (turn: number) => object> = {
  '/v1/chat/completions': turn => ({
    model,
    messages: [{ role: 'system', content: long }, ...said(turn, (role, content) => ({ role, content }))],
    tools: functions(turn).map(each => ({
      type: 'function',
      function: { ...each, parameters: { type: 'object' } }
    }))
  }),
  '/v1/messages': turn => ({
    model,
    max_tokens: 10,
    system: long,
    messages: said(turn, (role, content) => ({ role, content })),
    tools: functions(turn).map(each => ({ ...each, input_schema: { type: 'object' } }))
  }),
  '/v1/responses': turn => ({
    model,
    instructions: long,
    input: said(turn, (role, text) => ({
      role,
      content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }]
    })),
    tools: functions(turn).map(each => ({ type: 'function', ...each, parameters: { type: 'object' } }))
  })
}

for (const [path, request] of Object.entries(calls)) {
  t.test(`from its third call on, a conversation over ${path} is read from the cache`, async t => {
    const provider = await cachingProvider(t)
    const providers = [upstreamAt(provider.url, 'anthropic', 'anthropic', { cacheMarks: 'auto' })]
    const api = await testGateway(t, { providers })
    for (let turn = 0; turn < 5; turn++) {
      const answer = await api.post(path, request(turn))
      t.equal(answer.status, 200, await answer.text())
    }
    t.same(provider.marks, [0, 4, 4, 4, 4])
    t.same(provider.reads, [false, false, true, true, true])
  })
}

t.test('without the setting prompts have no marks', async t => {
  const provider = await cachingProvider(t)
  const api = await testGateway(t, { providers: [upstreamAt(provider.url, 'anthropic', 'anthropic')] })
  for (const [path, request] of Object.entries(calls)) await (await api.post(path, request(1))).text()
  t.same(provider.marks, [0, 0, 0])
})
