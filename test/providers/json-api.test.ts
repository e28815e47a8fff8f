import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MediaStrings } from '../../lib/json/media-strings.ts'
import { parseInSlices } from '../../lib/json/parse-in-slices.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'
import { providerSettings } from '../support/settings.ts'
import fc from 'fast-check'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { googleChat } from '../../lib/providers/google/index.ts'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { streamOf } from '../support/adapters.ts'
import { ask as anthropicAsk } from '../support/anthropic-answers.ts'
import { ask as chatAsk } from '../support/chat-completions.ts'
import { googleAsk } from '../support/google.ts'
import { holds } from '../support/property.ts'
import { readEvents } from '../support/read-events.ts'
import { responsesAsk } from '../support/responses-api.ts'
import {
  argumentsText,
  contentOf,
  jsonBody,
  jsonOrSse,
  memberType,
  objectIn,
  objectOrNothing,
  parseData,
  partsOf,
  Retained,
  splitChoices
} from '../../lib/providers/json-api.ts'
import { rounds } from '../support/rounds.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { DirectDialect } from '../../lib/core/events.ts'
import type { Adapter, AdapterInput, StreamReader } from '../../lib/providers/provider.ts'

t.test('a body is text; that of a large request is printed at each attempt', async t => {
  const value = { image: 'A'.repeat(3_000_000), list: [1, { a: 'ä' }] }
  t.equal(jsonBody(value, {}), JSON.stringify(value))
  const body = jsonBody(value, { isLarge: true })
  t.type(body, 'function')
  for (let attempt = 0; attempt < 2; attempt++) {
    t.ok((await bufferBody(body)).toString() === JSON.stringify(value))
  }
})

const data = 'A'.repeat(1_200_000)
const question = {
  model: 'm',
  messages: [{
    role: 'user',
    content: [
      { type: 'text', text: 'hi' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
      { type: 'file', file: { file_data: data, filename: 'a.pdf' } }
    ]
  }]
} satisfies ChatInput

t.test('every provider gets the media of a request in place of its placeholders', async t => {
  const media = new MediaStrings()
  // the same with short strings
  const shortened = await parseInSlices(Buffer.from(JSON.stringify(question)), 10, { media }) as ChatInput
  t.ok(JSON.stringify(shortened).length < 10_000)
  const kinds: readonly ProviderKind[] = [
    'openai',
    'anthropic',
    'google',
    'xai',
    'mistral',
    'azure-openai',
    'ollama'
  ]
  for (const kind of kinds) {
    const { adapters, quirks } = createProvider(providerSettings(kind, kind), {
      send: async () => await Promise.reject(new Error('nothing may be sent'))
    })
    for (const [name, adapter] of [
      ['chat', adapters.chat],
      ['tokenCount', adapters.tokenCount]
    ] as const) {
      if (adapter === undefined) continue
      const print = async (request: ChatInput, given: Partial<AdapterInput<ChatInput>>): Promise<Buffer> =>
        await bufferBody(
          (adapter as Adapter<ChatInput, unknown>).request({
            request,
            route: { providerId: kind, model: 'm', modelId: `${kind}/m` },
            quirks,
            streamed: false,
            ...given
          }).body
        )
      const expected = await print(question, {}).catch(message)
      const printed = await print(shortened, { isLarge: true, media }).catch(message)
      t.ok(
        typeof printed === 'string' || printed.equals(Buffer.from(expected)),
        `${kind} ${name} ${typeof printed === 'string' ? printed : ''}`
      )
    }
  }
})

const message = (error: unknown): string => Object(error).message

const choicesAsk = (n: unknown): AdapterInput<{ readonly n?: number | undefined, readonly more: string }> =>
  // as endpoints without validation pass it on
  ({
    request: { n: n as number, more: 'x' },
    route: { providerId: 'a', model: 'b', modelId: 'a/b' },
    quirks: {},
    streamed: false
  })
const parts = (n: unknown, max: number): unknown[] =>
  splitChoices(max)(choicesAsk(n)).map(({ request }) => request.n)

t.test('a request for many choices is split, and single-choice requests omit the number', async t => {
  t.same(parts(7, 3), [3, 3, undefined])
  t.same(parts(2, 1), [undefined, undefined])
  t.strictSame(splitChoices(1)(choicesAsk(2))[0], { ...choicesAsk(2), request: { n: undefined, more: 'x' } })
})

t.test('a request that needs no split is the same object', async t => {
  for (const n of [1, 3, undefined, '5', Number.NaN]) {
    const given = choicesAsk(n)
    t.same(splitChoices(3)(given), [given])
  }
})

const direct = (dialect: DirectDialect) => ({ direct: { dialect, body: '{}', headers: {}, query: '' } })

/** The readers of streams, by the folder of their recordings. */
const readers: ReadonlyArray<readonly [folder: string, name: string, open: () => StreamReader<ChatEvent>]> =
  [
    ['chat-completions', 'chat completions', () => streamOf(chatCompletions, chatAsk())],
    ['anthropic', 'Messages, translated', () => streamOf(anthropicChat, anthropicAsk())],
    [
      'anthropic',
      'Messages, as they came',
      () => streamOf(anthropicChat, { ...anthropicAsk(), ...direct('messages') })
    ],
    ['google', 'Gemini', () => streamOf(googleChat, googleAsk())],
    ['responses', 'Responses, translated', () => streamOf(openaiAdapters.chat, responsesAsk())],
    [
      'responses',
      'Responses, as they came',
      () => streamOf(openaiAdapters.chat, { ...responsesAsk(), ...direct('responses') })
    ]
  ]

/** Messages without content, as servers and proxies send them to keep a connection open. */
const keepAlives = [
  'data:\n\n',
  'data: \n\n',
  'data: null\n\n',
  'data: []\n\n',
  'data: 1\n\n',
  'event: message\ndata:\n\n',
  'id: 5\nretry: 3000\ndata:\n\n',
  ': ping\n\n'
]

for (const [folder, name, open] of readers) {
  t.test(`${name}: keep-alive messages change nothing, wherever they come`, async t => {
    const recordings = join(import.meta.dirname, '../../../test/fixtures', folder)
    const streams = readdirSync(recordings)
      .filter(file => file.endsWith('.sse'))
      .map(file =>
        readFileSync(join(recordings, file), 'utf8')
          .replace(/^\ufeff/, '')
          .split(/(?<=\n\r?\n)/)
      )
    const inserted = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...keepAlives)), {
      minLength: 1,
      maxLength: 4
    })
    let complete = 0
    holds(
      t,
      fc.property(fc.constantFrom(...streams), inserted, (frames, inserted) => {
        const expected = outcome(frames, open())
        if (expected.startsWith('[')) complete++
        const changed = inserted.reduce(
          (all, [at, message]) => all.toSpliced(at % all.length, 0, message),
          frames
        )
        return outcome(changed, open()) === expected
      }),
      { numRuns: 200 }
    )
    t.ok(complete > rounds(200) / 2, `${complete} streams were read to their end`)
  })
}

/** Returns the events of a stream without generated ids, or the error it fails with. */
function outcome (frames: readonly string[], reader: StreamReader<ChatEvent>): string {
  try {
    return JSON.stringify(readEvents([Buffer.from(frames.join(''))], reader)).replaceAll(
      /call_[\da-f]{24}/g,
      'call'
    )
  } catch (error) {
    return String(error)
  }
}

t.test('data is an object, nothing, or invalid JSON', async t => {
  t.same(objectIn('{"a":1}'), { a: 1 })
  for (const nothing of ['', ' ', '[DONE]', ' [DONE] ', 'null', '[]', '[1]', '7', '"text"']) {
    t.equal(objectIn(nothing), undefined, nothing)
  }
  t.same(parseData('[{"a":1}]'), [{ a: 1 }], 'some servers send lists')
  for (const broken of ['{', 'DONE', '[DONE', '{}x']) {
    t.throws(() => objectIn(broken), { code: 'upstream_invalid_response' }, broken)
  }
})

t.test('an error may be plain text', async t => {
  t.same(objectOrNothing('{"error":1}'), { error: 1 })
  for (const words of ['', 'oh no', '7']) t.equal(objectOrNothing(words), undefined)
})

const ask = (streamed: boolean): AdapterInput<string> => ({
  request: 'question',
  route: { providerId: 'a', model: 'b', modelId: 'a/b' },
  quirks: {},
  streamed
})
const stream = ({ request }: AdapterInput<string>): StreamReader<string> => ({
  isDone: false,
  read: (_message, into) => {
    into.push(request)
  },
  end: () => undefined
})
const json = (value: unknown, { request }: AdapterInput<string>): string[] => [`${request} ${String(value)}`]

t.test('a body is read in the requested form, or in the other if it has that', async t => {
  const read = jsonOrSse(json, stream)
  const head = { status: 200, headers: {} }
  const sse = read(head, ask(true))
  t.same(sse.as === 'events' && sse.json?.(7), ['question 7'])
  const complete = read(head, ask(false))
  t.same(complete.as === 'json' && complete.read(7), ['question 7'])
  const events: string[] = []
  if (complete.as === 'json') complete.sse?.().read({ data: '', event: undefined, id: undefined }, events)
  t.same(events, ['question'])
})

const part = { a: 1 }

t.test('the parts of a list are its objects, in any form of the list', async t => {
  for (const written of [[part], part, [null, part, ''], [[part]]]) {
    t.same(partsOf(written, 'the list'), [part], JSON.stringify(written))
  }
  for (const nothing of [undefined, null, '', [], [null]]) {
    t.same(partsOf(nothing, 'the list'), [], JSON.stringify(nothing))
  }
})

t.test('an unreadable list is an error that names it', async t => {
  for (const odd of ['text', 7, true, ['text'], [part, 7]]) {
    t.throws(
      () => partsOf(odd, 'the list'),
      { code: 'upstream_invalid_response', cause: /the list cannot be read/ },
      JSON.stringify(odd)
    )
  }
})

t.test('a string as content is its only part', async t => {
  t.same(contentOf('hello', 'the content'), [{ type: 'text', text: 'hello' }])
  t.same(contentOf('', 'the content'), [])
  t.same(contentOf([part], 'the content'), [part])
})

t.test('arguments become JSON text, whether sent as text or as an object', async t => {
  for (const [value, text] of [
    ['{"a":1}', '{"a":1}'],
    [{ a: 1 }, '{"a":1}'],
    [null, ''],
    [undefined, ''],
    ['', '']
  ] as const) {
    t.equal(argumentsText(value), text)
  }
})

t.test('a part without a type gets the type of its member', async t => {
  const members = { input: 'tool_use', text: 'text' }
  t.equal(memberType({ text: '' }, members), 'text')
  t.equal(memberType({ text: 'a', input: {} }, members), 'tool_use', 'the first member counts')
  t.equal(memberType({ text: null }, members), undefined)
})

const long = 'x'.repeat(1_000_000)
const chunk = (delta: object, more: object = {}): object => ({
  id: 'c',
  choices: [{ index: 0, delta }],
  ...more
})
const block = { type: 'content_block_start', index: 0 }
const delta = (delta: object): object => ({ type: 'content_block_delta', index: 0, delta })
const added = (item: object): object => ({ type: 'response.output_item.added', output_index: 0, item })

/** The beginning of each stream, and what then repeats forever. */
const streams: ReadonlyArray<
  readonly [
    name: string,
    open: () => StreamReader<ChatEvent>,
    first: object,
    next: (count: number) => object
  ]
> = [
  [
    'arguments',
    () => streamOf(chatCompletions, chatAsk()),
    chunk({ tool_calls: [{ index: 0, id: 'k', function: { name: 'f' } }] }),
    () => chunk({ tool_calls: [{ index: 0, function: { arguments: long } }] })
  ],
  [
    'thinking',
    () => streamOf(chatCompletions, chatAsk()),
    chunk({ role: 'assistant' }),
    () => chunk({ thinking_blocks: [{ type: 'thinking', thinking: long }] })
  ],
  [
    'fields of any name',
    () => streamOf(chatCompletions, chatAsk()),
    chunk({ role: 'assistant' }),
    count => chunk({}, { [`field ${count}`]: long })
  ],
  [
    'thinking of Messages',
    () => streamOf(anthropicChat, anthropicAsk()),
    { ...block, content_block: { type: 'thinking', thinking: '' } },
    () => delta({ type: 'thinking_delta', thinking: long })
  ],
  [
    'citations',
    () => streamOf(anthropicChat, anthropicAsk()),
    { ...block, content_block: { type: 'text', text: '' } },
    () => delta({ type: 'citations_delta', citation: { url: long } })
  ],
  [
    'arguments of Responses',
    () => streamOf(openaiAdapters.chat, responsesAsk()),
    added({ type: 'function_call', call_id: 'k', name: 'f' }),
    () => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta: long })
  ],
  [
    'reasoning of Responses',
    () => streamOf(openaiAdapters.chat, responsesAsk()),
    added({ type: 'reasoning' }),
    () => ({ type: 'response.reasoning_text.delta', output_index: 0, delta: long })
  ]
]

t.test('the retained part of a stream is limited, text that is not retained is not', async t => {
  const read = (reader: StreamReader<ChatEvent>, data: object): void =>
    reader.read({ data: JSON.stringify(data), event: undefined, id: undefined }, [])
  for (const [name, open, first, next] of streams) {
    const reader = open()
    read(reader, first)
    t.throws(
      () => {
        for (let count = 0; count < 20; count++) read(reader, next(count))
      },
      { code: 'upstream_invalid_response' },
      name
    )
  }
  const texts = streamOf(chatCompletions, chatAsk())
  t.doesNotThrow(() => { for (let count = 0; count < 20; count++) read(texts, chunk({ content: long })) })
})

t.test('the number of parts is limited, however small they are', async t => {
  const retained = new Retained()
  t.throws(
    () => {
      for (let count = 0; count < 300_000; count++) retained.add(0)
    },
    { code: 'upstream_invalid_response' }
  )
})
