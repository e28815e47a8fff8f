import fc from 'fast-check'
import t from 'tap'
import { StreamFilter } from '../../lib/guards/stream-filter.ts'
import { TextFilters } from '../../lib/guards/text-guards.ts'
import { replaceFindings } from '../../lib/guards/text-filter.ts'
import { PatternFilter } from '../../lib/guards/pattern-filter.ts'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import { boundedPattern } from '../../lib/text/bounded-pattern.ts'
import { messages } from '../../lib/dialects/messages/index.ts'
import { responsesDirectTexts } from '../../lib/dialects/responses/text-places.ts'
import { holdsAsync } from '../support/property.ts'
import { routedCall } from '../support/stages.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import { wordFilter } from '../support/word-stages.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

function held (word: string, reach?: number): StreamFilter {
  const filter = wordFilter(word, reach)
  return new StreamFilter(
    new TextFilters({ kind: 'filters', filter: () => filter }, routedCall({}), 'answer'),
    messages.direct?.texts
  )
}

async function through (texts: StreamFilter, events: readonly ChatEvent[]): Promise<ChatEvent[]> {
  const out: ChatEvent[] = []
  for (const event of events) texts.push([event], out)
  await texts.end(out)
  return out
}

function text (said: string, choice = 0): ChatEvent {
  return { type: 'text-delta', choice, text: said }
}

/** Returns the complete texts of an answer, by choice and kind. */
function textsOf (events: readonly ChatEvent[]): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const event of events) {
    if (!('text' in event)) continue
    const key = `${event.type} ${event.choice} ${'callIndex' in event ? event.callIndex : ''}`
    texts[key] = (texts[key] ?? '') + event.text
  }
  return texts
}

/** A piece of the arguments of a tool call. */
function argumentsPiece (text: string): ChatEvent {
  return { type: 'tool-call-delta', choice: 0, callIndex: 0, text, kind: 'function' }
}

t.test(
  'a word is replaced wherever it is split, and unchanged events stay the same objects',
  async t => {
    const events = ['one ', 'ab', 'c', 'abx', 'y two', ' three'].map(said => text(said))
    const out = await through(held('abcab'), events)
    t.same(textsOf(out), { 'text-delta 0 ': 'one (an island)xy two three' })
    t.equal(out[0], events[0])
    t.equal(out.at(-1), events.at(-1))
    t.equal(out.length, 5, 'an event whose text becomes empty is dropped')
  }
)

t.test('decided text is passed on at once', t => {
  const texts = held('abc')
  const out: ChatEvent[] = []
  texts.push([text('x a')], out)
  t.same([out.length, texts.characters], [0, 64 + 3])
  texts.push([text('z....')], out)
  t.same([out.length, texts.characters], [1, 64 + 5])
  texts.push([{ type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }], out)
  t.equal(out.length, 2, 'an event unrelated to text does not wait')
  texts.push([{ type: 'choice-end', choice: 0, reason: 'stop' }], out)
  t.same(
    [out.map(({ type }) => type), texts.characters],
    [['text-delta', 'usage', 'text-delta', 'choice-end'], 0]
  )
  t.end()
})

t.test('an event without text keeps its place among the texts of its choice', async t => {
  const events: ChatEvent[] = [
    text('ab'),
    { type: 'annotation-delta', choice: 0, annotations: [] },
    text('c'),
    text('other', 1),
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'i', name: 'n', kind: 'function' },
    { type: 'choice-end', choice: 0, reason: 'stop' }
  ]
  const out = await through(held('abc'), events)
  t.same(
    out.filter(event => 'choice' in event && event.choice === 0).map(({ type }) => type),
    ['text-delta', 'annotation-delta', 'tool-call-start', 'choice-end']
  )
  t.same(textsOf(out), { 'text-delta 0 ': '(an island)', 'text-delta 1 ': 'other' })
})

t.test('reasoning is complete once the answer has continued for the length of a word', t => {
  const texts = held('abc')
  const out: ChatEvent[] = []
  texts.push([{ type: 'reasoning-delta', choice: 0, text: 'thinks ab' }], out)
  texts.push([text('c')], out)
  t.equal(out.length, 0)
  texts.push([{ type: 'reasoning-delta', choice: 0, text: 'c' }], out)
  texts.push([text(' says more')], out)
  t.same(textsOf(out), { 'reasoning-delta 0 ': 'thinks (an island)', 'text-delta 0 ': 'c' })
  t.end()
})

t.test('strings in arguments are replaced once the arguments are complete', t => {
  const texts = held('abc')
  const out: ChatEvent[] = []
  for (const said of ['', '{"a":"a', '\\u0062c","n":[1.0,', ' "x"]}', '          ']) {
    texts.push([argumentsPiece(said)], out)
  }
  t.equal(out.length, 1, 'a piece without text')
  texts.push([{ type: 'tool-call-end', choice: 0, callIndex: 0 }], out)
  t.same(textsOf(out), { 'tool-call-delta 0 0': '{"a":"(an island)","n":[1.0, "x"]}          ' })
  t.equal(out.at(-1)?.type, 'tool-call-end')
  t.end()
})

t.test('a word in signed thinking refuses the answer', async t => {
  const frame = (thinking: string): ChatEvent => ({
    type: 'direct-frame',
    name: 'content_block_delta',
    json: JSON.stringify({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking }
    })
  })
  await t.rejects(through(held('abc'), [frame('a'), frame('bc')]), { code: 'content_policy_violation' })
  t.equal((await through(held('abc'), [frame('a'), frame('b')])).length, 2)
})

/** Texts with few different letters, so that words and halves of them are frequent. */
const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 })
const event: fc.Arbitrary<ChatEvent> = fc.oneof(
  fc.record({
    type: fc.constant('text-delta' as const),
    choice: fc.integer({ min: 0, max: 1 }),
    text: letters
  }),
  fc.record({
    type: fc.constant('tool-call-delta' as const),
    choice: fc.constant(0),
    callIndex: fc.integer({ min: 0, max: 1 }),
    text: letters,
    kind: fc.constantFrom('function' as const)
  }),
  fc.record({
    type: fc.constant('annotation-delta' as const),
    choice: fc.integer({ min: 0, max: 1 }),
    annotations: fc.constant([])
  })
)

t.test('a word split across unknown events refuses the answer', async t => {
  const filter = wordFilter('abc')
  const texts = new StreamFilter(
    new TextFilters({ kind: 'filters', filter: () => filter }, routedCall({}), 'answer'),
    responsesDirectTexts
  )
  const type = 'response.new_text.delta'
  const events = ['x a', 'bc'].map((delta): ChatEvent => ({
    type: 'direct-frame',
    name: type,
    json: JSON.stringify({ type, output_index: 0, delta })
  }))
  await t.rejects(through(texts, events), { code: 'content_policy_violation' })
})

t.test(
  'any split and interleaving of choices and calls gives the result for complete texts',
  async t => {
    await holdsAsync(
      t,
      fc.asyncProperty(
        fc.array(event, { maxLength: 60, size: 'max' }),
        fc.constantFrom('abc', 'aa', 'cabca'),
        fc.integer({ min: 1, max: 6 }),
        async (events, word, more) => {
          const complete = textsOf(events)
          const filter = wordFilter(word)
          const expected = Object.fromEntries(
            Object.entries(complete).map(([key, said]) => [key, replaceFindings(filter, said)])
          )
          const out = textsOf(await through(held(word, word.length + more), events))
          return Object.keys(complete).every(key => (out[key] ?? '') === expected[key])
        }
      ),
      { numRuns: 1000 }
    )
  }
)

t.test('events without text that wait behind a tool call are counted', t => {
  const texts = held('abc')
  const out: ChatEvent[] = []
  texts.push([{ type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{"a":', kind: 'function' }], out)
  const before = texts.characters
  for (let count = 0; count < 100; count++) {
    texts.push([{ type: 'annotation-delta', choice: 0, annotations: [] }], out)
  }
  t.same(out, [])
  t.ok(texts.characters >= before + 100 * 64, `${texts.characters} characters`)
  t.end()
})

t.test('a reported word is counted once, wherever it is split', async t => {
  const counted = async (look: (filter: PatternFilter) => unknown): Promise<number> => {
    const findings = new GuardFindings()
    const rules = ['[ab]+c', 'b+'].map(match => ({
      guard: match,
      action: 'report' as const,
      label: 'x',
      pattern: boundedPattern(match, 6)
    }))
    await look(new PatternFilter(rules, 'answer', findings))
    return findings.found.reduce((sum, { count }) => sum + count, 0)
  }
  const someText = fc.array(fc.stringMatching(/^[abc. ]{1,9}$/), { minLength: 1, maxLength: 12 })
  await holdsAsync(t, fc.asyncProperty(someText, async pieces => {
    const complete = await counted(filter => filter.find(pieces.join(''), 0, Infinity))
    const streamed = await counted(filter => through(
      new StreamFilter(
        new TextFilters({ kind: 'filters', filter: () => filter }, routedCall({}), 'answer'), undefined
      ),
      pieces.map(piece => text(piece))
    ))
    return complete === streamed
  }))
})

t.test('a large complete answer is searched in slices, and keeps its place', async t => {
  const texts = held('abc')
  const block = { type: 'text', text: `${'x'.repeat(20_000)}abc` }
  const json = JSON.stringify({ content: Array.from({ length: 30 }, () => block) })
  const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
  const out: ChatEvent[] = []
  texts.push([{ type: 'answer-start' }, { type: 'direct-answer', json }, usage], out)
  t.same([out.map(({ type }) => type), texts.dueInMs], [['answer-start'], 0])
  const turns = await ticksDuring(() => texts.decide(out))
  t.ok(turns > 4, `${turns} turns`)
  const replaced = json.replaceAll('abc', '(an island)')
  t.same([out.slice(1), texts.dueInMs], [[{ type: 'direct-answer', json: replaced }, usage], undefined])
  const thinking = { type: 'thinking', thinking: 'abc' }
  const signed = { content: [thinking, ...Array.from({ length: 30 }, () => block)] }
  texts.push([{ type: 'direct-answer', json: JSON.stringify(signed) }], out)
  await t.rejects(texts.decide(out), { code: 'content_policy_violation' })
})

t.test('a large text is searched in slices, and keeps its place', async t => {
  const said = `${'x'.repeat(99_998)}abc`
  const start: ChatEvent = { type: 'answer-start' }
  const end: ChatEvent = { type: 'choice-end', choice: 0, reason: 'stop' }
  for (const isFollowed of [true, false]) {
    const texts = held('abc')
    const out: ChatEvent[] = []
    texts.push([start, text('ab'), text(`c${said.repeat(10)}`), ...isFollowed ? [text('abc'), end] : []], out)
    t.same([out, texts.dueInMs], [[start], 0])
    const turns = await ticksDuring(() => texts.decide(out))
    t.ok(turns > 9, `${turns} turns`)
    t.equal(texts.dueInMs, undefined)
    await texts.end(out)
    const expected = (isFollowed ? `abc${said.repeat(10)}abc` : `abc${said.repeat(10)}`)
      .replaceAll('abc', '(an island)')
    t.same(textsOf(out), { 'text-delta 0 ': expected })
    if (isFollowed) t.equal(out.at(-1), end)
  }
})

t.test('large arguments are searched in slices, and later events wait', async t => {
  const args = JSON.stringify({ list: Array.from({ length: 400 }, () => `${'x'.repeat(2000)}abc`) })
  const pieces = args.match(/.{1,1000}/g)?.map(argumentsPiece) ?? []
  const end: ChatEvent = { type: 'tool-call-end', choice: 0, callIndex: 0 }
  const other: ChatEvent = { type: 'annotation-delta', choice: 1, annotations: [] }
  for (const isDecided of [true, false]) {
    const texts = held('abc')
    const out: ChatEvent[] = []
    texts.push([...pieces, end, text('abc'), other], out)
    t.same([out, texts.dueInMs], [[other], 0], 'another choice does not wait')
    if (isDecided) {
      const turns = await ticksDuring(() => texts.decide(out))
      t.ok(turns > 9, `${turns} turns`)
      t.equal(texts.dueInMs, undefined)
      t.equal(out.at(-1), end)
    }
    await texts.end(out)
    t.same(textsOf(out), {
      'tool-call-delta 0 0': args.replaceAll('abc', '(an island)'),
      'text-delta 0 ': '(an island)'
    })
  }
})

t.test('large truncated arguments are searched at the end', async t => {
  const json = `{"a":"${'x'.repeat(200_000)}\\u0061bc`
  const cut: ChatEvent = { type: 'tool-call-delta', choice: 0, callIndex: 0, text: json, kind: 'function' }
  t.same(textsOf(await through(held('abc'), [cut])), {
    'tool-call-delta 0 0': json.replace('\\u0061bc', '(an island)')
  })
})

/** A frame of the Responses API. */
function frame (name: string, fields: object): ChatEvent {
  const type = `response.${name}`
  return { type: 'direct-frame', name: type, json: JSON.stringify({ type, output_index: 0, ...fields }) }
}

function inResponses (events: readonly ChatEvent[]): Promise<ChatEvent[]> {
  const filter = wordFilter('abc')
  const filters = new TextFilters({ kind: 'filters', filter: () => filter }, routedCall({}), 'answer')
  return through(new StreamFilter(filters, responsesDirectTexts), events)
}

t.test('pieces of several texts in one event are searched as separate texts', async t => {
  const output = (delta: object): ChatEvent => frame('shell_call_output_content.delta', { delta })
  const given = [
    { stdout: 'x ab' },
    { stderr: 'abc' },
    { stdout: 'c a', stderr: ' a' },
    { stderr: 'bc' },
    { stdout: 'b' }
  ]
  const out = await inResponses(given.map(output))
  const deltas = out.flatMap(event =>
    event.type === 'direct-frame'
      ? [(JSON.parse(event.json) as { delta: Record<string, string> }).delta]
      : [])
  const joined = (name: string): string => deltas.map(delta => delta[name] ?? '').join('')
  t.equal(joined('stdout'), 'x (an island) ab')
  t.equal(joined('stderr'), '(an island) (an island)')
})

t.test('a word in interleaved pieces of a command is replaced', async t => {
  const command = (index: number, delta: string): ChatEvent =>
    frame('shell_call_command.delta', { command_index: index, delta })
  const out = await inResponses([command(0, 'ab'), command(1, 'ls'), command(0, 'c')])
  t.notMatch(JSON.stringify(out), /"ab/)
})

t.test('a word split across pieces of an unknown text refuses the answer', async t => {
  const extra = (said: string): ChatEvent => ({
    type: 'extra',
    scope: 'message',
    choice: 0,
    fields: { x_details: [{ type: 'x.text', text: said }] }
  })
  const delta = (said: string): ChatEvent => frame('new.delta', { delta: { type: 'new', deep: [said] } })
  const block = (said: string): ChatEvent => ({
    type: 'direct-frame',
    name: 'content_block_delta',
    json: JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'new_delta', said } })
  })
  const refused = { code: 'content_policy_violation' }
  for (const pieces of [['x a', 'b', 'c'], ['abc']]) {
    await t.rejects(through(held('abc'), pieces.map(extra)), refused)
    await t.rejects(inResponses(pieces.map(delta)), refused)
    await t.rejects(through(held('abc'), pieces.map(block)), refused)
  }
  const others = ['x a', 'c', 'b'].map(extra)
  t.same(await through(held('abc'), others), others)
})

t.test('large complete answers still undecided at the end are searched then, in order', async t => {
  const texts = held('abc')
  const json = JSON.stringify({ content: [{ type: 'text', text: `${'x'.repeat(200_000)}abc` }] })
  const large: ChatEvent = { type: 'direct-answer', json }
  const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
  const out: ChatEvent[] = []
  texts.push([large], out)
  texts.push([usage], out)
  texts.push([large, text('abc')], out)
  t.same(out, [])
  await texts.end(out)
  const replaced = { type: 'direct-answer', json: json.replaceAll('abc', '(an island)') }
  t.same(out, [replaced, usage, replaced, text('(an island)')])
})
