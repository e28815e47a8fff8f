import t from 'tap'
import { Turn } from '../../lib/chat/turn.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

function turnOf (...events: ChatEvent[]): Turn {
  const turn = new Turn()
  for (const event of events) turn.add(event)
  return turn
}

const call = (number: number, name: string, text: string, extra?: object): ChatEvent[] => [
  {
    type: 'tool-call-start',
    choice: 0,
    callIndex: number,
    id: `id${number}`,
    name,
    kind: 'function',
    ...extra !== undefined && { extra: { ...extra } }
  },
  ...text
    .split('|')
    .map((piece): ChatEvent => ({
      type: 'tool-call-delta',
      choice: 0,
      callIndex: number,
      text: piece,
      kind: 'function'
    })),
  { type: 'tool-call-end', choice: 0, callIndex: number }
]

t.test('the message of a turn has everything that its provider expects back', async t => {
  const turn = turnOf(
    { type: 'reasoning-delta', choice: 0, text: 'h' }, { type: 'reasoning-delta', choice: 0, text: 'm' },
    { type: 'thinking-block', choice: 0, block: { type: 'thinking', thinking: 'hm', signature: 's' } },
    { type: 'text-delta', choice: 0, text: 'I ' }, { type: 'text-delta', choice: 0, text: 'add' },
    ...call(0, 'add', '{"a":|1}', { extra_content: { google: { thought_signature: 'x' } } }),
    { type: 'choice-end', choice: 0, reason: 'tool_calls' },
    { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }
  )
  t.strictSame(turn.message(), {
    role: 'assistant',
    content: 'I add',
    reasoning_content: 'hm',
    thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
    tool_calls: [
      {
        id: 'id0',
        type: 'function',
        function: { name: 'add', arguments: '{"a":1}' },
        extra_content: { google: { thought_signature: 'x' } }
      }
    ]
  })
  t.equal(turn.reason, 'tool_calls')
  t.equal(turn.usage?.totalTokens, 3)
})

t.test('an empty turn has no content; a refusal is kept', async t => {
  t.strictSame(turnOf().message(), { role: 'assistant', content: null })
  t.strictSame(turnOf({ type: 'refusal-delta', choice: 0, text: 'no' }).message(), {
    role: 'assistant',
    content: null,
    refusal: 'no'
  })
  t.equal(turnOf().reason, undefined)
})

t.test('other choices and non-function tools are ignored', async t => {
  const turn = turnOf(
    { type: 'text-delta', choice: 1, text: 'other' },
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'x', name: 'c', kind: 'custom' },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, text: 'input', kind: 'custom' }
  )
  t.strictSame(turn.message(), { role: 'assistant', content: null })
})

t.test('arguments are an object or unknown; unparsable ones are not sent back', async t => {
  const rows: Array<[string, unknown, string]> = [
    ['{"a":1}', { a: 1 }, '{"a":1}'],
    ['', {}, '{}'],
    [' ', {}, ' '],
    ['{"a":', undefined, '{}'],
    ['[1]', undefined, '{}'],
    ['null', undefined, '{}'],
    ['"x"', undefined, '{}']
  ]
  for (const [text, args, sent] of rows) {
    const turn = turnOf(...call(0, 'f', text))
    t.strictSame(
      turn.calls().map(({ arguments: parsed, argumentsText }) => [parsed, argumentsText]),
      [[args, text]],
      text
    )
    t.equal(
      turn
        .message()
        .tool_calls?.map(call => ('function' in call ? call.function.arguments : ''))
        .join(),
      sent
    )
  }
})

t.test('calls are in the order in which the model made them', async t => {
  t.same(turnOf(...call(2, 'b', ''), ...call(0, 'a', '')).calls().map(({ name }) => name), ['b', 'a'])
})

t.test('texts stay apart if thinking came between a text and a call', async t => {
  const text = (text: string): ChatEvent => ({ type: 'text-delta', choice: 0, text })
  const hidden: ChatEvent = {
    type: 'thinking-block', choice: 0, block: { type: 'redacted_thinking', data: 'd' }
  }
  t.match(turnOf(text('a'), text(''), text('b'), hidden, text('c'), ...call(0, 'f', '')).message(), {
    content: [{ type: 'text', text: 'ab' }, { type: 'text', text: 'c' }],
    turn_order: ['text', 'thinking', 'text', 'call']
  })
  const usual = turnOf(hidden, text('a'), ...call(0, 'f', ''), text('b')).message()
  t.equal(usual.content, 'ab')
  t.notOk('turn_order' in usual)
})

t.test('texts of different phases stay apart', async t => {
  const text = (text: string, phase?: string): ChatEvent =>
    ({ type: 'text-delta', choice: 0, text, ...phase !== undefined && { phase } })
  t.match(turnOf(text('a', 'commentary'), text('b', 'commentary'), text('c', 'final_answer')).message(), {
    content: [{ type: 'text', text: 'ab' }, { type: 'text', text: 'c' }],
    text_phases: ['commentary', 'final_answer']
  })
  t.notOk('text_phases' in turnOf(text('a')).message())
})
