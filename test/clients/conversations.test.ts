/**
 * A conversation of three turns with thinking and tools, by each official client through the gateway with
 * each provider.
 */

import Dedalus from 'dedalus-labs'
import OpenAI from 'openai'
import { testKey } from '../support/gateway.ts'
import {
  functions,
  question,
  resultOf,
  testConversations,
  type WeatherConversation
} from '../support/weather-conversation.ts'
import type { Test } from 'tap'

const tools = functions.map(definition => ({ type: 'function' as const, function: definition }))

type DedalusMessages = NonNullable<Dedalus.Chat.CompletionCreateParams['messages']>

interface TurnCall {
  readonly id: string
  readonly function: { readonly name: string, readonly arguments: string }
}

/** Runs the conversation: `ask` returns the message of one turn, with all fields of the answer. */
async function converse (
  t: Test, ask: (messages: object[]) => Promise<Record<string, unknown>>, signed: boolean
): Promise<void> {
  const messages: object[] = [{ role: 'user', content: question }]
  const seen: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const message = await ask(messages)
    const calls = (message['tool_calls'] ?? []) as TurnCall[]
    seen.push(calls.length)
    messages.push(message)
    if (calls.length === 0) {
      t.match(message['content'], /\w+/)
      break
    }
    if (turn === 0) t.match(message['reasoning_content'], /\w+/, 'thinking is shown')
    if (turn === 0 && signed) {
      t.match(message['thinking_blocks'], [{ type: 'thinking', signature: /^c2ln/ }], 'with its signature')
    }
    for (const call of calls) {
      t.match(JSON.parse(call.function.arguments), { city: String })
      messages.push({ role: 'tool', tool_call_id: call.id, content: resultOf(call.function.name) })
    }
  }
  t.equal(seen.length, 3, `three turns: ${seen.join(', ')} calls`)
  t.equal(seen[0], 2, 'two calls at once')
}

/** Folds the stream of an answer into its message, as a client that keeps all fields would. */
async function gather (stream: AsyncIterable<unknown>): Promise<Record<string, unknown>> {
  const message: Record<string, unknown> = { role: 'assistant', content: null }
  const calls: Array<Record<string, unknown> & { function: { name: string, arguments: string } }> = []
  const blocks: unknown[] = []
  for await (const chunk of stream) {
    const delta = (chunk as { choices: Array<{ delta: Record<string, unknown> }> }).choices[0]?.delta ?? {}
    for (const key of ['content', 'reasoning_content']) {
      if (typeof delta[key] === 'string' && delta[key] !== '') {
        message[key] = `${(message[key] ?? '') as string}${delta[key]}`
      }
    }
    blocks.push(...((delta['thinking_blocks'] ?? []) as unknown[]))
    for (const piece of (delta['tool_calls'] ?? []) as Array<{
      index: number
      function?: { arguments?: string }
    }>) {
      const { index, ...call } = piece
      const known = calls[index]
      if (known === undefined) calls[index] = call as typeof calls[number]
      else known.function.arguments += piece.function?.arguments ?? ''
    }
  }
  if (calls.length > 0) message['tool_calls'] = calls
  if (blocks.length > 0) message['thinking_blocks'] = blocks
  return message
}

/** Runs the conversation with each official client, complete and streamed. */
async function converseInEveryWay (t: Test, { api, model, signed }: WeatherConversation): Promise<void> {
  const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
  const dedalus = new Dedalus({ baseURL: api.url, apiKey: testKey, maxRetries: 0 })
  // Messages are sent back as the gateway returned them, unknown fields included.
  const asOpenAi = (messages: object[]): OpenAI.ChatCompletionMessageParam[] =>
    messages as OpenAI.ChatCompletionMessageParam[]
  const asDedalus = (messages: object[]): DedalusMessages => messages as DedalusMessages
  const common = { model, tools, reasoning_effort: 'low' as const }

  await t.test(
    'openai, complete',
    async t =>
      await converse(
        t,
        async messages => ({
          ...(await openai.chat.completions.create({ ...common, messages: asOpenAi(messages) })).choices[0]
            ?.message
        }),
        signed
      )
  )
  await t.test(
    'openai, streamed',
    async t =>
      await converse(
        t,
        async messages =>
          await gather(
            await openai.chat.completions.create({ ...common, messages: asOpenAi(messages), stream: true })
          ),
        signed
      )
  )
  await t.test(
    'dedalus, complete',
    async t =>
      await converse(
        t,
        async messages => ({
          ...(await dedalus.chat.completions.create({ ...common, messages: asDedalus(messages) })).choices[0]
            ?.message
        }),
        signed
      )
  )
  await t.test(
    'dedalus, streamed',
    async t =>
      await converse(
        t,
        async messages =>
          await gather(
            await dedalus.chat.completions.create({ ...common, messages: asDedalus(messages), stream: true })
          ),
        signed
      )
  )
}

testConversations(converseInEveryWay, 12)
