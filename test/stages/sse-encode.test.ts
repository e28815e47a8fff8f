import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { chain } from '../../lib/pipeline/chain.ts'
import { normalise } from '../../lib/stages/normalise.ts'
import { sseEncode } from '../../lib/stages/sse-encode.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const text = (text: string): ChatEvent => ({ type: 'text-delta', choice: 0, text })
const end: ChatEvent = { type: 'choice-end', choice: 0, reason: 'stop' }
const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }

async function written (
  lists: ChatEvent[][],
  request: Partial<ChatInput> = {},
  failure?: unknown,
  signal?: AbortSignal
): Promise<string[]> {
  const call = routedCall<ChatInput>(
    { model: 'one/m', messages: [], stream: true, ...request },
    signal === undefined ? {} : { signal }
  )
  return (await collect(chain(normalise(), sseEncode())(batchesOf(call, lists, failure)))).map(piece =>
    Buffer.from(piece).toString()
  )
}

function chunksOf (pieces: string[]): Array<Record<string, unknown>> {
  const frames = pieces.join('').split('\n\n').slice(0, -1)
  t.equal(frames.at(-1), 'data: [DONE]')
  // printed by us
  return frames.slice(0, -1).map(frame => JSON.parse(frame.slice('data: '.length)) as Record<string, unknown>)
}

t.test('a batch is one piece of text, and the last frame is [DONE]', async t => {
  const pieces = await written([[text('a')], [text('b'), text('"\n€')], [end]])
  const chunks = chunksOf(pieces)
  t.equal(pieces.length, 3, 'two batches of text, and the end')
  t.same(
    chunks.map(({ choices }) => choices),
    [
      [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null, logprobs: null }],
      ...['a', 'b', '"\n€'].map(content => [
        { index: 0, delta: { content }, finish_reason: null, logprobs: null }
      ]),
      [{ index: 0, delta: {}, finish_reason: 'stop', logprobs: null }]
    ]
  )
  t.equal(new Set(chunks.map(({ id, model, created }) => JSON.stringify([id, model, created]))).size, 1)
})

t.test('usage is a separate chunk, for callers who request it', async t => {
  t.notMatch((await written([[text('a'), end, usage]])).join(''), /"usage"/)
  const chunks = chunksOf(
    await written([[text('a'), end, usage]], { stream_options: { include_usage: true } })
  )
  t.match(chunks.at(-1), { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } })
  t.ok(chunks.slice(0, -1).every(({ usage }) => usage === null))
})

t.test('obfuscation pads each chunk, for callers who request it', async t => {
  const chunks = chunksOf(
    await written([[text('a'), text('a')]], { stream_options: { include_obfuscation: true } })
  )
  for (const { obfuscation } of chunks.slice(0, 2)) t.match(obfuscation, /^[\w-]{1,16}$/)
})

t.test('an error after the first batch is the last message, and nothing follows', async t => {
  const pieces = await written([[text('a')]], {}, new GatewayError('upstream_stream_interrupted'))
  t.match(pieces.at(-1), /^event: error\ndata: \{"error":\{.*"code":"upstream_stream_interrupted".*\}\}\n\n$/)
  t.notMatch(pieces.join(''), /DONE/)
})

t.test('an error before the first batch is thrown, to become a status', async t => {
  await t.rejects(written([], {}, new GatewayError('upstream_error')), { code: 'upstream_error' })
})

t.test('after the caller disconnects, the text just ends', async t => {
  const signal = AbortSignal.abort(new GatewayError('client_closed_request'))
  const pieces = await written([[text('a')]], {}, new Error('cut'), signal)
  t.notMatch(pieces.join(''), /error|DONE/)
})
