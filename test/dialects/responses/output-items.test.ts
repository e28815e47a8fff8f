import t from 'tap'
import { Approvals } from '../../../lib/dialects/responses/approvals.ts'
import { OutputItems } from '../../../lib/dialects/responses/output-items.ts'
import { packReasoning } from '../../../lib/dialects/responses/reasoning-state.ts'
import { SentNames } from '../../../lib/dialects/responses/sent-names.ts'
import type { ChatEvent, FinishReason } from '../../../lib/core/events.ts'

function items (
  events: readonly ChatEvent[],
  names = new SentNames()
): { readonly done: readonly unknown[], readonly types: readonly string[], readonly end: unknown } {
  const types: string[] = []
  const all = new OutputItems(
    {
      event: ({ type }: { readonly type: string }) => {
        types.push(type)
      },
      text: () => {
        types.push('text')
      }
    },
    { names, approvals: new Approvals([]), listed: new Set(), model: 'one/m', logprobs: false }
  )
  for (const event of events) all.add(event)
  const end = all.end()
  return { done: all.done, types, end }
}

const failure = { code: 'connection_lost', message: 'The tool server could not be reached.' } as const
const ran: ChatEvent = {
  type: 'tool-result',
  result: { toolName: 'a', serverName: 's', arguments: {}, isError: false, result: 'x' }
}
const says = (text: string): ChatEvent => ({ type: 'text-delta', choice: 0, text })
const stop: ChatEvent = { type: 'choice-end', choice: 0, reason: 'stop' }

t.test('citations of a turn after tools keep their positions', async t => {
  const annotations = [{ url: 'https://a.example', start_index: 9, end_index: 15 }]
  const { done } = items([
    says('Let me look that up.'),
    ran,
    says('Sunny in Berlin'),
    { type: 'annotation-delta', choice: 0, annotations },
    stop
  ])
  t.match(done[2], { content: [{ annotations: [{ start_index: 9, end_index: 15 }] }] })
})

t.test('a server whose call failed is not reported as unlisted', async t => {
  const { done } = items([
    { type: 'tools-listed', serverName: 's', tools: [] },
    ran,
    says('Hi'),
    { type: 'tool-servers-failed', errors: { s: failure, other: failure } },
    stop
  ])
  t.match(done, [
    { type: 'mcp_list_tools', server_label: 's' },
    { type: 'mcp_call' },
    { type: 'message' },
    { type: 'mcp_list_tools', server_label: 'other', error: failure.message }
  ])
  t.equal(done.length, 4)
})

t.test('text, reasoning and calls become items, in the order in which they begin', async t => {
  const names = new SentNames()
  names.add({ name: 'look', kind: 'function' })
  const { done } = items([
    { type: 'reasoning-delta', choice: 0, text: 'hm' }, says('Let me see.'),
    { type: 'tool-call-start', choice: 0, callIndex: 0, kind: 'function', id: 'a', name: 'look' },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, kind: 'function', text: '{}' },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'choice-end', choice: 0, reason: 'tool_calls' }
  ], names)
  t.match(done, [
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
    { type: 'message', content: [{ type: 'output_text', text: 'Let me see.' }] },
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' }
  ])
})

t.test('a text of another phase is another message', async t => {
  const text = (text: string, phase: string): ChatEvent => ({ type: 'text-delta', choice: 0, text, phase })
  const { done } = items([
    text('Let', 'commentary'),
    text(' me.', 'commentary'),
    text('7', 'final_answer'),
    stop
  ])
  t.match(done, [
    { type: 'message', phase: 'commentary', content: [{ text: 'Let me.' }] },
    { type: 'message', phase: 'final_answer', content: [{ text: '7' }] }
  ])
  t.notOk('phase' in Object(items([says('a'), stop]).done[0]))
  const annotations = [{ url: 'https://a.example', start_index: 11, end_index: 12 }]
  const cited = items([
    text('Let me.', 'commentary'), text('See 7', 'final_answer'),
    { type: 'annotation-delta', choice: 0, annotations }, stop
  ])
  t.match(cited.done[1], { content: [{ annotations: [{ start_index: 4, end_index: 5 }] }] }, 'in its message')
})

t.test('thinking blocks that wait for a call to finish are all kept', async t => {
  const thought = (signature: string): ChatEvent => ({
    type: 'thinking-block',
    choice: 0,
    block: { type: 'thinking', thinking: 'hm', signature }
  })
  const {
    done: [, first, second]
  } = items([
    { type: 'tool-call-start', choice: 0, callIndex: 0, kind: 'function', id: 'a', name: 'look' },
    thought('1'),
    thought('2'),
    stop
  ])
  const packed = (signature: string): string =>
    packReasoning({ model: 'one/m', blocks: [{ type: 'thinking', thinking: 'hm', signature }] })
  t.match([first, second], [{ encrypted_content: packed('1') }, { encrypted_content: packed('2') }])
})

t.test('reasoning without provider state can be sent back too', async t => {
  const {
    done: [reasoning]
  } = items([{ type: 'reasoning-delta', choice: 0, text: 'hm' }, says('Yes.'), stop])
  t.equal(Reflect.get(Object(reasoning), 'encrypted_content'), packReasoning({ model: 'one/m' }))
})

t.test('a refusal is a part of its message', async t => {
  t.match(items([{ type: 'refusal-delta', choice: 0, text: 'No.' }, stop]).done, [
    { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }
  ])
})

t.test('every added item is finished, the last one at the end', async t => {
  const { types } = items([says('a'), says('b'), stop])
  t.equal(types.filter(type => type === 'response.output_item.added').length, 1)
  t.equal(types.at(-1), 'response.output_item.done')
})

t.test('an answer without a finish reason is complete, a truncated or filtered one is not', async t => {
  t.match(items([says('a')]).end, { status: 'completed' })
  t.match(items([says('a'), { type: 'choice-end', choice: 0, reason: 'length' }]).end, {
    status: 'incomplete',
    reason: 'max_output_tokens'
  })
  t.match(items([says('a'), { type: 'choice-end', choice: 0, reason: 'content_filter' }]).end, {
    status: 'incomplete',
    reason: 'content_filter'
  })
})

t.test('a truncated call is incomplete, also a free-form one', async t => {
  const names = new SentNames()
  names.add({ name: 'patch', kind: 'custom' })
  const calls = (name: string, text: string, reason: FinishReason): readonly ChatEvent[] => [
    { type: 'tool-call-start', choice: 0, callIndex: 0, kind: 'function', id: 'a', name },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, kind: 'function', text },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'choice-end', choice: 0, reason }
  ]
  t.match(items(calls('look', '{"cmd":"ls', 'length')).done, [
    { type: 'function_call', status: 'incomplete', arguments: '{"cmd":"ls' }
  ])
  t.match(items(calls('patch', '{"input":"*** Beg', 'length'), names).done, [
    { type: 'custom_tool_call', status: 'incomplete' }
  ])
  t.match(
    items(calls('look', '{"cmd":"ls"}', 'length')).done,
    [{ status: 'completed' }],
    'truncated before the next call began'
  )
  t.match(
    items(calls('look', '', 'length')).done,
    [{ status: 'incomplete' }],
    'truncated before its first argument'
  )
  t.match(items(calls('look', '', 'tool_calls')).done, [{ status: 'completed', arguments: '{}' }])
  t.match(
    items(calls('look', '{"cmd":"ls', 'tool_calls')).done,
    [{ status: 'completed' }],
    'invalid arguments without truncation'
  )
})

t.test(
  'a call with partial arguments is completed if the answer goes on, and incomplete if truncated',
  async t => {
    const start = (call: number): ChatEvent => ({
      type: 'tool-call-start',
      choice: 0,
      callIndex: call,
      kind: 'function',
      id: String(call),
      name: 'look'
    })
    const text = (call: number, text: string): ChatEvent => ({
      type: 'tool-call-delta',
      choice: 0,
      callIndex: call,
      kind: 'function',
      text
    })
    const end = (call: number): ChatEvent => ({ type: 'tool-call-end', choice: 0, callIndex: call })
    const cut: ChatEvent = { type: 'choice-end', choice: 0, reason: 'length' }
    const { done, types } = items([start(0), text(0, '{"a'), end(0), says('Hm.'), cut])
    t.match(done, [
      { type: 'function_call', status: 'completed' },
      { type: 'message', status: 'incomplete' }
    ])
    t.ok(types.indexOf('response.output_item.done') < types.indexOf('text'))
    t.match(items([start(0), start(1), text(0, '{"a'), text(1, '{}'), end(0), end(1), cut]).done, [
      { call_id: '0', status: 'incomplete' },
      { call_id: '1', status: 'completed' }
    ])
  }
)

t.test('cited pages have every field, and other annotations are left out', async t => {
  const annotations = [
    { type: 'url_citation', url_citation: { url: 'https://a.example', end_index: 2 } },
    { type: 'of_the_future', a: 1 },
    'text',
    { url: 'https://b.example', title: 'B' }
  ]
  t.match(items([says('Hi'), { type: 'annotation-delta', choice: 0, annotations }, stop]).done, [
    {
      content: [
        {
          annotations: [
            { type: 'url_citation', url: 'https://a.example', title: '', start_index: 0, end_index: 2 },
            { type: 'url_citation', url: 'https://b.example', title: 'B', start_index: 0, end_index: 0 }
          ]
        }
      ]
    }
  ])
  t.same(items([{ type: 'annotation-delta', choice: 0, annotations: [1] }, stop]).done, [])
})
