import fc from 'fast-check'
import t from 'tap'
import { PrintedJson } from '../../lib/core/reply.ts'
import { messageReply } from '../../lib/dialects/messages/complete.ts'
import { responseReply } from '../../lib/dialects/responses/complete.ts'
import { startedResponse } from '../../lib/dialects/responses/response-object.ts'
import { directReader as readerOfAnthropic } from '../../lib/providers/anthropic/direct.ts'
import { directReader as readerOfOpenai } from '../../lib/providers/responses/direct.ts'
import { parseResponseBytes } from '../../lib/upstream/read-response.ts'
import { ask } from '../support/chat-completions.ts'
import { holds } from '../support/property.ts'
import { responsesStart } from '../support/responses.ts'
import { callWith } from '../dialects/messages/answer.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { MessagesContext } from '../../lib/dialects/messages/input.ts'
import type { AnswerStart, ChatBatch } from '../../lib/dialects/dialect.ts'
import type { BodyReader } from '../../lib/providers/provider.ts'
import type { ResponsesRequest } from '../../schemas/responses.ts'

/** A dialect, and an answer in it with values that no other place has. */
interface Spoken {
  readonly reader: (modelId: string) => BodyReader<ChatEvent>
  readonly shown: (events: readonly ChatEvent[], request?: Partial<ResponsesRequest>) => string
  readonly answer: object
}

const usedTokens = { input_tokens: 4711, output_tokens: 4712 }
const details = { input_tokens_details: { cached_tokens: 4713 }, output_tokens_details: { reasoning_tokens: 4714 } }
const message = { id: 'ID2', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'TEXT', annotations: [], logprobs: [] }] }

function readerOf (directReader: typeof readerOfOpenai): Spoken['reader'] {
  return modelId => directReader({ ...ask(), route: { providerId: 'x', model: 'm', modelId } })
}

function textOf (answer: unknown): string {
  return answer instanceof PrintedJson ? String(answer.json) : 'no text'
}

const dialects: Readonly<Record<string, Spoken>> = {
  responses: {
    reader: readerOf(readerOfOpenai),
    shown: (events, request) => {
      const { context, ...start } = responsesStart({ store: false, ...request })
      // Its own id is another one each time.
      return textOf(responseReply({ ...start, context: { ...context, id: 'resp_1' } }, [{ call: start.call, route: start.route, events }]))
    },
    answer: { ...startedResponse(responsesStart()), id: 'ID1', model: 'gpt-5', status: 'completed', created_at: 1763686801, completed_at: 1763686802, output: [message], usage: { ...usedTokens, ...details, total_tokens: 4715 } }
  },
  messages: {
    reader: readerOf(readerOfAnthropic),
    shown: events => {
      const call = callWith()
      const start: AnswerStart<MessagesContext> = {
        head: { type: 'response-start', id: 'a', model: 'x/m', createdSeconds: 7 }, call, route: call.routes[0], context: call.context as MessagesContext // made with it
      }
      const batches: ChatBatch[] = [{ call, route: start.route, events }]
      return textOf(messageReply(start, batches))
    },
    answer: {
      id: 'ID1', type: 'message', role: 'assistant', model: 'claude', content: [{ type: 'text', text: 'TEXT' }], stop_reason: 'end_turn', stop_sequence: null,
      usage: { ...usedTokens, cache_read_input_tokens: 4713, cache_creation: { ephemeral_1h_input_tokens: 4714 } }
    }
  }
}

let models = 0

/** Returns what reads answers of one model, as an attempt does. */
function model ({ reader }: Spoken): { readonly read: (bytes: Buffer) => readonly ChatEvent[], readonly parse: (bytes: Buffer) => readonly ChatEvent[], readonly isKnown: (bytes: Buffer) => boolean } {
  const json = reader(`x/${models++}`)
  if (json.as !== 'json') throw new TypeError('a complete answer is JSON')
  const parse = (bytes: Buffer): readonly ChatEvent[] => json.read(parseResponseBytes(bytes), bytes)
  return { parse, read: bytes => json.readBytes?.(bytes) ?? parse(bytes), isKnown: bytes => json.readBytes?.(bytes) !== undefined }
}

/** Prints what a caller and the usage record get of an answer. */
function outcome ({ shown }: Spoken, read: () => readonly ChatEvent[], request?: Partial<ResponsesRequest>): string {
  try {
    const events = read()
    return JSON.stringify([shown(events, request), events.map(event => event.type === 'direct-answer' ? { ...event, alike: undefined } : event)])
  } catch (error) {
    return String(error)
  }
}

const text = fc.string({ unit: fc.oneof(fc.constantFrom('"', '\\', '\n', 'é', '网', '🚀', '\u2028', '\ud800', '"text":"', '","id":"'), fc.string({ unit: 'grapheme', maxLength: 2 })), maxLength: 8 })
const literal = fc.oneof(
  text.map(value => JSON.stringify(value)),
  fc.constantFrom('""', '"a\\u0062"', '"\\ud83d\\ude80"', '"\\/"', '"a\nb"', '"\\"', '"\\x"', '"a","text":"b"', '"a","id":"b"', '"a"},"x":{"text":"b"', 'null', '7', '"output_text"', '"logprobs"', '"annotations"', `"${'long '.repeat(2000)}"`)
)
const number = fc.oneof(fc.nat().map(String), fc.constantFrom('0', '-0', '-1', '1e2', '007', '1.5', 'null', '"5"', '', '123456789012345', '12345678901234567890', '1,"error":"x"', '1,"input_tokens":2', '1}'))
const changed = fc.dictionary(fc.constantFrom('"ID1"', '"ID2"', '"TEXT"'), literal).chain(texts =>
  fc.dictionary(fc.constantFrom('1763686801', '1763686802', '4711', '4712', '4713', '4714', '4715'), number).map(numbers => ({ ...texts, ...numbers })))
const spaces = fc.constantFrom(undefined, 1, 2, '\t')
/** Changes of all answers of a model. */
const kinds = fc.constantFrom<Record<string, unknown>>(
  {}, { x_note: 'é' }, { usage: null }, { usage: { ...usedTokens, id: 'ID2' } }, { usage: usedTokens }, { created_at: 1763686801.5 }, { store: undefined, truncation: undefined },
  { model: undefined }, { output: [{ ...message, content: [{ type: 'output_text', text: 'TEXT' }] }] }, { output: [{ ...message, type: 'function_call', call_id: 'c', name: 'f' }] },
  { output: [], status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, { content: [{ type: 'tool_use', id: 'ID2', name: 'f', input: { text: 'TEXT' } }] }, { text: 'TEXT' }
)

function written (answer: object, values: Readonly<Record<string, string>>): string {
  let json = JSON.stringify(answer)
  for (const [from, to] of Object.entries(values)) json = json.replaceAll(from, () => to)
  return json
}

for (const [name, spoken] of Object.entries(dialects)) {
  t.test(`${name}: an answer like one before is what it is when it is parsed, whatever stands in its places`, async t => {
    let known = 0
    holds(t, fc.property(kinds, spaces, fc.array(changed, { minLength: 1, maxLength: 3 }), (kind, space, others) => {
      const { parse, read, isKnown } = model(spoken)
      const usual = JSON.stringify({ ...spoken.answer, ...kind }, undefined, space)
      outcome(spoken, () => parse(Buffer.from(usual)))
      return others.every(values => {
        const json = Object.entries(values).reduce((json, [from, to]) => json.replaceAll(from, () => to), usual)
        const bytes = Buffer.from(json)
        if (isKnown(bytes)) known++
        return outcome(spoken, () => read(bytes)) === outcome(spoken, () => model(spoken).parse(bytes))
      })
    }), { numRuns: 2000 })
    t.ok(known > 100, `${known} of them were not parsed`)
  })

  t.test(`${name}: bytes that were changed, cut or put together anyhow are read as they are parsed`, async t => {
    const plain = written(spoken.answer, { '"TEXT"': '"Héllo"' })
    holds(t, fc.property(fc.nat(plain.length), fc.nat(6), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '0', '1', 'e', ' ', 'é'), maxLength: 4 }), (at, removed, added) => {
      const { parse, read } = model(spoken)
      parse(Buffer.from(plain))
      const bytes = Buffer.from(plain.slice(0, at) + added + plain.slice(at + removed))
      return outcome(spoken, () => read(bytes)) === outcome(spoken, () => model(spoken).parse(bytes))
    }), { numRuns: 2000 })
  })

  t.test(`${name}: which answers need no parser`, async t => {
    const fits = (later: object, values: Readonly<Record<string, string>>, before = later): boolean => {
      const { parse, isKnown } = model(spoken)
      parse(Buffer.from(JSON.stringify({ ...spoken.answer, ...before })))
      return isKnown(Buffer.from(written({ ...spoken.answer, ...later }, values)))
    }
    t.equal(fits({}, { ID1: 'b', TEXT: '网关', 4711: '1', 4712: '0' }), true, 'one with another id, text and counts')
    t.equal(fits({ usage: null }, {}), true, 'one without counts, as before')
    t.equal(fits({ model: 'other' }, {}, {}), false, 'one of another model')
    t.equal(fits({ x_note: 'n'.repeat(5000) }, {}), false, 'one with much around its text')
    const call = name === 'responses' ? { output: [{ ...message, type: 'function_call', call_id: 'c', name: 'f' }] } : { content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] }
    t.equal(fits(call, {}), false, 'one with a tool call')
  })
}

t.test('a response that repeats what its request says is looked through', async t => {
  const spoken = dialects['responses']
  if (spoken === undefined) throw new TypeError('no such dialect')
  const bytes = Buffer.from(JSON.stringify({ ...spoken.answer, instructions: undefined }))
  const { parse, read } = model(spoken)
  parse(bytes)
  for (const instructions of ['one', 'two']) {
    const request = { instructions, previous_response_id: `resp_${instructions}` }
    for (const other of [request, { instructions }]) {
      t.equal(outcome(spoken, () => read(bytes), other), outcome(spoken, () => model(spoken).parse(bytes), other))
      t.match(outcome(spoken, () => read(bytes), other), instructions)
    }
  }
})
