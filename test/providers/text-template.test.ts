/**
 * Texts extracted from a stream by their surroundings give the same answer as a parser.
 */

import assert from 'node:assert/strict'
import t from 'tap'
import fc from 'fast-check'
import { GatewayError } from '../../lib/core/errors.ts'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { googleChat } from '../../lib/providers/google/index.ts'
import { ProviderFailure } from '../../lib/providers/provider-failure.ts'
import { TextTemplate } from '../../lib/providers/text-template.ts'
import { readerAs } from '../support/adapters.ts'
import { ask as anthropicAsk } from '../support/anthropic-answers.ts'
import { ask as chatAsk } from '../support/chat-completions.ts'
import { googleAsk } from '../support/google.ts'
import { printedAnswer, type PrintedAnswer } from '../support/printed-answer.ts'
import { cutAt } from '../support/read-pieces.ts'
import { rounds } from '../support/rounds.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Adapter, AdapterInput, StreamReader } from '../../lib/providers/provider.ts'

/** A stream in which the byte 0xff replaces this character. */
const invalidByte = '\ue000'

interface Dialect {
  readonly adapter: Adapter<ChatInput, ChatEvent>
  readonly ask: AdapterInput<ChatInput>
  readonly first: string
  /** A message with the shape of the last one, as the first. */
  readonly plain: string
  readonly text: fc.Arbitrary<string>
  readonly other: readonly string[]
  readonly last: string
}

const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[^ -~]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
/** Texts as written in JSON, some of which are invalid. */
const literal = fc.oneof(
  {
    weight: 40,
    arbitrary: fc
      .tuple(fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom(JSON.stringify, escaped))
      .map(([text, print]) => print(text))
  },
  {
    weight: 8,
    arbitrary: fc.constantFrom('"a"', '"two words"', '"\\\\"', '"\\""', '"}}"', `"${invalidByte}"`)
  },
  { weight: 1, arbitrary: fc.constantFrom('"a\tb"', '"\\x"', '"\\u12"', '"a"b"') }
)

const count = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('0', '1', '27', '1300', '123456789012345') },
  { weight: 2, arbitrary: fc.constantFrom('1.5', '1e3', '-1', '12345678901234567890') },
  { weight: 1, arbitrary: fc.constantFrom('007', '1.', '', '1 2') }
)

const data = (json: string): string => `data: ${json}\n\n`
const withCrlf = (frame: string): string => frame.replaceAll(/\r?\n/g, '\r\n')

const chunk = (delta: string, finish = 'null'): string =>
  data(`{"id":"c","model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}`)

const named = (name: string, json: string): string => `event: ${name}\n${data(json)}`
const delta = (fields: string, index = 0, padding = ''): string =>
  named(
    'content_block_delta',
    `{"type":"content_block_delta","index":${index},"delta":{${fields}}${padding}}`
  )
const block = (index: number, type: string): string =>
  named(
    'content_block_start',
    `{"type":"content_block_start","index":${index},"content_block":{"type":"${type}"}}`
  )
const endOfBlock = (index: number): string =>
  named('content_block_stop', `{"type":"content_block_stop","index":${index}}`)

const candidate = (parts: string, more = ''): string =>
  `{"content":{"parts":[${parts}],"role":"model"},"index":0${more}}`
const response = (candidates: string, usage = '"promptTokenCount":8,"candidatesTokenCount":2'): string =>
  data(`{"candidates":[${candidates}],"usageMetadata":{${usage}},"modelVersion":"m"}`)

const dialects: Readonly<Record<string, Dialect>> = {
  'chat completions': {
    adapter: chatCompletions,
    ask: chatAsk({}, {}, true),
    first: chunk('{"role":"assistant","content":""}') + chunk('{"content":"a"}'),
    plain: chunk('{"content":"a"}'),
    text: literal.map(text => chunk(`{"content":${text}}`)),
    other: [
      ': ping\n\n',
      chunk('{"reasoning_content":"r"}'),
      chunk('{"content":"a","unknown":1}'),
      chunk('{"content":"a","content":"b"}'),
      chunk('{"content":""}'),
      'event: other\ndata: 1\n\n',
      named(
        'error',
        '{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}'
      ),
      withCrlf(chunk('{"content":"a"}')),
      'data: {"error":{"message":"no"}}\n\n'
    ],
    last: chunk('{}', '"stop"') + 'data: [DONE]\n\n'
  },
  Anthropic: {
    adapter: anthropicChat,
    ask: anthropicAsk({}, undefined, true),
    first:
      named('message_start', '{"type":"message_start","message":{"id":"m","usage":{"input_tokens":5}}}') +
      block(0, 'text') +
      delta('"type":"text_delta","text":"a"'),
    plain: delta('"type":"text_delta","text":"a"'),
    text: fc
      .tuple(literal, fc.nat({ max: 4 }))
      .map(([text, spaces]) => delta(`"type":"text_delta","text":${text}`, 0, ' '.repeat(spaces))),
    other: [
      ': ping\n\n',
      named('ping', '{"type":"ping"}'),
      delta('"type":"text_delta","text":"a","text":"b"'),
      delta('"type":"text_delta","text":""'),
      delta('"type":"text_delta","text":"no block of text"', 1),
      block(1, 'thinking') + delta('"type":"thinking_delta","thinking":"t"', 1),
      endOfBlock(0),
      endOfBlock(0) + block(0, 'text'),
      endOfBlock(0) + block(0, 'thinking'),
      delta(
        '"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a.example"}'
      ) +
        endOfBlock(0) +
        block(0, 'text'),
      data('{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"unnamed"}}'),
      data('{"type":"content_block_stop","index":0}'),
      delta('"type":"text_delta","text":"a"', 0, ',"index":1'),
      delta('"type":"text_delta","text":"a"', 0, '\n'),
      delta('"type":"text_delta","text":"a"').replace(': content', ': other'),
      withCrlf(delta('"type":"text_delta","text":"a"')),
      named('error', '{"error":{"type":"overloaded_error"}}')
    ],
    last:
      named(
        'message_delta',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}'
      ) + named('message_stop', '{"type":"message_stop"}')
  },
  Google: {
    adapter: googleChat,
    ask: googleAsk({ n: 2 }),
    first: response(candidate('{"text":"a"}')).repeat(2),
    plain: response(candidate('{"text":"a"}')),
    text: fc
      .tuple(literal, count)
      .map(([text, count]) =>
        response(candidate(`{"text":${text}}`), `"promptTokenCount":8,"candidatesTokenCount":${count}`)
      ),
    other: [
      ': ping\n\n',
      response(candidate('{"text":"t","thought":true}')),
      response(candidate('{"text":"a"},{"text":"b"}')),
      response(candidate('{"text":"a"}').replace('0}', '1}')).repeat(3),
      response(candidate('{"text":"a"}', ',"finishReason":"STOP"')),
      response(candidate('{"text":"a"}'), '"promptTokenCount":9'),
      response(candidate('{"text":"a","text":"b"}')),
      response(candidate('{"text":""}')),
      response(''),
      withCrlf(response(candidate('{"text":"a"}'))),
      data('{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}'),
      data('{"error":{"message":"no"}}')
    ],
    last: response(
      '{"index":0,"finishReason":"STOP"},{"index":1,"finishReason":"STOP"}',
      '"totalTokenCount":1'
    ).replace('"usageMetadata":{"totalTokenCount":1},', '')
  }
}

function readerOf ({ adapter, ask }: Dialect): StreamReader<ChatEvent> {
  return readerAs(adapter, { ...ask, streamed: true }, 'events').reader
}

/** Returns the printed stream, or the error it fails with. */
async function outcome (
  pieces: readonly Buffer[],
  reader: StreamReader<ChatEvent>
): Promise<Partial<PrintedAnswer> & { readonly failure?: string }> {
  try {
    return await printedAnswer(pieces, reader)
  } catch (error) {
    if (error instanceof ProviderFailure) return { failure: error.message }
    if (error instanceof GatewayError) return { failure: error.code }
    throw error
  }
}

for (const [name, dialect] of Object.entries(dialects)) {
  t.test(`texts of ${name}`, async t => {
    let fits = 0
    const { value: deltaText } = Object.getOwnPropertyDescriptors(TextTemplate.prototype).deltaText
    t.capture(TextTemplate.prototype, 'deltaText', function (this: TextTemplate, data: string) {
      const text = deltaText?.call(this, data)
      if (text !== undefined) fits++
      return text
    })
    let failures = 0
    const frames = fc.array(
      fc.oneof(
        { weight: 8, arbitrary: dialect.text },
        { weight: 2, arbitrary: fc.constantFrom(...dialect.other) }
      ),
      { maxLength: 24 }
    )
    const streams = fc.record({
      frames,
      lineEnd: fc.constantFrom('lf', 'crlf'),
      cuts: fc.array(fc.nat({ max: 6000 }), { maxLength: 6 })
    })
    await fc.assert(
      fc.asyncProperty(streams, async ({ frames, lineEnd, cuts }) => {
        const text = dialect.first + frames.join('') + dialect.last
        const bytes = Buffer.from(
          Buffer.from(lineEnd === 'lf' ? text : withCrlf(text))
            .toString('latin1')
            .replaceAll(Buffer.from(invalidByte).toString('latin1'), '\xff'),
          'latin1'
        )
        const pieces = cutAt(bytes, cuts)
        const answer = await outcome(pieces, readerOf(dialect))
        const noTemplates = t.capture(TextTemplate.prototype, 'learn', () => undefined)
        const parsed = await outcome(pieces, readerOf(dialect))
        noTemplates.restore()
        if (answer.failure !== undefined) failures++
        assert.deepEqual(answer, parsed)
      }),
      { numRuns: rounds(400) }
    )
    t.ok(fits > rounds(500), `${fits} texts were not parsed`)
    t.ok(failures > rounds(20), `${failures} failed`)
  })
}

t.test(
  'lines without a field name are not part of a message, even if the previous message had them there',
  async t => {
    const dialect = dialects['Google']
    if (dialect === undefined) return t.fail('no dialect')
    const [head, rest] = ['{"candidates":', '[{"content":{"parts":[{"text":"a"}]},"index":0}]}']
    const pieces = [
      `data: ${head}\ndata: ${rest}\n\n`,
      `data: ${head}\ndata: ${rest}\n\n`,
      `data: ${head}\n${rest}\n\n`,
      dialect.last
    ].map(piece => Buffer.from(piece))
    t.match(await outcome(pieces, readerOf(dialect)), { failure: 'upstream_invalid_response' })
  }
)

t.test('an unfinished message is not skipped if the next line resembles a complete one', async t => {
  for (const [name, dialect] of Object.entries(dialects)) {
    for (const change of [(frame: string) => frame, withCrlf]) {
      const pieces = [dialect.first, 'data: 1\n', dialect.plain, dialect.last].map(piece =>
        Buffer.from(change(piece))
      )
      t.match(await outcome(pieces, readerOf(dialect)), { failure: 'upstream_invalid_response' }, name)
      t.equal((await outcome(pieces.toSpliced(1, 1), readerOf(dialect))).failure, undefined, name)
    }
  }
})
