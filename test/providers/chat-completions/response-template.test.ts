import fc from 'fast-check'
import t from 'tap'
import { PrintedJson } from '../../../lib/core/reply.ts'
import { printCompletion } from '../../../lib/dialects/chat-completions/print-completion.ts'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readResponse } from '../../../lib/providers/chat-completions/chat-response.ts'
import { ResponseTemplateCache, responsesOf } from '../../../lib/providers/chat-completions/response-template.ts'
import { readTextResponse } from '../../../lib/providers/chat-completions/text-response.ts'
import { ask } from '../../support/chat-completions.ts'
import { holds } from '../../support/property.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const read = (value: unknown): ChatEvent[] => readResponse(value, ask())

/** Values of a response as they are written. */
interface Written {
  readonly id: string
  readonly created: string
  readonly content: string
  readonly usage: string
}

const usual: Written = { id: '"a1"', created: '1763686800', content: '"Hello"', usage: '{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}' }

/** Members in the order of their names, with white space around them. */
function response ({ id, created, content, usage }: Written, names: readonly string[] = ['id', 'created', 'choices', 'usage'], space = '', more = ''): string {
  const values: Record<string, string> = {
    id,
    created,
    usage,
    object: '"chat.completion"',
    model: '"m"',
    service_tier: '"default"',
    system_fingerprint: '"fp"',
    choices: `[${space}{"index":0,"message":{"role":"assistant","content":${space.slice(0, 1)}${content},"refusal":null${more}},"finish_reason":"stop"}]`
  }
  return `{${space}${names.map(name => `"${name}":${space}${values[name] ?? 'null'}`).join(`${space},${space}`)}${space}}`
}

const bytesOf = (json: string): Buffer => Buffer.from(json)

/** Returns the events of a response by what is known of others, and whether that was enough. */
function readKnown (known: ResponseTemplateCache, bytes: Buffer): { readonly events: readonly ChatEvent[], readonly isFast: boolean } {
  const isFast = known.read(bytes.toString('latin1')) !== undefined
  return { events: readTextResponse(bytes, read, known) ?? read(JSON.parse(bytes.toString())), isFast }
}

/** Prints what a caller and the usage record see of events. */
function seen (events: readonly ChatEvent[]): string {
  const read = events.find(event => event.type === 'response-start')
  const start: ChatEvent = { id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7, ...read, type: 'response-start' }
  const made = printCompletion([{ events: [start, ...events.filter(({ type }) => type !== 'response-start')] }])
  const json = made instanceof PrintedJson ? Buffer.from(made.json).toString() : JSON.stringify(made)
  const characters = events.reduce((sum, event) => sum + (event.type === 'text-run' ? event.characters : event.type === 'text-delta' ? event.text.length : 0), 0)
  const facts = events.filter(({ type }) => type !== 'text-run' && type !== 'text-delta')
  return JSON.stringify([JSON.parse(json), characters, facts])
}

function outcome (work: () => readonly ChatEvent[]): string {
  try {
    return seen(work())
  } catch (error) {
    return error instanceof SyntaxError ? 'not JSON' : String(error)
  }
}

const text = fc.string({ unit: fc.oneof(fc.constantFrom('"', '\\', '\n', 'é', '网', '🚀', '\u2028', '\ud800', '"content":"', '","refusal":"no'), fc.string({ unit: 'grapheme', maxLength: 2 })), maxLength: 8 })
const literal = fc.oneof(
  text.map(value => JSON.stringify(value)),
  fc.constantFrom('""', '"a\\u0062"', '"\\ud83d\\ude80"', '"a\nb"', '"\\"', '"\\x"', '"a","refusal":"b"', '"a","content":"b"', '"a"},"x":{"content":"b"', 'null', '7', `"${'long '.repeat(2000)}"`)
)
const odd = {
  id: fc.oneof(fc.constantFrom('""', '"\\u0061"', '"é"', 'null', '7', '"a"x', '"a","id":""', '"a","error":"b"'), fc.string({ maxLength: 4 }).map(value => JSON.stringify(value))),
  created: fc.constantFrom('1', '0', '-0', '1e2', '007', '1.5', 'null', '""', '', '1763686801', '12345678901234567890', '1,"error":"x"'),
  content: literal,
  usage: fc.constantFrom(
    '{"prompt_tokens":7,"completion_tokens":8,"total_tokens":15}', '{ "prompt_tokens" : 1e2 }', '{"prompt_tokens":-0}', '{"prompt_tokens":"5"}', '{"prompt_tokens":1,"prompt_tokens":2}',
    '{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":null}', '{}', 'null', '[1]', '{"prompt_tokens":1', '{"prompt_tokens":01}',
    '{"prompt_tokens":1}}', '{"prompt_tokens":1},"usage":{"prompt_tokens":2}', '{"prompt_tokens":1},"choices":[]', '{"prompt_tokens":1},"x":{"y":1}', '{"__proto__":{"prompt_tokens":3}}', '{"é":1,"prompt_tokens":4}',
    `{"prompt_tokens":1,"x":"${'y'.repeat(600)}"}`, `{"prompt_tokens":1,"x":${'['.repeat(240)}${']'.repeat(240)}}`
  )
}
const orders = fc.shuffledSubarray(['object', 'created', 'usage', 'model', 'service_tier', 'system_fingerprint', 'id', 'x_note'])
  .chain(names => fc.nat(names.length).map(at => [...names.slice(0, at), 'choices', ...names.slice(at)]))
const spaces = fc.constantFrom('', ' ', '\n  ', '\t')

t.test('a response like one before is read as it is parsed, whatever stands in its places', async t => {
  let fast = 0
  const changed = fc.record({ id: fc.option(odd.id), created: fc.option(odd.created), content: fc.option(odd.content), usage: fc.option(odd.usage) })
  holds(t, fc.property(orders, spaces, fc.constantFrom('', ',"annotations":[]', ',"mood":"é"', ',"mood":1'), fc.array(changed, { minLength: 1, maxLength: 3 }), (names, space, more, others) => {
    const known = new ResponseTemplateCache()
    readTextResponse(bytesOf(response(usual, names, space, more)), read, known)
    return others.every(other => {
      const written = { id: other.id ?? usual.id, created: other.created ?? usual.created, content: other.content ?? usual.content, usage: other.usage ?? usual.usage }
      const bytes = bytesOf(response(written, names, space, more))
      const direct = outcome(() => {
        const { events, isFast } = readKnown(known, bytes)
        if (isFast) fast++
        return events
      })
      return direct === outcome(() => read(JSON.parse(bytes.toString())))
    })
  }), { numRuns: 3000 })
  t.ok(fast > 100, `${fast} of them were not parsed`)
})

t.test('bytes that were changed, cut or put together anyhow are read as they are parsed', async t => {
  const plain = response({ ...usual, content: '"Héllo"' })
  holds(t, fc.property(fc.nat(plain.length), fc.nat(6), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '0', '1', 'e', ' ', 'é'), maxLength: 4 }), (at, removed, added) => {
    const known = new ResponseTemplateCache()
    readTextResponse(bytesOf(plain), read, known)
    const bytes = bytesOf(plain.slice(0, at) + added + plain.slice(at + removed))
    return outcome(() => readKnown(known, bytes).events) === outcome(() => read(JSON.parse(bytes.toString())))
  }), { numRuns: 3000 })
})

t.test('which responses need no parser', async t => {
  const first = response(usual)
  const fits = (json: string | Buffer, before = first): boolean => {
    const known = new ResponseTemplateCache()
    readTextResponse(bytesOf(before), read, known)
    return readKnown(known, Buffer.from(json)).isFast
  }
  t.equal(fits(response({ id: '"b"', created: '2', content: '"网关"', usage: '{"total_tokens":9}' })), true, 'one with another id, time, text and counts')
  const none = response({ ...usual, id: 'null', created: 'null', usage: 'null' })
  t.equal(fits(none, none), true, 'one without id, time and counts, as before')
  t.equal(fits(first.replace('stop', 'length')), false, 'one that ended otherwise')
  t.equal(fits(response({ ...usual, usage: `{"prompt_tokens":1,"x":"${'y'.repeat(600)}"}` })), false, 'large counts')
  const calls = first.replace('"refusal"', '"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}],"refusal"')
  t.equal(fits(calls, calls), false, 'one with tool calls')
  const groq = first.replace('"created"', '"x_groq":{"usage":{"prompt_tokens":5}},"created"')
  t.equal(fits(groq, groq), false, 'one whose counts may stand elsewhere')
  const large = first.replace('"created"', `"note":"${'n'.repeat(5000)}","created"`).replace('"note"', '"obfuscation"')
  t.equal(fits(large, large), false, 'one with much around its text')
})

t.test('a template is made of the first response, and again where sixteen in a row did not fit', async t => {
  const known = new ResponseTemplateCache()
  const isFast = (reason: string): boolean => readKnown(known, bytesOf(response(usual).replace('stop', reason))).isFast
  t.equal(isFast('stop'), false)
  t.equal(isFast('stop'), true)
  for (let count = 0; count < 16; count++) t.equal(isFast('length'), false)
  t.equal(isFast('stop'), true, 'is kept so long')
  for (let count = 0; count < 17; count++) t.equal(isFast('length'), false)
  t.equal(isFast('length'), true)
  t.equal(isFast('stop'), false)
})

t.test('requests that read more of a response than its text do not read it by others', async t => {
  const bytes = bytesOf(response(usual).replace('"finish_reason"', '"stop_reason":"END","finish_reason"').replace('"index":0', '"index":1'))
  const readFor = (request: Parameters<typeof ask>[0]): readonly ChatEvent[] => {
    const reader = chatCompletions.read({ status: 200, headers: {} }, { ...ask(request), textRuns: true })
    return reader.as === 'json' ? reader.readBytes?.(bytes) ?? [] : []
  }
  readFor({})
  t.match(responsesOf('x/m').read(bytes.toString('latin1')), [{ type: 'response-start' }, { type: 'text-run' }, { type: 'choice-end' }, { type: 'usage' }])
  t.match(readFor({ stop: 'END' })[2], { type: 'choice-end', stopSequence: 'END' })
  t.match(readFor({ n: 2 })[1], { type: 'text-run', choice: 1 })
})
