import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { ResponseReader } from '../../../lib/providers/google/response-reader.ts'
import { textMessage } from '../../../lib/providers/google/text-message.ts'
import { TextTemplate } from '../../../lib/providers/text-template.ts'
import { streamOf } from '../../support/adapters.ts'
import { googleAsk } from '../../support/google.ts'
import { readEvents } from '../../support/read-events.ts'
import { sse } from '../../support/google-answers.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

t.test('a stream that ends inside a candidate is an error', async t => {
  const one = { candidates: [{ index: 0, content: { parts: [{ text: 'half' }] }, finishReason: 'STOP' }] }
  const half = { candidates: [{ index: 0, content: { parts: [{ text: 'half' }] } }] }
  const interrupted = { code: 'upstream_stream_interrupted', fault: 'transient' }
  t.throws(() => readEvents([sse(half)], streamOf(googleChat, googleAsk())), interrupted)
  t.throws(() => readEvents([], streamOf(googleChat, googleAsk())), interrupted, 'nothing at all')
  t.throws(() => readEvents([sse({ usageMetadata: {} })], streamOf(googleChat, googleAsk())), interrupted)
  const second = { candidates: [{ index: 1, content: { parts: [{ text: 'half' }] } }] }
  t.throws(
    () => readEvents([sse(one, second)], streamOf(googleChat, googleAsk({ n: 2 }))),
    interrupted,
    'one of two'
  )
  t.doesNotThrow(
    () => readEvents([sse(one)], streamOf(googleChat, googleAsk({ n: 2 }))),
    'as in a complete answer, there may be fewer'
  )
  t.doesNotThrow(() => readEvents([sse(one)], streamOf(googleChat, googleAsk())))
  t.throws(
    () =>
      readEvents([sse(half), Buffer.from('data: {"candidates":[{"ind')], streamOf(googleChat, googleAsk())),
    { code: 'upstream_invalid_response' }
  )
})

/** Picks an item with equal probability, in the same sequence in every run. */
let state = 1
function pick<T> (...all: T[]): T {
  state = (state * 1103515245 + 12345) % 2147483648
  return all[Math.floor(state / 2147483648 * all.length)] as T // an index in the list
}

function message (): object {
  const part = {
    text: pick(
      'a',
      'two words',
      '"quoted"',
      'ends in \\',
      '\\"',
      'line\n',
      'Grüße',
      '数 🦊',
      '","thought":true,"x":"',
      '"usageMetadata":{"a": 1}',
      ''
    )
  }
  const candidate = {
    content: {
      parts: [
        pick<object>(
          part,
          part,
          part,
          { ...part, thought: true },
          { thoughtSignature: 'c2ln', ...part },
          { functionCall: { name: 'f' } }
        )
      ]
    },
    ...pick<object>({}, {}, { index: 0 }, { index: 1 }),
    ...pick<object>(
      {},
      {},
      {},
      {},
      { finishReason: 'STOP' },
      { tokenCount: pick(1, 2) },
      { logprobsResult: { chosenCandidates: [{ token: 'a', logProbability: -1 }] } }
    )
  }
  const counts = {
    promptTokenCount: 8,
    candidatesTokenCount: pick(0, 5, 17, 123),
    ...pick({}, {}, { thoughtsTokenCount: pick(1, 20) })
  }
  const usage = pick<object>({ usageMetadata: counts }, { usageMetadata: counts }, {})
  return pick(0, 0, 0, 1) === 0
    ? { candidates: [candidate], ...usage, modelVersion: 'm-2.5' }
    : { ...usage, candidates: [candidate, ...pick<object[]>([], [candidate])] }
}

t.test('messages that skip the parser give the same events as parsed ones', async t => {
  let unparsed = 0
  for (let run = 0; run < 400; run++) {
    const given = message()
    const finish = {
      candidates: [
        { index: 0, finishReason: 'STOP' },
        { index: 1, finishReason: 'STOP' }
      ]
    }
    const others = Array.from({ length: 6 }, () =>
      pick(message(), anotherText(given), anotherText(given), anotherText(given))
    )
    const messages = pick([given, ...others, finish], [finish, given, ...others])
    const expected: ChatEvent[] = []
    const reader = new ResponseReader({ n: 2 })
    for (const each of messages) reader.read(each, expected)
    reader.end(expected)
    const events = readEvents([sse(...messages)], streamOf(googleChat, googleAsk({ n: 2 })))
    t.same(withoutIds(events), withoutIds(expected), JSON.stringify(messages))
    unparsed += messages.filter(
      each =>
        templateOf(JSON.stringify(given)).deltaText(JSON.stringify(each)) !== undefined
    ).length
  }
  t.ok(unparsed > 300, `${unparsed} were not parsed`)
})

function templateOf (message: string): TextTemplate {
  const template = new TextTemplate(textMessage)
  template.learn(message)
  return template
}

/** Returns a message that differs in its text and its counts. */
function anotherText (given: object): object {
  const text = JSON.stringify(pick('b', 'another', 'a\\', '"', '\t', 'Ü'))
  return JSON.parse(JSON.stringify(given)
    .replace(/"text":"(?:[^"\\]|\\.)*"/, () => `"text":${text}`)
    .replace(/(TokenCount":)\d+/g, (_, name) => `${name}${pick(0, 7, 1000)}`)) as object // as printed
}

function withoutIds (events: readonly ChatEvent[]): unknown {
  return JSON.parse(JSON.stringify(events).replaceAll(/call_[0-9a-f]{24}/g, 'call'))
}

t.test('a message that only resembles the previous one is read correctly', async t => {
  const text = (literal: string, tokens: string): string =>
    `{"candidates":[{"content":{"parts":[{"text":"${literal}"}]}}],"usageMetadata":{"candidatesTokenCount":${tokens}}}`
  const template = templateOf(text('a', '5'))
  const fits = (literal: string, tokens = '7'): unknown => template.deltaText(text(literal, tokens))
  t.equal(fits('b'), 'b')
  t.equal(fits('\\n\\u00e9 \\"'), '\né "')
  for (const [literal, tokens] of [
    ['', '7'],
    ['\t', '7'],
    ['\\x', '7'],
    ['\\', '7'],
    ['b', '07'],
    ['b', '7.5'],
    ['b', '-7'],
    ['b', ''],
    ['b', '7} '],
    ['b"},{"text":"c', '7']
  ] as const) {
    t.equal(fits(literal, tokens), undefined, `${literal} ${tokens}`)
  }
  const nested = '{"candidates":[{"content":{"parts":[{"text":"a"}]},"usageMetadata":{},"index":1}]}'
  t.equal(templateOf(nested).deltaText(nested), undefined, 'an index is no count')
  const twice = '{"candidates":[{"content":{"parts":[{"text":"a","text":"b"}]}}]}'
  t.equal(templateOf(twice).deltaText(twice), undefined, 'the last of two holds')
})
