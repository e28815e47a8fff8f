import t from 'tap'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import { streamOf } from '../../support/adapters.ts'
import { eventsOf, finish, question, read, start, stop, stream } from '../../support/anthropic-answers.ts'
import { readEvents } from '../../support/read-events.ts'

t.test('tool calls are numbered separately from other blocks', async t => {
  t.strictSame(
    stream('tools').flatMap(event => (event.type === 'tool-call-start' ? [event.callIndex] : [])),
    [0, 1, 2]
  )
})

t.test('a call without arguments has an empty object', async t => {
  t.match(stream('tool-only').find(event => event.type === 'tool-call-delta'), { text: '{}' })
})

t.test('fields of the wrong type in an answer are ignored', async t => {
  const block = (content_block: unknown): object => ({ type: 'content_block_start', index: 0, content_block })
  const delta = (delta: unknown): object => ({ type: 'content_block_delta', index: 0, delta })
  t.doesNotThrow(() =>
    eventsOf(
      { type: 'message_start', message: null },
      block(null),
      delta(null),
      block({ type: 'text', text: 4, citations: [null, {}] }),
      delta({ type: 'citations_delta' }),
      delta({ type: 'text_delta' }),
      delta({ type: 'thinking_delta', thinking: 'lost' }),
      { type: 'content_block_stop' },
      block({ type: 'tool_use', name: 'f', input: 'x' }),
      delta({ type: 'input_json_delta', partial_json: 7 }),
      { type: 'message_delta' },
      { ...finish, usage: { output_tokens: 'many' } },
      stop
    )
  )
})

t.test('unreadable content is an error, and no call is lost', async t => {
  const block = (content_block: unknown): object => ({
    type: 'content_block_start',
    index: 0,
    content_block
  })
  for (const content of [
    block({ type: 'tool_use' }),
    block({ type: 'tool_use', id: 'k', name: null }),
    block('text'),
    { type: 'content_block_delta', index: 0, delta: 7 }
  ]) {
    t.throws(
      () => eventsOf(start, content, finish, stop),
      { code: 'upstream_invalid_response' },
      JSON.stringify(content)
    )
  }
  const named = { type: 'message_delta', delta: { stop_reason: 'tool_use' } }
  t.throws(
    () => eventsOf(start, named, stop),
    { code: 'upstream_invalid_response' },
    'the call that the reason names is not there'
  )
  t.match(
    eventsOf(start, block({ type: 'text', text: 'a' }), named, stop).find(
      ({ type }) => type === 'choice-end'
    ),
    { reason: 'stop' }
  )
})

t.test('text and thinking without a block start are read anyway', async t => {
  for (const name of ['text', 'thinking']) {
    const bytes = read(`${name}.sse`)
    const frames = bytes.toString().split(/(?<=\n\n)/)
    const unannounced = frames.filter(
      frame =>
        !frame.includes('"content_block":{"type":"te') &&
        !frame.includes('"content_block":{"type":"thinking"')
    )
    t.ok(unannounced.length < frames.length, name)
    const open = (pieces: readonly string[]) =>
      readEvents([Buffer.from(pieces.join(''))], streamOf(anthropicChat, question(name)))
    t.same(open(unannounced), open(frames), name)
  }
})

t.test('call arguments without a block start are an error', async t => {
  const piece = {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{}' }
  }
  t.throws(() => eventsOf(start, piece, finish, stop), { code: 'upstream_invalid_response' })
  t.doesNotThrow(() =>
    eventsOf(
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'server_tool_use' } },
      piece,
      finish,
      stop
    )
  )
})

t.test('a delta whose type is a built-in property name is unknown', async t => {
  const textsOf = (type: string): string[] =>
    eventsOf(start, { type: 'content_block_delta', index: 0, delta: { type, text: 'a' } }, finish, stop)
      .flatMap(event => event.type === 'text-delta' ? [event.text] : [])
  t.same(textsOf('constructor'), textsOf('of_the_future'))
  t.same(textsOf('constructor'), ['a'])
})
