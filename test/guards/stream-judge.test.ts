import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { StreamJudge } from '../../lib/guards/stream-judge.ts'
import { messages } from '../../lib/dialects/messages/index.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import { holdsAsync } from '../support/property.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { JudgeWindow, CallJudge } from '../../lib/guards/text-judge.ts'

const small: JudgeWindow = { characters: 6, overlap: 4, maxWaitMs: 60_000 }

/** Replaces a word in all texts, and records what it was given. */
function judgeOf (
  word: string,
  window: JudgeWindow | undefined = small
): { judge: CallJudge, shown: string[][] } {
  const shown: string[][] = []
  return {
    shown,
    judge: {
      alters: true,
      window,
      pointOf: () => 'answer',
      inspect: async texts => {
        shown.push(texts.map(({ text }) => text))
        return texts.map(({ text }) => text.replaceAll(word, '[X]'))
      },
      refusal: () => new GatewayError('content_refused')
    }
  }
}

async function through (texts: StreamJudge, events: readonly ChatEvent[]): Promise<ChatEvent[]> {
  const out: ChatEvent[] = []
  for (const event of events) {
    texts.push([event], out)
    if (texts.dueInMs === 0) await texts.decide(out)
  }
  await texts.end(out)
  return out
}

function text (said: string, choice = 0): ChatEvent {
  return { type: 'text-delta', choice, text: said }
}

function textsOf (events: readonly ChatEvent[]): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const event of events) {
    if (!('text' in event)) continue
    const key = `${event.type} ${event.choice} ${'callIndex' in event ? event.callIndex : ''}`
    texts[key] = (texts[key] ?? '') + event.text
  }
  return texts
}

t.test('a window is passed on after the verdict, except for its overlap', async t => {
  const { judge, shown } = judgeOf('abc')
  const texts = new StreamJudge(judge, undefined)
  const out: ChatEvent[] = []
  for (const said of ['one ', 'two ', 'ab']) texts.push([text(said)], out)
  t.same([out.length, texts.dueInMs], [0, 0])
  await texts.decide(out)
  t.same(textsOf(out), { 'text-delta 0 ': 'one ' }, 'the event with the start of the overlap waits')
  t.not(texts.dueInMs, 0)
  texts.push([text('c is')], out)
  await texts.end(out)
  t.same(textsOf(out), { 'text-delta 0 ': 'one two [X] is' })
  t.same(shown, [['one two ab'], ['o abc is']])
  t.equal(texts.characters, 0)
})

t.test('from the first to the last difference the text is replaced, wherever events are split', async t => {
  for (const [given, made] of [
    [['ab', 'cd'], 'abXcd'],
    [['ab', 'cd'], 'Xabcd'],
    [['ab', 'cd'], 'abcdX'],
    [['ab', 'cd'], ''],
    [['aa', 'aa'], 'aaa'],
    [['a', 'b', 'c'], 'xbz'],
    [['a'.repeat(10_000), 'b', 'c'.repeat(10_000)], `${'a'.repeat(10_000)}x${'c'.repeat(10_000)}`]
  ] as const) {
    const judge: CallJudge = { ...judgeOf('').judge, window: undefined, inspect: async () => [made] }
    t.equal(
      textsOf(
        await through(
          new StreamJudge(judge, undefined),
          given.map(said => text(said))
        )
      )['text-delta 0 '] ?? '',
      made
    )
  }
})

t.test('a finding is judged as a whole, even if its replacement begins with the same text', async t => {
  const judge: CallJudge = {
    ...judgeOf('').judge,
    window: { characters: 2, overlap: 4, maxWaitMs: 60_000 },
    inspect: async texts => texts.map(({ text }) => text.replaceAll('12345', '123**'))
  }
  for (let before = 0; before < 12; before++) {
    const said = '.'.repeat(before) + '12345' + '.'.repeat(9)
    t.equal(
      textsOf(
        await through(
          new StreamJudge(judge, undefined),
          said.split('').map(one => text(one))
        )
      )['text-delta 0 '],
      said.replace('45', '**')
    )
  }
})

t.test(
  'arguments are judged by string once complete, and events without text keep their place',
  async t => {
    const piece = (text: string): ChatEvent => ({
      type: 'tool-call-delta',
      choice: 0,
      callIndex: 0,
      text,
      kind: 'function'
    })
    const { judge, shown } = judgeOf('abc')
    const texts = new StreamJudge(judge, undefined)
    const out: ChatEvent[] = []
    for (const said of ['{"a":"a', '\\u0062c","n":[1.0,', ' "x"]}']) texts.push([piece(said)], out)
    t.same([out, texts.dueInMs], [[], undefined])
    texts.push([{ type: 'tool-call-end', choice: 0, callIndex: 0 }], out)
    t.equal(texts.dueInMs, 0)
    await texts.decide(out)
    t.same(textsOf(out), { 'tool-call-delta 0 0': '{"a":"[X]","n":[1.0, "x"]}' })
    t.equal(out.at(-1)?.type, 'tool-call-end')
    t.same(shown, [['a', 'abc', 'n', '1', 'x']])
  }
)

t.test('of a duplicate member in arguments, the value that was not judged is removed', async t => {
  const { judge } = judgeOf('abc')
  const args: ChatEvent = {
    type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{"a":"abc","a":"x"}', kind: 'function'
  }
  const end: ChatEvent = { type: 'tool-call-end', choice: 0, callIndex: 0 }
  const out = await through(new StreamJudge(judge, undefined), [args, end])
  t.same(textsOf(out), { 'tool-call-delta 0 0': '{"a":"x"}' })
})

t.test('large arguments are judged in slices', async t => {
  const { judge } = judgeOf('abc')
  const texts = new StreamJudge(judge, undefined)
  const json = JSON.stringify({ list: Array.from({ length: 300 }, () => `${'x'.repeat(5000)}abc`) })
  const out: ChatEvent[] = []
  texts.push([{ type: 'tool-call-delta', choice: 0, callIndex: 0, text: json, kind: 'function' }], out)
  texts.push([{ type: 'tool-call-end', choice: 0, callIndex: 0 }], out)
  const turns = await ticksDuring(() => texts.decide(out))
  t.ok(turns > 9, `${turns} turns`)
  t.same(textsOf(out), { 'tool-call-delta 0 0': json.replaceAll('abc', '[X]') })
})

t.test('no window begins inside a character', async t => {
  const { judge, shown } = judgeOf('abc', { characters: 6, overlap: 3, maxWaitMs: 60_000 })
  const said = '😀'.repeat(20)
  const out = await through(new StreamJudge(judge, undefined), Array.from(said, one => text(one)))
  t.equal(textsOf(out)['text-delta 0 '], said)
  t.ok(shown.length > 1)
  t.same(shown.flat().filter(one => /^[\udc00-\udfff]/.test(one)), [])
})

t.test('a large complete answer is judged in slices, and keeps its place', async t => {
  const { judge, shown } = judgeOf('abc', undefined)
  const texts = new StreamJudge(judge, messages.direct?.texts)
  const content = Array.from({ length: 20_000 }, () => ({ type: 'text', text: 'abc' }))
  const json = JSON.stringify({ content }, null, 1)
  const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
  const out: ChatEvent[] = []
  const turns = await ticksDuring(async () => {
    texts.push([{ type: 'answer-start' }, { type: 'direct-answer', json }, usage], out)
    t.same([out.map(({ type }) => type), shown], [['answer-start'], []])
    await texts.end(out)
  })
  t.ok(turns > 30, `${turns} turns`)
  t.equal(shown.length, 1, 'all texts together')
  t.same(out.slice(1), [{ type: 'direct-answer', json: json.replaceAll('abc', '[X]') }, usage])
  const twice = `{"content":"abc",${json.slice(1)}`
  t.same(
    await through(new StreamJudge(judgeOf('none', undefined).judge, messages.direct?.texts), [
      { type: 'direct-answer', json: twice }
    ]),
    [{ type: 'direct-answer', json: JSON.stringify({ content }) }],
    'without the part that was not judged'
  )
})

t.test('complete texts of an event are judged with the next window, and the event waits', async t => {
  const { judge } = judgeOf('abc')
  const out = await through(new StreamJudge(judge, undefined), [
    text('0123456789'),
    { type: 'annotation-delta', choice: 0, annotations: [{ title: 'abc' }] },
    text('x'),
    { type: 'choice-end', choice: 0, reason: 'stop' },
    { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
  ])
  t.same(out.map(({ type }) => type), ['text-delta', 'annotation-delta', 'text-delta', 'choice-end', 'usage'])
  t.match(out[1], { annotations: [{ title: '[X]' }] })
})

t.test('reasoning is complete once the answer has continued for the length of the overlap', async t => {
  const { judge } = judgeOf('abc')
  const texts = new StreamJudge(judge, undefined)
  const out: ChatEvent[] = []
  texts.push([{ type: 'reasoning-delta', choice: 0, text: 'thinks abc' }], out)
  texts.push([text('says more than so')], out)
  await texts.decide(out)
  texts.push([text('.')], out)
  await texts.decide(out)
  t.match(textsOf(out), { 'reasoning-delta 0 ': 'thinks [X]' })
})

t.test('a change in signed reasoning refuses the answer', async t => {
  const frame = (thinking: string): ChatEvent => ({
    type: 'direct-frame',
    name: 'content_block_delta',
    json: JSON.stringify({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking }
    })
  })
  await t.rejects(
    through(new StreamJudge(judgeOf('abc').judge, messages.direct?.texts), [frame('a'), frame('bc')]),
    { code: 'content_refused' }
  )
  t.equal(
    (await through(new StreamJudge(judgeOf('abc').judge, messages.direct?.texts), [frame('a'), frame('b')]))
      .length,
    2
  )
})

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 })
const event: fc.Arbitrary<ChatEvent> = fc.oneof(
  fc.record({
    type: fc.constant('text-delta' as const),
    choice: fc.integer({ min: 0, max: 2 }),
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

t.test(
  'any split and interleaving of choices and calls gives the verdict on complete texts',
  async t => {
    await holdsAsync(
      t,
      fc.asyncProperty(
        fc.array(event, { maxLength: 60, size: 'max' }),
        fc.constantFrom('abc', 'cab'),
        fc.integer({ min: 1, max: 9 }),
        async (events, word, characters) => {
          const { judge } = judgeOf(word, { characters, overlap: 2 * word.length, maxWaitMs: 60_000 })
          const complete = textsOf(events)
          const out = textsOf(await through(new StreamJudge(judge, undefined), events))
          return Object.entries(complete).every(
            ([key, said]) => (out[key] ?? '') === said.replaceAll(word, '[X]')
          )
        }
      ),
      { numRuns: 500 }
    )
  }
)
