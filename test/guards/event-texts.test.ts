import t from 'tap'
import { readEvent } from '../../lib/guards/event-texts.ts'
import { messages } from '../../lib/dialects/messages/index.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

const shout = (text: string): string => text.toUpperCase()
const inspected = (event: ChatEvent): string[] => {
  const seen: string[] = []
  readEvent(event, text => {
    seen.push(text)
    return text
  }, undefined)
  return seen
}

t.test('pieces of streamed texts have the key of their text', t => {
  const rows: ReadonlyArray<readonly [event: ChatEvent, piece: string]> = [
    [{ type: 'text-delta', choice: 1, text: 'a', logprobs: { content: [] } }, 'a'],
    [{ type: 'reasoning-delta', choice: 1, text: 'a' }, 'a'],
    [{ type: 'refusal-delta', choice: 1, text: 'a' }, 'a'],
    [{ type: 'tool-call-delta', choice: 1, callIndex: 0, text: 'a', kind: 'function' }, 'a'],
    [{ type: 'audio-delta', choice: 1, audio: { transcript: 'a' } }, 'a']
  ]
  const keys = new Set(rows.map(([event, text]) => {
    const { queue, pieces } = readEvent(event, shout, undefined)
    t.equal(queue, 1, event.type)
    t.same(pieces?.list.map(piece => piece.text), [text], event.type)
    t.match(JSON.stringify(pieces?.replacedBy(['b'])), /"b"/, event.type)
    return pieces?.list[0]?.key
  }))
  t.equal(keys.size, rows.length, 'texts of different kinds have different keys')
  t.notMatch(
    readEvent(
      { type: 'text-delta', choice: 0, text: 'a', logprobs: { content: [] } },
      shout,
      undefined
    ).pieces?.replacedBy(['b']),
    { logprobs: {} },
    'log probabilities would reveal the original'
  )
  t.end()
})

t.test('progress of a running tool is part of its result', t => {
  const event: ChatEvent = {
    type: 'extra',
    scope: 'answer',
    alone: true,
    fields: { tool_event: { type: 'tool-progress', id: 'c', progress: 1, message: 'x' } }
  }
  const parts = new Map<string, string | undefined>()
  const read = readEvent(
    event,
    (text, { part }) => {
      parts.set(text, part)
      return text.toUpperCase()
    },
    undefined
  )
  t.match(read, {
    event: { fields: { tool_event: { type: 'tool-progress', id: 'c', progress: 1, message: 'X' } } },
    queue: 0
  })
  t.equal(parts.get('x'), 'tool_result')
  t.end()
})

t.test('complete texts are replaced at once', t => {
  const rows: ReadonlyArray<readonly [event: ChatEvent, expected: object]> = [
    [
      {
        type: 'tool-result',
        result: { toolName: 'n', serverName: 's', arguments: { a: 'x' }, isError: false, result: ['y'] }
      },
      { result: { toolName: 'n', arguments: { a: 'X' }, result: ['Y'] } }
    ],
    [
      { type: 'tool-approval-needed', serverName: 's', toolName: 'n', arguments: { a: 'x' } },
      { serverName: 's', arguments: { a: 'X' } }
    ],
    [{ type: 'tool-servers-failed', errors: { s: { message: 'x' } } }, { errors: { s: { message: 'X' } } }],
    [
      {
        type: 'tools-listed',
        serverName: 's',
        tools: [{ name: 'n', description: 'x', inputSchema: { a: 'y' }, annotations: { title: 'z' } }]
      },
      { tools: [{ name: 'n', description: 'X', inputSchema: { a: 'Y' }, annotations: { title: 'Z' } }] }
    ],
    [{ type: 'choice-end', choice: 0, reason: 'stop', stopSequence: 'x' }, { stopSequence: 'X' }],
    [
      {
        type: 'tool-call-start',
        choice: 0,
        callIndex: 0,
        id: 'i',
        name: 'n',
        kind: 'function',
        extra: { tool_event: { message: 'x' } }
      },
      { extra: { tool_event: { message: 'X' } } }
    ],
    [
      { type: 'annotation-delta', choice: 0, annotations: [{ type: 'c', title: 'x' }] },
      { annotations: [{ title: 'X' }] }
    ],
    [{ type: 'direct-answer', json: '{ "x":"y" }' }, { json: '{ "x":"Y" }' }]
  ]
  for (const [event, expected] of rows) {
    t.match(readEvent(event, shout, undefined).event, expected, event.type)
    t.equal(
      readEvent(event, text => text, undefined).event,
      event,
      `${event.type}: the same object if nothing is replaced`
    )
  }
  t.end()
})

t.test('signed thinking and unknown fields are inspected, but never changed', t => {
  const rows: ReadonlyArray<readonly [event: ChatEvent, seen: string]> = [
    [{ type: 'thinking-block', choice: 0, block: { type: 'thinking', thinking: 'x', signature: 's' } }, 'x'],
    [{ type: 'extra', scope: 'answer', fields: { x_new: 'x' } }, 'x'],
    [{ type: 'extra', scope: 'message', choice: 0, fields: { x_new: 1 } }, 'x_new'],
    [
      {
        type: 'tool-call-start',
        choice: 0,
        callIndex: 0,
        id: 'i',
        name: 'n',
        kind: 'function',
        extra: { x_new: 'x' }
      },
      'x'
    ]
  ]
  for (const [event, seen] of rows) {
    t.ok(inspected(event).includes(seen), event.type)
    t.equal(readEvent(event, shout, undefined).event, event, event.type)
  }
  t.end()
})

t.test('each string in an unknown field of a message may be a piece of a text', t => {
  const event: ChatEvent = {
    type: 'extra',
    scope: 'message',
    choice: 1,
    fields: { x_new: [{ type: 'a', text: 'b', n: 1 }], other: '' }
  }
  const { queue, pieces } = readEvent(event, shout, undefined)
  t.equal(queue, 1)
  t.same(pieces?.list.map(({ text, place: { kind } }) => [text, kind]), [['a', 'fixed'], ['b', 'fixed']])
  t.equal(new Set(pieces?.list.map(({ key }) => key)).size, 2)
  t.equal(pieces?.replacedBy([]), event)
  t.end()
})

t.test('replacements in a passed-through message leave the rest of its JSON unchanged', t => {
  const json =
    '{ "type":"content_block_delta", "index":0, "delta":{"type":"text_delta","text":"a"}, "x_new":1.0 }'
  const { pieces, ends } = readEvent(
    { type: 'direct-frame', name: 'content_block_delta', json },
    shout,
    messages.direct?.texts
  )
  t.same(pieces?.list.map(({ text }) => text), ['a'])
  t.equal(ends, undefined)
  t.match(pieces?.replacedBy(['b']), { json: json.replace('"a"', '"b"') })
  const start = readEvent(
    {
      type: 'direct-frame',
      name: 'content_block_start',
      json: '{"index":0,"content_block":{"type":"text","text":"a"}}'
    },
    shout,
    messages.direct?.texts
  )
  t.match(
    start.event,
    { json: '{"index":0,"content_block":{"type":"text","text":"A"}}' },
    'also without a type'
  )
  t.match(
    readEvent(
      { type: 'direct-frame', name: 'content_block_delta', json: '["a"]' },
      shout,
      messages.direct?.texts
    ).event,
    { json: '["A"]' },
    'also if it is not an object'
  )
  t.throws(
    () => readEvent(
      { type: 'direct-frame', name: 'content_block_delta', json: '{"a' },
      shout,
      messages.direct?.texts
    ),
    { code: 'upstream_invalid_response' }
  )
  t.end()
})
