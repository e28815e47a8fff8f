import assert from 'node:assert/strict'
import t from 'tap'
import fc from 'fast-check'
import { GatewayError } from '../../../lib/core/errors.ts'
import { readStream } from '../../../lib/providers/chat-completions/chat-stream.ts'
import { TextTemplate } from '../../../lib/providers/text-template.ts'
import { ask } from '../../support/chat-completions.ts'
import { printedAnswer } from '../../support/printed-answer.ts'
import { readEvents } from '../../support/read-events.ts'
import { cutAt } from '../../support/read-pieces.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

interface Parts {
  readonly id: string
  readonly created: string
  /** Behind the time. */
  readonly fields: string
  readonly role: string
  readonly texts: ReadonlyArray<readonly [chunk: string, content: string]>
}

const usual = '"choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}]'
/** Chunks of text; of all but the usual ones more is read than their text, or they are read otherwise. */
const texts = [
  usual, usual, usual, usual, usual, '"choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":"stop"}]', '"choices":[{"index":1,"delta":{"content":TEXT},"finish_reason":null}]',
  `${usual},"usage":{"prompt_tokens":3,"completion_tokens":2}`, `${usual},"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":2}}`, `${usual},"more":1`,
  '"choices":[{"delta":{"content":TEXT},"finish_reason":null}]', '"choices":[{"index":0,"delta":{"reasoning":"r"},"finish_reason":null}]'
]
const role = '"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]'
const roles = [role, role, role, '"choices":[{"index":1,"delta":{"role":"assistant"}}]', '"choices":[{"index":0,"delta":{"role":"assistant","content":"now"}}]', '"choices":[]']

const streams: fc.Arbitrary<Parts> = fc.record({
  id: fc.constantFrom('"a"', '"b-2"', '"chatcmpl-3"', '"a"', '"b-2"', '"é"', '""', '"\\""', '1'),
  created: fc.constantFrom('1', '2', '1763686800', '17', '"now"'),
  fields: fc.constantFrom('', '', '', '"more":1,'),
  role: fc.constantFrom(...roles),
  texts: fc.array(fc.tuple(fc.constantFrom(...texts), fc.constantFrom('"a"', '"é 🚀"', '"\\n"', '""', '"x\\u00e9"')), { minLength: 1, maxLength: 4 })
})

function bytesOf ({ id, created, fields, role, texts }: Parts): Buffer {
  const chunk = (choices: string): string => `data: {"id":${id},"object":"chat.completion.chunk","created":${created},"model":"m",${fields}${choices}}\n\n`
  return Buffer.from([role, ...texts.map(([text, content]) => text.replace('TEXT', content)), `"choices":[{"index":${role.includes('"index":1') ? 1 : 0},"delta":{},"finish_reason":"length"}]`].map(chunk).join('') + 'data: [DONE]\n\n')
}

async function outcome (pieces: readonly Buffer[], request: Partial<ChatInput>, textRuns: boolean): Promise<object> {
  try {
    const { messages, characters } = await printedAnswer(pieces, readStream({ ...ask(request, {}, true), textRuns }))
    return { messages: messages.map(message => message.replaceAll(/call_[\da-f]{24}/g, 'call')), characters }
  } catch (error) {
    if (error instanceof GatewayError) return { failure: error.code }
    throw error
  }
}

t.test('a stream is read as if it were the first of its model, however those before it began', async t => {
  const calls = fc.record({ parts: streams, n: fc.constantFrom(undefined, undefined, 1, 2), textRuns: fc.boolean(), cuts: fc.array(fc.nat({ max: 2000 }), { maxLength: 2 }) })
  await fc.assert(fc.asyncProperty(fc.array(calls, { minLength: 2, maxLength: 8 }), async calls => {
    for (const { parts, n, textRuns, cuts } of calls) {
      const pieces = cutAt(bytesOf(parts), cuts)
      const request = { stop: '###', ...n !== undefined && { n } }
      const found = await outcome(pieces, request, textRuns)
      const noTemplates = t.capture(TextTemplate, 'of', () => undefined)
      const alone = await outcome(pieces, request, false)
      noTemplates.restore()
      assert.deepEqual(found, alone)
    }
  }), { numRuns: 800 })
})

t.test('no text is parsed of a stream that begins like the last one of its model', async t => {
  const streamOf = (id: string): Promise<object> => outcome([bytesOf({ id, created: '1', fields: '"system_fingerprint":"own",', role, texts: [[usual, '"a"'], [usual, '"b"']] })], {}, true)
  const made = t.capture(TextTemplate, 'of', TextTemplate.of.bind(TextTemplate))
  const first = await streamOf('"first"')
  t.equal(made().length, 1)
  t.same(await streamOf('"second"'), first)
  t.same(made(), [])
})

t.test('a chunk is parsed that has more than a text for later', async t => {
  const chunk = (id: string, choice: string): string => `data: {"id":"${id}","object":"chat.completion.chunk","created":1,"choices":[{"index":0,${choice}}]}\n\n`
  for (const more of ['"delta":{"content":"a"},"stop_reason":"###"', '"delta":{"content":"a","function_call":{"arguments":"a"}}', '"delta":{"content":"a","tool_calls":[{"index":0,"id":"c"}]}']) {
    const [first, second] = ['1', '2'].map(id => readEvents([Buffer.from([
      '"delta":{"role":"assistant"}', more, '"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"b"}}]}', '"delta":{},"finish_reason":"stop"'
    ].map(choice => chunk(id, choice)).join('') + 'data: [DONE]\n\n')], readStream(ask({ stop: '###' }, {}, true))))
    const withoutMadeIds = (events: readonly ChatEvent[] | undefined): unknown => JSON.parse(JSON.stringify(events).replaceAll(/call_[\da-f]{24}/g, 'call'))
    t.same(withoutMadeIds(second), withoutMadeIds(first), more)
  }
})

t.test('a text with another id than its role says nothing of the next stream', async t => {
  const chunk = (id: string, created: string, delta: string): string => `data: {"id":"${id}","object":"o","created":${created},"choices":[{"index":0,"delta":${delta}}]}\n\n`
  const read = async (...chunks: string[]): Promise<unknown> => await printedAnswer([Buffer.from(chunks.join('') + 'data: [DONE]\n\n')], readStream({ ...ask({}, {}, true), textRuns: true }))
    .then(({ messages }) => messages, (error: unknown) => error instanceof GatewayError ? error.code : error)
  const role = chunk('a', '1', '{"role":"assistant"}')
  const last = chunk('a', '1', '{},"finish_reason":"stop"')
  t.type(await read(role, chunk('abc', '1', '{"content":"one"}'), last), Array)
  t.equal(await read(role, chunk('a', '1:1', '{"content":"not JSON"}'), last), 'upstream_invalid_response')
})

t.test('a stream that only seems to begin like the last one is read as what it is', async t => {
  const parts = (role: string, text: string): Parts => ({ id: '"a"', created: '1', fields: '', role, texts: [[text, '"a"'], [text, '"b"']] })
  const [second, none] = [role.replace(':0', ':1'), '"choices":[]']
  const textOfSecond = usual.replace(':0', ':1')
  const pairs: ReadonlyArray<readonly [before: Parts, stream: Parts, n: number]> = [
    [parts(role, usual), parts(second, usual), 1], // of a choice that was not requested
    [parts(second, textOfSecond), parts(second, textOfSecond), 2],
    [parts(none, textOfSecond), parts(none, textOfSecond), 1]
  ]
  for (const [index, [before, stream, n]] of pairs.entries()) {
    const read = (modelId: string, stream: Parts, n: number): Promise<unknown> => {
      const question = ask({ n }, {}, true)
      return printedAnswer([bytesOf(stream)], readStream({ ...question, route: { ...question.route, modelId }, textRuns: true })).then(({ messages }) => messages, String)
    }
    await read(`x/known-${index}`, before, 1)
    t.same(await read(`x/known-${index}`, stream, n), await read(`x/alone-${index}`, stream, n), `${index}`)
  }
})
