import t from 'tap'
import { ToolCallFilter, type ShownText } from '../../lib/chat/tool-call-filter.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

const hides = (name: string): boolean => name.startsWith('server')
const text = (text: string, choice = 0): ChatEvent => ({ type: 'text-delta', choice, text })

/** The events of one call. */
function call (number: number, name: string, choice = 0): ChatEvent[] {
  return [
    { type: 'tool-call-start', choice, callIndex: number, id: `id${number}`, name, kind: 'function' },
    { type: 'tool-call-delta', choice, callIndex: number, text: '{}', kind: 'function' },
    { type: 'tool-call-end', choice, callIndex: number }
  ]
}

t.test('calls executed by the gateway are withheld, and the others are renumbered without gaps', async t => {
  const filter = new ToolCallFilter(hides, undefined)
  const shown = filter.read([
    ...call(0, 'server_a'),
    ...call(1, 'own_b'),
    ...call(2, 'server_c'),
    ...call(3, 'own_d')
  ])
  t.strictSame(shown, [
    ...call(1, 'own_b').map(event => ({ ...event, callIndex: 0 })),
    ...call(3, 'own_d').map(event => ({ ...event, callIndex: 1 }))
  ])
  t.equal(filter.callsShown, 2)
})

t.test('withheld calls can still be released, with the next numbers', async t => {
  const filter = new ToolCallFilter(hides, undefined)
  filter.read([...call(0, 'server_a'), ...call(1, 'own_b'), ...call(2, 'server_c')])
  t.strictSame(
    filter.withheldCalls(new Set(['id0'])),
    call(0, 'server_a').map(event => ({ ...event, callIndex: 1 }))
  )
  t.equal(filter.callsShown, 2)
})

t.test('only functions of the first choice are executed by the gateway', async t => {
  const filter = new ToolCallFilter(hides, undefined)
  const custom: ChatEvent = {
    type: 'tool-call-start',
    choice: 0,
    callIndex: 0,
    id: 'x',
    name: 'server_a',
    kind: 'custom'
  }
  t.strictSame(filter.read([...call(0, 'server_a', 1), custom]), [...call(0, 'server_a', 1), custom])
  t.strictSame(filter.withheldCalls(new Set(['id0', 'x'])), [])
})

t.test('the answer starts once, and turns do not pass on choice ends or usage', async t => {
  const start: ChatEvent = { type: 'answer-start' }
  const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
  const end: ChatEvent = { type: 'choice-end', choice: 0, reason: 'stop' }
  t.strictSame(new ToolCallFilter(hides, undefined).read([start, usage, end]), [start])
  t.strictSame(new ToolCallFilter(hides, { end: '', length: 0 }).read([start, usage, end]), [])
})

t.test('the text of a later turn is separated from the one before', async t => {
  const second = (before: string): ChatEvent[] =>
    new ToolCallFilter(hides, { end: before, length: before.length })
      .read([text(''), text('more'), text('!')])
  t.strictSame(second('first.'), [text(''), text('\n\n'), text('more'), text('!')])
  for (const before of ['', 'ends in space ', 'or a line\n']) {
    t.strictSame(second(before), [text(''), text('more'), text('!')], before)
  }
  const filter = new ToolCallFilter(hides, { end: 'first', length: 5 })
  filter.read([text('')])
  t.same(filter.shown, { end: 'first', length: 5 }, 'an empty text is ignored')
  filter.read([text('second')])
  t.same(filter.shown, { end: 'second', length: 'first\n\nsecond'.length })
  t.strictSame(
    new ToolCallFilter(hides, { end: 'first', length: 5 }, true).read([text('second')]),
    [text('second')],
    'a message of its own is not separated'
  )
})

t.test('citations of a later turn are moved with its text', async t => {
  const at = (from: number): ChatEvent => ({
    type: 'annotation-delta',
    choice: 0,
    annotations: [
      { type: 'url_citation', url_citation: { url: 'a', start_index: from, end_index: from + 4 } },
      { type: 'url_citation', url: 'b', start_index: from, end_index: from + 4 },
      { type: 'file', start_index: null },
      'x'
    ]
  })
  const citing = (before: ShownText | undefined, showsTurns?: boolean): ChatEvent[] =>
    new ToolCallFilter(hides, before, showsTurns).read([text('more'), at(0)]).slice(-1)
  t.strictSame(citing(undefined), [at(0)])
  t.strictSame(citing({ end: 'first.', length: 6 }), [at('first.\n\n'.length)])
  t.strictSame(citing({ end: 'a ', length: 20 }), [at(20)])
  t.strictSame(citing({ end: 'first.', length: 6 }, true), [at(0)])
})

t.test('reasoning details are withheld like thinking', async t => {
  const details: ChatEvent & { readonly type: 'extra' } = {
    type: 'extra', scope: 'message', choice: 0, fields: { reasoning_details: [{ type: 'reasoning.text' }] }
  }
  const other: ChatEvent = { type: 'extra', scope: 'message', choice: 0, fields: { mood: 'calm' } }
  const both: ChatEvent = { ...details, fields: { ...details.fields, ...other.fields } }
  const filter = new ToolCallFilter(hides, undefined)
  t.strictSame(filter.read([both]), [other])
  t.strictSame(filter.withheldThinking(), [details])
  t.strictSame(new ToolCallFilter(hides, undefined, true).read([details]), [details])
})

t.test('thinking is withheld until the turn is known to be the last', async t => {
  const block: ChatEvent = { type: 'thinking-block', choice: 0, block: { type: 'thinking', thinking: 'hm' } }
  const filter = new ToolCallFilter(hides, undefined)
  t.strictSame(filter.read([block, text('a')]), [text('a')])
  t.strictSame(filter.withheldThinking(), [block])
})

t.test('thinking is passed on in place when all turns are shown', async t => {
  const block: ChatEvent = { type: 'thinking-block', choice: 0, block: { type: 'thinking', thinking: 'hm' } }
  const filter = new ToolCallFilter(hides, undefined, true)
  t.strictSame(filter.read([block, ...call(0, 'server_a'), text('a')]), [block, text('a')])
  t.strictSame(filter.withheldThinking(), [])
})

t.test('a choice that passes on calls ends with `tool_calls`', async t => {
  const ends = (...events: ChatEvent[]): unknown => {
    const filter = new ToolCallFilter(hides, undefined)
    filter.read([
      ...events,
      { type: 'choice-end', choice: 0, reason: 'stop' },
      { type: 'choice-end', choice: 1, reason: 'length' }
    ])
    return filter.choiceEnds().map(({ reason }) => reason)
  }
  t.same(ends(...call(0, 'own')), ['tool_calls', 'length'])
  t.same(ends(...call(0, 'server')), ['stop', 'length'])
  t.same(ends(...call(0, 'own', 1)), ['stop', 'length'], 'a truncated choice keeps its reason')
})
