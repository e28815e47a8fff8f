/**
 * Changes one member in answers of every endpoint except chat, in ways that sloppy servers do: the rest is
 * read correctly, or the caller gets an error. No answer is empty without a reason.
 */

import t from 'tap'
import { anthropicModels } from '../../lib/providers/anthropic/model-list.ts'
import { chatCompletionsModels } from '../../lib/providers/chat-completions/model-list.ts'
import { googleModels } from '../../lib/providers/google/model-list.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { readEvents } from '../support/read-events.ts'
import { asSse, at, changed, changes, pathsOf, skip, type Frame } from '../support/sloppy-changes.ts'
import type { Adapter, AdapterInput, BodyFormat } from '../../lib/providers/provider.ts'
import type { ModelList } from '../../lib/providers/model-list.ts'

type AnyAdapter = Adapter<never, unknown>

interface Format {
  readonly adapter: unknown
  readonly request: object
  readonly whole?: object
  readonly frames?: readonly Frame[]
  /** The result that the caller wants, as JSON. */
  readonly words: readonly string[]
  /** A result that would make the answer empty, as JSON. */
  readonly empty?: RegExp
  /** Changes that themselves mean an empty result. */
  readonly mayBeEmpty?: RegExp
}

const openai = kinds.openai.adapters as Readonly<Record<string, unknown>> // neither depends on options
const google = kinds.google.adapters as Readonly<Record<string, unknown>>
const mistral = kinds.mistral.adapters as Readonly<Record<string, unknown>>
const usage = { prompt_tokens: 3, input_tokens: 3, output_tokens: 4, total_tokens: 7 }
const spoken = Buffer.from('sound').toString('base64')

const formats: Readonly<Record<string, Format>> = {
  'embeddings': {
    adapter: openai['embeddings'],
    request: { model: 'x/m', input: ['a', 'b'] },
    words: ['0.25', '0.75'],
    empty: /^(?!.*(?:"json":"\[\d.*){2})/,
    whole: {
      object: 'list',
      model: 'm',
      data: [
        { object: 'embedding', index: 0, embedding: [0.25] },
        { object: 'embedding', index: 1, embedding: [0.75] }
      ],
      usage
    }
  },
  'embeddings of Gemini': {
    adapter: google['embeddings'],
    request: { model: 'x/m', input: ['a', 'b'] },
    words: ['0.25', '0.75'],
    empty: /^(?!.*(?:"json":"\[\d.*){2})/,
    whole: { embeddings: [{ values: [0.25] }, { values: [0.75] }] }
  },
  'speech in a stream': {
    adapter: openai['speech'],
    request: { model: 'x/m', input: 'a', voice: 'v', stream_format: 'sse' },
    words: [spoken],
    empty: /^(?!.*"audio":"\w)/,
    frames: [
      ['speech.audio.delta', { type: 'speech.audio.delta', audio: spoken }],
      ['speech.audio.done', { type: 'speech.audio.done', usage }]
    ]
  },
  'transcription': {
    adapter: openai['transcription'],
    request: {
      task: 'transcribe',
      model: ['x/m'],
      format: 'json',
      stream: false,
      logprobs: false,
      granularities: []
    },
    words: ['"hello"'],
    whole: { text: 'hello', usage: { type: 'tokens', ...usage } }
  },
  'transcription with words': {
    adapter: openai['transcription'],
    request: {
      task: 'transcribe',
      model: ['x/whisper-1'],
      format: 'verbose_json',
      stream: false,
      logprobs: false,
      granularities: ['word']
    },
    words: ['"hello"', '"word"', '"part"'],
    whole: {
      text: 'hello',
      language: 'en',
      duration: 1.5,
      words: [{ word: 'word', start: 0, end: 1 }],
      segments: [{ id: 0, start: 0, end: 1, text: 'part', tokens: [1] }]
    }
  },
  'transcription in a stream': {
    adapter: openai['transcription'],
    request: {
      task: 'transcribe',
      model: ['x/m'],
      format: 'json',
      stream: true,
      logprobs: false,
      granularities: []
    },
    words: ['"hello"'],
    frames: [
      ['transcript.text.delta', { type: 'transcript.text.delta', delta: 'hel' }],
      ['transcript.text.delta', { type: 'transcript.text.delta', delta: 'lo' }],
      [
        'transcript.text.done',
        { type: 'transcript.text.done', text: 'hello', usage: { type: 'tokens', ...usage } }
      ]
    ]
  },
  'images': {
    adapter: openai['images'],
    request: { model: 'x/m', prompt: 'a' },
    words: ['"AAAA"', '"BBBB"'],
    whole: { created: 1, data: [{ b64_json: 'AAAA' }, { url: 'BBBB' }], usage },
    empty: /"data":\[\]|\{\}|"(?:b64_json|url)":""/,
    mayBeEmpty: /^(?:data: (?:absent|null|an empty list)|usage\b.*)$/
  },
  'images in a stream': {
    adapter: openai['images'],
    request: { model: 'x/m', prompt: 'a', stream: true },
    words: ['AAAA'],
    empty: /^(?!.*"image-end".*b64_json\\":\\"\w)/,
    frames: [
      [
        'image_generation.partial_image',
        { type: 'image_generation.partial_image', b64_json: 'CCCC', partial_image_index: 0 }
      ],
      ['image_generation.completed', { type: 'image_generation.completed', b64_json: 'AAAA', usage }]
    ]
  },
  'images of Gemini': {
    adapter: google['images'],
    request: { model: 'x/m', prompt: 'a' },
    words: ['"AAAA"'],
    empty: /"data":\[\]|"b64_json":""/,
    whole: {
      candidates: [
        {
          content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
          finishReason: 'STOP'
        }
      ]
    }
  },
  'OCR': {
    adapter: mistral['ocr'],
    request: { model: 'x/m', document: { type: 'document_url', document_url: 'https://example.com/a.pdf' } },
    words: ['"first page"', '"second page"'],
    empty: /"pages":\[\]|"markdown":""/,
    mayBeEmpty: /^pages\.\d(?:: an empty object|\.markdown: (?:an empty text|absent|null))$/,
    whole: {
      model: 'm',
      pages: [
        { index: 0, markdown: 'first page', images: [], dimensions: null },
        { index: 1, markdown: 'second page', images: [] }
      ],
      usage_info: { pages_processed: 2 }
    }
  }
}

const input = ({ request }: Format, streamed: boolean): AdapterInput<never> =>
  ({
    request,
    route: { providerId: 'x', model: 'm', modelId: 'x/m' },
    quirks: {},
    streamed
  }) as unknown as AdapterInput<never> // each request belongs to its adapter

/** Prints text bytes as text: vectors stay JSON. */
function printBytes (_: string, value: unknown): unknown {
  const { type, data } = Object(value) as { readonly type?: unknown, readonly data?: readonly number[] }
  return type === 'Buffer' && data !== undefined ? Buffer.from(data).toString() : value
}

/**
 * Returns the events of an answer as JSON; `undefined` for an error, which every fault of a reader becomes.
 */
function readAs (
  reader: BodyFormat<unknown>,
  answer: unknown,
  frames: readonly Frame[] = []
): string | undefined {
  const bytes = Buffer.from(JSON.stringify(answer) ?? '')
  const read = (): readonly unknown[] => {
    switch (reader.as) {
      case 'json':
        return reader.read(answer, bytes)
      case 'bytes':
        return reader.read(bytes)
      case 'text':
        return reader.read(bytes.toString())
      case 'events':
        return readEvents([asSse(frames)], reader.reader)
      case 'pieces':
        throw new TypeError('sound has no members')
    }
  }
  try {
    return JSON.stringify(read(), printBytes)
  } catch (error) {
    return error instanceof TypeError && error.message === 'sound has no members'
      ? (t.fail(error.message) as never)
      : undefined
  }
}

/**
 * Returns the faults of all answers with one member changed: a lost word whose member is still there, and an
 * empty answer that the change does not explain.
 */
function faultsOf (
  value: object,
  { words, empty = /(?!)/, mayBeEmpty = /(?!)/ }: Pick<Format, 'words' | 'empty' | 'mayBeEmpty'>,
  read: (variant: unknown) => string | undefined
): string[] {
  return [...pathsOf(value)].flatMap(path => {
    const before = at(value, path)
    return Object.entries(changes).flatMap(([name, change]) => {
      const member = change(before)
      if (member === skip) return []
      const events = read(changed(value, path, member))
      const destroyed = JSON.stringify(before) ?? ''
      const lost = words.filter(
        word =>
          events !== undefined && !destroyed.includes(word.replaceAll('"', '')) && !events.includes(word)
      )
      const what = `${path.join('.')}: ${name}`
      const isEmpty = events !== undefined && empty.test(events) && !mayBeEmpty.test(what)
      return lost.length === 0 && !isEmpty ? [] : [`${what}: without ${lost.join()} in ${events}`]
    })
  })
}

for (const [name, format] of Object.entries(formats)) {
  const { whole, frames, words } = format
  const adapter = format.adapter as AnyAdapter // of these kinds
  t.test(`${name}: an answer with one member changed is read correctly or an error`, async t => {
    const head = {
      status: 200,
      headers: { 'content-type': frames === undefined ? 'application/json' : 'text/event-stream' }
    }
    const open = (): BodyFormat<unknown> => adapter.read(head, input(format, frames !== undefined))
    if (whole !== undefined) {
      const events = readAs(open(), whole)
      for (const word of words) t.ok(events?.includes(word), `${word} in ${events}`)
      t.same(
        faultsOf(whole, format, variant => readAs(open(), variant)),
        []
      )
    }
    if (frames !== undefined) {
      const events = readAs(open(), undefined, frames)
      for (const word of words) t.ok(events?.includes(word), `${word} in ${events}`)
      t.same(
        frames.flatMap(([event, data], place) =>
          faultsOf(data as object, format, variant =>
            readAs(open(), undefined, frames.with(place, [event, variant as object]))
          ).map(fault => `message ${place}: ${fault}`)
        ),
        []
      )
      for (const filler of ['', 'null', '[]', '1', '{}', '{"type":"ping"}']) {
        for (let place = 0; place < frames.length; place++) {
          const read = readAs(open(), undefined, frames.toSpliced(place, 0, [undefined, filler]))
          t.ok(
            read === undefined || words.every(word => read.includes(word)),
            `${filler} before message ${place}: ${read}`
          )
        }
      }
    }
  })
}

const lists: ReadonlyArray<readonly [name: string, list: ModelList, answer: object]> = [
  [
    'the dialect',
    chatCompletionsModels,
    {
      object: 'list',
      data: [
        { id: 'one', object: 'model', created: 1, owned_by: 'x' },
        { id: 'two', object: 'model' }
      ]
    }
  ],
  [
    'Anthropic',
    anthropicModels,
    {
      data: [
        { type: 'model', id: 'one', display_name: 'One', created_at: '2025-01-01T00:00:00Z' },
        { type: 'model', id: 'two' }
      ],
      has_more: false,
      first_id: 'one',
      last_id: 'two'
    }
  ],
  [
    'Google',
    googleModels,
    {
      models: [
        {
          name: 'models/one',
          displayName: 'One',
          supportedGenerationMethods: ['generateContent'],
          inputTokenLimit: 9
        },
        { name: 'models/two', supportedGenerationMethods: ['generateContent'] }
      ]
    }
  ]
]

for (const [name, list, answer] of lists) {
  t.test(
    `the model list of ${name}: with one member changed it has the other models or is an error`,
    async t => {
      const read = (variant: unknown): string | undefined => {
        try {
          return JSON.stringify(list.read(variant))
        } catch {
          return undefined
        }
      }
      t.match(read(answer), /one.*two/)
      t.same(faultsOf(answer, { words: ['one', 'two'] }, read), [])
    }
  )
}

t.test('a web page in place of a transcript or audio is an error, whatever its content type', async t => {
  const { transcription, 'speech in a stream': speech } = formats
  if (transcription === undefined || speech === undefined) throw new Error('no such formats')
  const page = Buffer.from('\n<!DOCTYPE html><title>Sign in</title>')
  const request = { ...transcription.request, model: ['x/whisper-1'], format: 'srt' }
  const given = input({ ...transcription, request }, false)
  // a model that writes subtitles alone; others are asked for JSON
  const traits = { transcription: { formats: ['srt'] } } as const
  const asked = { ...given, route: { ...given.route, traits } }
  for (const type of ['text/html', 'text/plain', 'application/x-subrip']) {
    const head = { status: 200, headers: { 'content-type': type } }
    const reader = (transcription.adapter as AnyAdapter).read(head, asked)
    const read = (text: string): unknown => reader.as === 'text' ? reader.read(text) : t.fail(reader.as)
    t.throws(() => read(page.toString()), { code: 'upstream_invalid_response' }, type)
    t.match(read('1\n00:00:00,000 --> 00:00:01,000\n<i>html</i>'), [{ type: 'transcript-end' }])
  }
  const head = { status: 200, headers: { 'content-type': 'application/xml' } }
  t.not((speech.adapter as AnyAdapter).read(head, input(speech, false)).as, 'pieces', 'XML is no sound')
})
