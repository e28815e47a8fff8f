/**
 * Changes one thing in answers of every kind of provider, in ways that sloppy servers do: the answer is read
 * correctly, or the caller gets an error. Every member and every message is changed in every way; only what
 * the change itself destroys may be lost.
 */

import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { providerKinds, type ProviderKind } from '../../schemas/providers.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { readEvents } from '../support/read-events.ts'
import { asSse, at, changed, changes, nothing, pathsOf, skip, type Frame } from '../support/sloppy-changes.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'

interface Format {
  readonly whole: object
  readonly frames: readonly Frame[]
  readonly traits?: AdapterInput<ChatInput>['route']['traits']
}

const first = '{"one":"eins-zwei"}'
const second = '{"two":"drei"}'
const parsed = (text: string): unknown => JSON.parse(text)

const chatUsage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const chunk = (delta: object, finish: string | null = null, more: object = {}): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
  ...more
})
const piece = (index: number, text: string, label: { id?: string, name?: string } = {}): Frame => [
  undefined,
  chunk({
    tool_calls: [
      {
        index,
        ...label.id !== undefined && { id: label.id, type: 'function' },
        function: { ...label.name !== undefined && { name: label.name }, arguments: text }
      }
    ]
  })
]
const chatCall = (id: string, name: string, text: string): object => ({
  id,
  type: 'function',
  function: { name, arguments: text }
})

const chatCompletions: Format = {
  whole: {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    usage: chatUsage,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'hello',
          refusal: null,
          tool_calls: [chatCall('k1', 'alpha', first), chatCall('k2', 'beta', second)]
        },
        finish_reason: 'tool_calls',
        logprobs: null
      }
    ]
  },
  frames: [
    [undefined, chunk({ role: 'assistant', content: '' })],
    [undefined, chunk({ content: 'hel' })],
    [undefined, chunk({ content: 'lo' })],
    piece(0, '', { id: 'k1', name: 'alpha' }),
    piece(0, first.slice(0, 12)),
    piece(0, first.slice(12)),
    piece(1, '', { id: 'k2', name: 'beta' }),
    piece(1, second),
    [undefined, chunk({}, 'tool_calls')],
    [undefined, { ...chunk({}), choices: [], usage: chatUsage }],
    [undefined, '[DONE]']
  ]
}

const block = (index: number, content: object, delta: object): readonly Frame[] => [
  ['content_block_start', { type: 'content_block_start', index, content_block: content }],
  ['content_block_delta', { type: 'content_block_delta', index, delta }],
  ['content_block_stop', { type: 'content_block_stop', index }]
]
const toolBlock = (index: number, id: string, name: string, text: string): readonly Frame[] =>
  block(index, { type: 'tool_use', id, name, input: {} }, { type: 'input_json_delta', partial_json: text })

const messages: Format = {
  whole: {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 7 },
    content: [
      { type: 'text', text: 'hello', citations: null },
      { type: 'tool_use', id: 'k1', name: 'alpha', input: parsed(first) },
      { type: 'tool_use', id: 'k2', name: 'beta', input: parsed(second) }
    ]
  },
  frames: [
    [
      'message_start',
      {
        type: 'message_start',
        message: {
          id: 'm1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 11, output_tokens: 1 }
        }
      }
    ],
    ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'hello' }),
    ['ping', { type: 'ping' }],
    ...toolBlock(1, 'k1', 'alpha', first),
    ...toolBlock(2, 'k2', 'beta', second),
    [
      'message_delta',
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 7 }
      }
    ],
    ['message_stop', { type: 'message_stop' }]
  ]
}

const functionCall = (id: string, name: string, text: string): object => ({
  functionCall: { id, name, args: parsed(text) }
})
const content = (...parts: object[]): object => ({ index: 0, content: { role: 'model', parts } })
const prompt = { usageMetadata: { promptTokenCount: 11 }, responseId: 'r' }
const geminiUsage = {
  usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  modelVersion: 'm',
  responseId: 'r'
}

const gemini: Format = {
  whole: {
    candidates: [
      {
        ...content(
          { text: 'hello' },
          functionCall('k1', 'alpha', first),
          functionCall('k2', 'beta', second)
        ),
        finishReason: 'STOP',
        safetyRatings: []
      }
    ],
    ...geminiUsage
  },
  frames: [
    [undefined, { candidates: [content({ text: 'hel' })], ...prompt }],
    [undefined, { candidates: [content({ text: 'lo' })], ...prompt }],
    [undefined, { candidates: [content(functionCall('k1', 'alpha', first))], ...prompt }],
    [
      undefined,
      {
        candidates: [{ ...content(functionCall('k2', 'beta', second)), finishReason: 'STOP' }],
        ...geminiUsage
      }
    ]
  ]
}

const item = {
  type: 'message',
  id: 'm1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'hello', annotations: [] }]
}
const callItem = (id: string, callId: string, name: string, text: string) => ({
  type: 'function_call',
  id,
  call_id: callId,
  name,
  arguments: text,
  status: 'completed'
})
const items = [callItem('f1', 'k1', 'alpha', first), callItem('f2', 'k2', 'beta', second)]
const response = {
  id: 'r1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  output: [item, ...items],
  usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 }
}
const event = (type: string, fields: object): Frame => [type, { type, sequence_number: 1, ...fields }]

const responses: Format = {
  traits: { responsesOnly: true },
  whole: response,
  frames: [
    event('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } }),
    event('response.output_item.added', {
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] }
    }),
    event('response.output_text.delta', {
      output_index: 0,
      item_id: 'm1',
      content_index: 0,
      delta: 'hello'
    }),
    event('response.output_text.done', { output_index: 0, item_id: 'm1', content_index: 0, text: 'hello' }),
    event('response.output_item.done', { output_index: 0, item }),
    ...items.flatMap((call, index) => [
      event('response.output_item.added', {
        output_index: index + 1,
        item: { ...call, arguments: '', status: 'in_progress' }
      }),
      event('response.function_call_arguments.delta', {
        output_index: index + 1,
        item_id: call.id,
        delta: call.arguments
      }),
      event('response.output_item.done', { output_index: index + 1, item: call })
    ]),
    event('response.completed', { response })
  ]
}

interface Facts {
  readonly text: string
  readonly calls: ReadonlyArray<{ readonly name: string, readonly text: string }>
  readonly tokens: string
}

/** Returns what the caller gets; `undefined` for an error. */
function factsOf (read: () => readonly ChatEvent[]): Facts | undefined {
  let events: readonly ChatEvent[]
  try {
    events = read()
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error // an internal error
  }
  const calls: Array<{ name: string, text: string }> = []
  for (const event of events) {
    if (event.type === 'tool-call-start') calls[event.callIndex] = { name: event.name, text: '' }
    if (event.type === 'tool-call-delta') calls[event.callIndex]!.text += event.text // the stream has begun
  }
  const usage = events.find(event => event.type === 'usage')?.usage
  return {
    text: events.map(event => (event.type === 'text-delta' ? event.text : '')).join(''),
    calls,
    tokens: `${usage?.promptTokens} ${usage?.completionTokens}`
  }
}

const right: Facts = {
  text: 'hello',
  calls: [
    { name: 'alpha', text: first },
    { name: 'beta', text: second }
  ],
  tokens: '11 7'
}
/** Words in the arguments of each call, also if split into pieces. */
const words: Readonly<Record<string, RegExp>> = { alpha: /one|eins|zwei/, beta: /two|drei/ }

/**
 * Returns what is wrong with an answer; `undefined` if it is right, or an error. Words that the change
 * destroyed may be missing. Nothing else may: a call that only lost its name is not dropped, and none comes
 * twice.
 * @param destroyed the value that was there before, as JSON
 */
function faultOf (facts: Facts | undefined, destroyed: string): string | undefined {
  if (facts === undefined) return undefined
  const { text, calls, tokens } = facts
  if (text !== right.text && !/hel|lo/.test(destroyed)) return `the text is ${text}`
  if (calls.length > right.calls.length) return `there are ${calls.length} calls`
  for (const { name, text: json } of right.calls) {
    const losesName = destroyed.includes(name)
    const losesArguments = words[name]?.test(destroyed) === true
    if (losesName && !losesArguments && calls.length < right.calls.length) {
      return `the call without its name ${name} is gone`
    }
    if (!losesName && !losesArguments && !calls.some(call => call.name === name && call.text === json)) {
      return `the calls are ${JSON.stringify(calls)}`
    }
  }
  // Missing or unreadable counts are estimated.
  const isUsage = /_tokens|TokenCount/.test(destroyed)
  return tokens === right.tokens ||
    (isUsage && (/undefined/.test(tokens) || /^\{"\w+":\d+\}$/.test(destroyed)))
    ? undefined
    : `there are ${tokens} tokens`
}

/** Changes each member of a value in every way; yields the changed value and the old member. */
function* variants (
  value: unknown
): Generator<{ readonly what: string, readonly variant: unknown, readonly destroyed: string }> {
  for (const path of pathsOf(value)) {
    const before = at(value, path)
    for (const [name, change] of Object.entries(changes)) {
      const member = change(before)
      // An empty piece may be empty, and changed text is taken as it is; items of unknown types are skipped,
      // as providers ask.
      const isOther =
        (before === '' && (member === 'other' || member === 7)) ||
        (path.at(-1) === 'type' && member === 'other')
      if (member === skip || isOther) continue
      // A non-empty value in place of an object or a list must be read or refused; content may be a string.
      const isRefused =
        typeof before === 'object' &&
        before !== null &&
        !nothing.has(name) &&
        !(path.at(-1) === 'content' && typeof member === 'string')
      const json = JSON.stringify({ [path.at(-1) ?? '']: before })
      yield {
        what: `${path.join('.')}: ${name}`,
        variant: changed(value, path, member),
        destroyed: isRefused ? json.replaceAll(/hel|lo|alpha|beta|eins|zwei|drei|one|two/g, '') : json
      }
    }
  }
}

/** Changes each message of a stream as a message; its content must not be lost with its event name. */
function* streamVariants (
  frames: readonly Frame[]
): Generator<{ readonly what: string, readonly variant: readonly Frame[], readonly destroyed: string }> {
  for (const [index, [event, data]] of frames.entries()) {
    const json = JSON.stringify(data)
    const instead = (...others: Frame[]): readonly Frame[] => frames.toSpliced(index, 1, ...others)
    for (const name of [undefined, 'message', 'of_the_future']) {
      yield { what: `message ${index} is named ${name}`, variant: instead([name, data]), destroyed: '' }
    }
    yield {
      what: `message ${index} is in a list`,
      variant: instead([event, `[${json}]`]),
      destroyed: data === '[DONE]' ? json : ''
    }
    yield { what: `message ${index} is empty`, variant: instead([event, '']), destroyed: json }
    yield { what: `message ${index} is missing`, variant: instead(), destroyed: json }
    // A duplicated piece counts as two pieces.
    if (!/hel|lo"|eins|zwei|drei/.test(json)) {
      yield {
        what: `message ${index} comes twice`,
        variant: instead([event, data], [event, data]),
        destroyed: ''
      }
    }
    for (const filler of ['', 'null', '[]', '1', '"x"', '{}', '{"type":"ping"}']) {
      for (const name of [undefined, 'ping', 'keepalive']) {
        yield {
          what: `${filler} (${name}) before message ${index}`,
          variant: frames.toSpliced(index, 0, [name, filler]),
          destroyed: ''
        }
      }
    }
  }
}

/** Formats of each kind; kinds that share an adapter are read alike. */
function formatsOf (kind: ProviderKind): readonly Format[] {
  const { quirks = {} } = kinds[kind]
  if (kind === 'anthropic') return [messages]
  if (kind === 'google') return [gemini]
  return quirks.responsesApi === true ? [chatCompletions, responses] : [chatCompletions]
}

const tested = new Set<unknown>()
for (const kind of providerKinds) {
  const { adapters: made, quirks = {} } = kinds[kind]
  const { chat } = typeof made === 'function' ? made({}) : made
  if (chat === undefined || tested.has(chat)) continue
  tested.add(chat)
  for (const [index, { whole, frames, traits }] of formatsOf(kind).entries()) {
    const ask: AdapterInput<ChatInput> = {
      request: {
        model: 'x/m',
        messages: [{ role: 'user', content: 'hi' }],
        tools: ['alpha', 'beta'].map(name => ({ type: 'function', function: { name } }))
      },
      route: { providerId: 'x', model: 'm', modelId: 'x/m', ...traits !== undefined && { traits } },
      quirks,
      streamed: false
    }
    const completeFacts = (answer: unknown): Facts | undefined =>
      factsOf(() => readResponse(chat, answer, ask))
    const streamFacts = (stream: readonly Frame[]): Facts | undefined =>
      factsOf(() => readEvents([asSse(stream)], streamOf(chat, ask)))
    const title = `${kind}${index === 0 ? '' : ', Responses'}`

    t.test(`${title}: the unchanged answers are read correctly`, async t => {
      t.same(completeFacts(whole), right)
      t.same(streamFacts(frames), right)
    })

    t.test(`${title}: a complete answer with one member changed is read correctly or an error`, async t => {
      const faults = [...variants(whole)].flatMap(({ what, variant, destroyed }) => {
        const fault = faultOf(completeFacts(variant), destroyed)
        return fault === undefined ? [] : [`${what}: ${fault}`]
      })
      t.same(faults, [])
    })

    t.test(`${title}: a stream with one member changed is read correctly or an error`, async t => {
      const faults = frames.flatMap(([event, data], place) =>
        typeof data === 'string'
          ? []
          : [...variants(data)].flatMap(({ what, variant, destroyed }) => {
              // a changed object is one
              const fault = faultOf(streamFacts(frames.with(place, [event, variant as object])), destroyed)
              return fault === undefined ? [] : [`message ${place} ${event ?? ''}, ${what}: ${fault}`]
            })
      )
      t.same(faults, [])
    })

    t.test(`${title}: a stream with one message changed is read correctly or an error`, async t => {
      const faults = [...streamVariants(frames)].flatMap(({ what, variant, destroyed }) => {
        const fault = faultOf(streamFacts(variant), destroyed)
        return fault === undefined ? [] : [`${what}: ${fault}`]
      })
      t.same(faults, [])
    })

    t.test(`${title}: an answer in the other content type is read`, async t => {
      const swapped = chat.read({ status: 200, headers: {} }, ask)
      const streamed = chat.read({ status: 200, headers: {} }, { ...ask, streamed: true })
      t.same(
        swapped.as === 'json' &&
          swapped.sse !== undefined &&
          factsOf(() => readEvents([asSse(frames)], swapped.sse?.() as never)),
        right,
        'a stream in place of JSON'
      )
      t.same(
        streamed.as === 'events' && factsOf(() => streamed.json?.(whole) ?? []),
        right,
        'JSON in place of a stream'
      )
    })
  }
}

const dialects = { anthropic: ['messages', messages], openai: ['responses', responses] } as const

for (const [kind, [dialect, { whole, frames }]] of Object.entries(dialects)) {
  const { adapters } = kinds[kind as keyof typeof dialects] // a key of the table
  const { chat } = adapters as { readonly chat: Adapter<ChatInput, ChatEvent> } // neither depends on options
  const ask: AdapterInput<ChatInput> = {
    request: { model: 'x/m', messages: [] },
    route: { providerId: 'x', model: 'm', modelId: 'x/m' },
    quirks: {},
    streamed: false,
    direct: { dialect, body: '{}', headers: {}, query: '' }
  }
  /**
   * Returns the provider's own words that the caller gets, and the tokens that are counted; `undefined` for
   * an error.
   */
  const passed = (
    read: () => readonly ChatEvent[]
  ): { readonly words: readonly unknown[], readonly tokens: string } | undefined => {
    try {
      const events = read()
      const usage = events.find(event => event.type === 'usage')?.usage
      return {
        words: events.flatMap(event =>
          event.type === 'direct-frame' || event.type === 'direct-answer' ? [JSON.parse(event.json)] : []
        ),
        tokens: `${usage?.promptTokens} ${usage?.completionTokens}`
      }
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }
  const fault = (
    what: string,
    got: ReturnType<typeof passed>,
    sent: readonly unknown[],
    destroyed: string
  ): string[] => {
    if (got === undefined) return []
    if (JSON.stringify(got.words) !== JSON.stringify(sent)) return [`${what}: ${JSON.stringify(got.words)}`]
    return got.tokens === right.tokens || /_tokens/.test(destroyed) ? [] : [`${what}: ${got.tokens} tokens`]
  }

  t.test(`${dialect} passed through: an answer with one member changed is passed on or an error`, async t => {
    t.same(
      passed(() => readResponse(chat, whole, ask)),
      { words: [whole], tokens: right.tokens }
    )
    t.same(
      [...variants(whole)].flatMap(({ what, variant, destroyed }) =>
        fault(
          what,
          passed(() => readResponse(chat, variant, ask)),
          [variant],
          destroyed
        )
      ),
      []
    )
    t.same(
      frames.flatMap(([event, data], place) =>
        [...variants(data)].flatMap(({ what, variant, destroyed }) => {
          const stream = frames.with(place, [event, variant as object]) // a changed object is one
          return fault(
            `message ${place} ${event}, ${what}`,
            passed(() => readEvents([asSse(stream)], streamOf(chat, ask))),
            stream.map(([, data]) => data),
            destroyed
          )
        })
      ),
      []
    )
  })
}
