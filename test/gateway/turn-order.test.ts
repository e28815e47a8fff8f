/** Thinking between texts and calls comes back to its provider in the place where it stood. */

import t from 'tap'
import fc from 'fast-check'
import { objectsOf, property } from '../../lib/json/type-guards.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { holdsAsync } from '../support/property.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { fakeUpstream } from '../support/upstream.ts'

const kinds = ['thinking', 'text', 'call'] as const

type Kind = typeof kinds[number]

/** Turns with a call, in any order. */
const anyTurn = fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 7 })
  .filter(turn => turn.includes('call') && turn.at(-1) !== 'thinking')

type Printer = Readonly<Record<Kind, (index: number) => object>>

const claudeBlocks: Printer = {
  thinking: index => ({ type: 'thinking', thinking: 'hm', signature: `s${index}` }),
  text: index => ({ type: 'text', text: `${index}.` }),
  call: index => ({ type: 'tool_use', id: `call_${index}`, name: 'look', input: { index } })
}

const openaiItems: Printer = {
  thinking: index => ({ type: 'reasoning', id: `rs_${index}`, summary: [], encrypted_content: `s${index}` }),
  text: index => ({
    type: 'message',
    id: `msg_${index}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: `${index}.`, annotations: [] }]
  }),
  call: index => ({
    type: 'function_call',
    id: `fc_${index}`,
    call_id: `call_${index}`,
    name: 'look',
    arguments: JSON.stringify({ index }),
    status: 'completed'
  })
}

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
const claudeAnswer = (content: readonly object[], isLast: boolean): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: isLast ? 'end_turn' : 'tool_use',
  usage
})
const openaiAnswer = (output: readonly object[]): object => (
  { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-5', output, usage }
)

/** Shortens what a provider gets for a turn: `s0 1.2. call_3`. Adjacent texts are one. */
function shortened (parts: unknown): string {
  const words = objectsOf(parts).map(part => {
    const { type, signature, encrypted_content: sealed, text, content, id, call_id: callId } = part
    if (type === 'text') return text
    if (type === 'message') return property(objectsOf(content)[0], 'text') ?? content
    return ` ${String(signature ?? sealed ?? callId ?? id)} `
  })
  return words.join('').replaceAll('  ', ' ').trim()
}

/** A turn with all of its thinking at the beginning may come back with its texts before its calls. */
function wanted (turn: readonly Kind[], print: Printer): string {
  const parts = turn.map((kind, index) => ({ kind, printed: print[kind](index) }))
  const isAmid = turn.lastIndexOf('thinking') > turn.findIndex(kind => kind !== 'thinking')
  if (!isAmid) parts.sort((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind))
  return shortened(parts.map(({ printed }) => printed))
}

const look = { name: 'look', input_schema: { type: 'object' } }
const hi = { role: 'user', content: 'hi' }

t.test('any order of thinking, texts and calls comes back in that order', async t => {
  let turn: readonly Kind[] = []
  const printed = (print: Printer, isLast: boolean): object[] =>
    (isLast ? ['text' as const] : turn).map((kind, index) => print[kind](index))
  const claude = await fakeUpstream((_, number) => ({
    pieces: [JSON.stringify(claudeAnswer(printed(claudeBlocks, number % 2 === 1), number % 2 === 1))]
  }))
  const openai = await fakeUpstream((_, number) => ({
    pieces: [JSON.stringify(openaiAnswer(printed(openaiItems, number % 2 === 1)))]
  }))
  t.teardown(async () => await Promise.all([claude.close(), openai.close()]))
  const tools = await startToolServer(t, { more: ['look'] })
  const { post } = await testGateway(t, {
    providers: [
      upstreamAt(claude.url, 'anthropic', 'anthropic'),
      upstreamAt(`${openai.url}/v1`, 'openai', 'openai')
    ],
    models: [
      { id: 'anthropic/m', hidden: false },
      { id: 'openai/gpt-5', hidden: false, traits: { responsesOnly: true } }
    ],
    tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] }
  })
  const ask = async (path: string, body: object): Promise<unknown> => await (await post(path, body)).json()

  const askClaudeByResponses = async (): Promise<unknown> => {
    const request = {
      model: 'anthropic/m',
      store: false,
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }]
    }
    const output = objectsOf(property(await ask('/v1/responses', { ...request, input: [hi] }), 'output'))
    const results = output.filter(({ type }) => type === 'function_call').map(({ call_id: id }) => (
      { type: 'function_call_output', call_id: id, output: 'seen' }
    ))
    await ask('/v1/responses', { ...request, input: [hi, ...output, ...results] })
    return objectsOf(property(claude.requests.at(-1)?.json, 'messages'))[1]?.['content']
  }
  const askOpenaiByMessages = async (): Promise<unknown> => {
    const request = { model: 'openai/gpt-5', max_tokens: 100, tools: [look] }
    const content = objectsOf(property(await ask('/v1/messages', { ...request, messages: [hi] }), 'content'))
    const results = content.filter(({ type }) => type === 'tool_use').map(({ id }) => (
      { type: 'tool_result', tool_use_id: id, content: 'seen' }
    ))
    const answer = { role: 'assistant', content }
    await ask('/v1/messages', { ...request, messages: [hi, answer, { role: 'user', content: results }] })
    return objectsOf(property(openai.requests.at(-1)?.json, 'input'))
      .filter(({ type, role }) => role !== 'user' && type !== 'function_call_output')
  }
  const runLoop = async (model: string): Promise<void> => {
    await ask('/v1/chat/completions', { model, messages: [hi], mcp_servers: tools.url })
  }
  const runClaudeLoop = async (): Promise<unknown> => {
    await runLoop('anthropic/m')
    return objectsOf(property(claude.requests.at(-1)?.json, 'messages'))[1]?.['content']
  }
  const runOpenaiLoop = async (): Promise<unknown> => {
    await runLoop('openai/gpt-5')
    return objectsOf(property(openai.requests.at(-1)?.json, 'input'))
      .filter(({ type, role }) => role !== 'user' && type !== 'function_call_output')
  }
  for (const [name, print, run] of [
    ['Responses to Claude', claudeBlocks, askClaudeByResponses],
    ['Messages to OpenAI', openaiItems, askOpenaiByMessages],
    ['a tool loop with Claude', claudeBlocks, runClaudeLoop],
    ['a tool loop with OpenAI', openaiItems, runOpenaiLoop]
  ] as const) {
    await t.test(name, async t => {
      await holdsAsync(t, fc.asyncProperty(anyTurn, async given => {
        turn = given
        const sent = shortened(await run())
        if (sent !== wanted(given, print)) throw new Error(`${sent} for ${wanted(given, print)}`)
      }), { examples: [[['thinking', 'text', 'thinking', 'call', 'call']]] })
    })
  }
})
