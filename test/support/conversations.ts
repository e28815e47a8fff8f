/**
 * Conversations in every dialect, and their answers by providers of every protocol: with one word in many
 * places, cut as in a stream.
 */

import { chatUpstreamAt, upstreamAt } from './gateway.ts'
import { eventStream, type Script, type SeenRequest } from './upstream.ts'
import { replacement, word } from './word-stages.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'

export type Json = Readonly<Record<string, unknown>>

/** The words of an answer, cut as in a stream. */
export const said = ['I went to Z', 'anz', `ibar. ${word} is warm. Z`, 'anzibar']
const thought = ['They mean Zanzi', 'bar, or ', 'Zan']
const called = ['{"place":"Zan', 'zibar","near":"\\u005aanzibar', '"}']
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

export interface Protocol {
  readonly model: string
  readonly provider: (url: string) => ProviderSettings
  readonly complete: Json
  readonly frames: readonly string[]
  /** Fields that requests of this dialect do not have. */
  readonly lacks?: readonly string[]
}

function data (value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function event (value: Json): string {
  return `event: ${String(value['type'])}\n${data(value)}`
}

function chunk (delta: Json, finish: string | null = null): string {
  return data({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }]
  })
}

const chatAnswer: Pick<Protocol, 'complete' | 'frames'> = {
  complete: {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    usage,
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: said.join(''),
          reasoning_content: thought.join(''),
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'look', arguments: called.join('') } }
          ]
        }
      }
    ]
  },
  frames: [
    chunk({ role: 'assistant', content: '' }),
    ...thought.map(text => chunk({ reasoning_content: text })),
    ...said.map(text => chunk({ content: text })),
    chunk({
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }]
    }),
    ...called.map(text => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
    chunk({}, 'tool_calls'),
    data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage }),
    'data: [DONE]\n\n'
  ]
}

function responsesAnswer (): Pick<Protocol, 'complete' | 'frames'> {
  const reasoning = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: thought.join('') }]
  }
  const message = {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: said.join(''), annotations: [], logprobs: [] }]
  }
  const call = {
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_1',
    name: 'look',
    arguments: called.join('')
  }
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [reasoning, message, call],
    store: false,
    x_new: { kept: [1.0] },
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 5
    }
  }
  const part = { output_index: 1, content_index: 0, item_id: 'msg_1' }
  const frames = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [] } },
    ...thought.map(delta => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      summary_index: 0,
      item_id: 'rs_1',
      delta
    })),
    {
      type: 'response.reasoning_summary_text.done',
      output_index: 0,
      summary_index: 0,
      item_id: 'rs_1',
      text: thought.join('')
    },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
    { type: 'response.of_the_future', thing: { kept: true } },
    ...said.map(delta => ({ type: 'response.output_text.delta', ...part, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...part, text: said.join(''), logprobs: [] },
    { type: 'response.content_part.done', ...part, part: message.content[0] },
    { type: 'response.output_item.done', output_index: 1, item: message },
    { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
    ...called.map(delta => ({
      type: 'response.function_call_arguments.delta',
      output_index: 2,
      item_id: 'fc_1',
      delta
    })),
    {
      type: 'response.function_call_arguments.done',
      output_index: 2,
      item_id: 'fc_1',
      name: 'look',
      arguments: called.join('')
    },
    { type: 'response.output_item.done', output_index: 2, item: call },
    { type: 'response.completed', response }
  ]
  return { complete: response, frames: frames.map((value, at) => event({ ...value, sequence_number: at })) }
}

export const protocols: Readonly<Record<'chat' | 'responses' | 'anthropic' | 'google' | 'xai', Protocol>> = {
  chat: { model: 'openai/m', provider: chatUpstreamAt, ...chatAnswer },
  xai: { model: 'xai/m', provider: url => upstreamAt(url, 'xai', 'xai'), ...chatAnswer },
  responses: {
    model: 'openai/m-codex',
    provider: url => upstreamAt(url),
    lacks: ['stop', 'stop_sequences'],
    ...responsesAnswer()
  },
  anthropic: {
    model: 'anthropic/m',
    provider: url => upstreamAt(url, 'anthropic', 'anthropic'),
    complete: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 2 },
      content: [
        { type: 'text', text: said.join('') },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: JSON.parse(called.join('')) as Json }
      ]
    },
    frames: [
      event({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 3, output_tokens: 1 }
        }
      }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      event({ type: 'ping' }),
      ...said.map(text =>
        event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
      ),
      event({ type: 'content_block_stop', index: 0 }),
      event({
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
      }),
      ...called.map(json =>
        event({
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: json }
        })
      ),
      event({ type: 'content_block_stop', index: 1 }),
      event({
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 2 }
      }),
      event({ type: 'message_stop' })
    ]
  },
  google: {
    model: 'google/m',
    provider: url => upstreamAt(url, 'google', 'google'),
    complete: candidates(
      [...said.map(text => ({ text })), { text: thought.join(''), thought: true }, functionCall()],
      'STOP'
    ),
    frames: [
      ...thought.map(text => data(candidates([{ text, thought: true }]))),
      ...said.map(text => data(candidates([{ text }]))),
      data(candidates([functionCall()], 'STOP'))
    ]
  }
}

function candidates (parts: readonly Json[], finishReason?: string): Json {
  return {
    candidates: [
      { index: 0, content: { role: 'model', parts }, ...finishReason !== undefined && { finishReason } }
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }
  }
}

function functionCall (): Json {
  return { functionCall: { name: 'look', args: JSON.parse(called.join('')) as Json } }
}

export interface Dialect {
  readonly path: string
  readonly request: (model: string, here: string) => Json
  /** All texts of an answer, each joined. */
  readonly textsOf: (answer: readonly Json[]) => string[]
}

const schema = (here: string): Json => ({
  type: 'object',
  properties: { place: { type: 'string', description: `as in ${here}` } }
})

/** Requests with the word in many places, and answers read as clients do. */
export const dialects: Readonly<Record<'chat' | 'messages' | 'responses' | 'completions', Dialect>> = {
  chat: {
    path: '/v1/chat/completions',
    request: (model, here) => ({
      model,
      messages: [
        { role: 'system', content: `Talk of ${here}.` },
        {
          role: 'user',
          content: [
            { type: 'text', text: `Where is ${here}?` },
            { type: 'text', text: 'Say it.' }
          ]
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_0',
              type: 'function',
              function: { name: 'look', arguments: `{"place":"\\u005a${here.slice(1)}"}` }
            }
          ]
        },
        { role: 'tool', tool_call_id: 'call_0', content: `${here} lies there.` },
        { role: 'user', content: `${here}!` }
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'look', description: `Looks for ${here}.`, parameters: schema(here) }
        }
      ],
      stop: [`end of ${here}`],
      user: here
    }),
    textsOf: answers => {
      // one of both
      const messages = answers.flatMap(({ choices }) =>
        list(choices).map(choice => (choice['message'] ?? choice['delta']) as Json)
      )
      const calls = messages.flatMap(message => list(message['tool_calls']))
      return [
        joined(messages, 'content'),
        joined(messages, 'reasoning_content'),
        joined(
          calls.map(call => call['function'] as Json),
          'arguments'
        )
      ]
    }
  },
  completions: {
    path: '/v1/completions',
    request: (model, here) => ({
      model,
      prompt: `Once in ${here}`,
      suffix: '',
      stop: `end of ${here}`,
      max_tokens: 50
    }),
    textsOf: answers => [
      joined(
        answers.flatMap(({ choices }) => list(choices)),
        'text'
      )
    ]
  },
  messages: {
    path: '/v1/messages',
    request: (model, here) => ({
      model,
      max_tokens: 100,
      system: [{ type: 'text', text: `Talk of ${here}.`, cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: `Where is ${here}?`, cache_control: { type: 'ephemeral' } },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: here }, title: here }
          ]
        },
        {
          role: 'assistant',
          content: [
            {
              type: 'tool_use',
              id: 'toolu_0',
              name: 'look',
              input: { place: here, deep: [{ est: `in ${here}` }] }
            }
          ]
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_0',
              content: [{ type: 'text', text: `${here} lies there.` }]
            },
            { type: 'text', text: `${here}!` }
          ]
        }
      ],
      tools: [{ name: 'look', description: `Looks for ${here}.`, input_schema: schema(here) }],
      stop_sequences: [`end of ${here}`],
      metadata: { user_id: here }
    }),
    textsOf: answers => {
      const blocks = answers.flatMap(({ content, content_block: block, delta }) => [
        ...list(content),
        ...list([block, delta].filter(value => value !== undefined))
      ])
      return [
        joined(blocks, 'text'),
        joined(blocks, 'thinking'),
        joined(blocks, 'partial_json'),
        ...blocks.flatMap(({ input }) => (input === undefined ? [] : [JSON.stringify(input)]))
      ]
    }
  },
  responses: {
    path: '/v1/responses',
    request: (model, here) => ({
      model,
      store: false,
      instructions: `Talk of ${here}.`,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: `Where is ${here}?` }] },
        {
          type: 'function_call',
          call_id: 'call_0',
          name: 'look',
          arguments: JSON.stringify({ place: here })
        },
        { type: 'function_call_output', call_id: 'call_0', output: `${here} lies there.` },
        { role: 'user', content: `${here}!` }
      ],
      tools: [
        { type: 'function', name: 'look', description: `Looks for ${here}.`, parameters: schema(here) }
      ],
      metadata: { where: here },
      user: here
    }),
    textsOf: answers => {
      const ofType = (pattern: RegExp): readonly Json[] =>
        answers.filter(({ type }) => pattern.test(String(type)))
      return [
        ...['output_text', 'reasoning_summary_text', 'function_call_arguments'].map(name =>
          joined(ofType(new RegExp(`${name}\\.delta$`)), 'delta')
        ),
        ...answers.map(answer => JSON.stringify(answer))
      ]
    }
  }
}

function list (value: unknown): readonly Json[] {
  return Array.isArray(value) ? value as Json[] : [] // JSON of ours
}

function joined (objects: readonly Json[], name: string): string {
  return objects.map(object => typeof object[name] === 'string' ? object[name] : '').join('')
}

export function scriptOf ({ complete, frames }: Protocol): (request: SeenRequest) => Script {
  return ({ json, path }) => {
    const isStreamed = (json as Json)['stream'] === true || path.includes('streamGenerateContent')
    return isStreamed
      ? { headers: eventStream, pieces: frames }
      : { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(complete, null, 1)] }
  }
}

export function messagesIn (body: string): Json[] {
  return body
    .split('\n')
    .flatMap(line => (line.startsWith('data: {') ? [JSON.parse(line.slice('data: '.length)) as Json] : []))
}

/** Returns whether a text has the word, plain or escaped. */
export function holdsWord (text: string): boolean {
  return text.replaceAll('\\u005a', 'Z').includes(word)
}

export function takenBy ({ lacks = [] }: Protocol, request: Json): Json {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !lacks.includes(name)))
}

/** The answer's text in a provider of this protocol, without the word. */
export const replaced = said.join('').replaceAll(word, replacement)
