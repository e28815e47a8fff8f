/** Answers kept open by comments and empty messages, in every provider API. */

import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream } from '../support/upstream.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

interface Api {
  readonly kind: ProviderKind
  readonly model: string
  readonly path: string
  readonly request: object
  /** The beginning of a stream, up to its first output. */
  readonly opening: string
}

const messages = [{ role: 'user', content: 'hi' }]
const chat = { path: '/v1/chat/completions', request: { messages } }
const frames = (...events: readonly JsonObject[]): string =>
  events.map(event => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('')

const claude = frames(
  { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } }
)
const response = { id: 'r', object: 'response', created_at: 1, status: 'in_progress', model: 'm', output: [] }
const item = { id: 'i', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
const gpt = frames(
  { type: 'response.created', response },
  { type: 'response.output_item.added', output_index: 0, item },
  { type: 'response.output_text.delta', output_index: 0, item_id: 'i', content_index: 0, delta: 'Hi' }
)
const candidate = { content: { role: 'model', parts: [{ text: 'Hi' }] } }
const gemini = `data: ${JSON.stringify({ candidates: [candidate] })}\n\n`
const completions = chatFrames(['Hi']).slice(0, 2).join('')

const apis: Readonly<Record<string, Api>> = {
  'chat completions': { kind: 'openai-compatible', model: 'm', ...chat, opening: completions },
  'Messages, translated': { kind: 'anthropic', model: 'claude-opus-5', ...chat, opening: claude },
  'Messages, as they came': {
    kind: 'anthropic',
    model: 'claude-opus-5',
    path: '/v1/messages',
    request: { messages, max_tokens: 9 },
    opening: claude
  },
  Gemini: { kind: 'google', model: 'gemini-2.5-flash', ...chat, opening: gemini },
  'Responses, translated': { kind: 'openai', model: 'gpt-5-pro', ...chat, opening: gpt },
  'Responses, as they came': {
    kind: 'openai',
    model: 'gpt-5-pro',
    path: '/v1/responses',
    request: { input: 'hi' },
    opening: gpt
  }
}

const fillers = [
  ': ping\n\n', ':\n', '\n', '\r\n', 'data:\n\n', 'data: null\n\n', 'event: ping\ndata:\n\n', 'id: 1\n\n'
]

/** Sends an opening, and then the filler until the other side disconnects. */
async function * endless (opening: string, filler: string): AsyncGenerator<string> {
  if (opening !== '') yield opening
  for (;;) {
    yield filler
    await new Promise(resolve => { setImmediate(resolve) })
  }
}

for (const [name, { kind, model, path, request, opening }] of Object.entries(apis)) {
  t.test(`${name}: a stream without events times out`, async t => {
    let pieces = endless('', ': ping\n\n')
    const upstream = await fakeUpstream(() => ({ headers: eventStream, pieces }))
    const other = await fakeUpstream({ headers: eventStream, pieces: chatFrames(['from another']) })
    t.teardown(upstream.close)
    t.teardown(other.close)
    const baseUrl = kind.startsWith('openai') ? `${upstream.url}/v1` : upstream.url
    const silent = upstreamAt(baseUrl, 'silent', kind, { retries: 0 })
    const { post } = await testGateway(t, {
      providers: [
        { ...silent, timeouts: { ...silent.timeouts, idleEventsMs: 1 } },
        upstreamAt(`${other.url}/v1`, 'other', 'openai-compatible')
      ],
      limits: { ...settings().limits, callMs: 10_000 }
    })
    const ask = async (model: unknown): Promise<readonly [status: number, text: string]> => {
      const answer = await post(path, { ...request, model, stream: true })
      return [answer.status, await answer.text()]
    }
    for (const filler of fillers) {
      const title = JSON.stringify(filler)
      pieces = endless('', filler)
      const [status, error] = await ask(`silent/${model}`)
      t.equal(status, 504, title)
      t.match(error, /upstream_timeout/, title)
      pieces = endless(opening, filler)
      const [begun, text] = await ask(`silent/${model}`)
      t.equal(begun, 200, title)
      t.match(text, /Hi[^]*The provider did not answer in time/, `${title} after output`)
    }
    if (path !== chat.path) return
    pieces = endless('', ': ping\n\n')
    t.match(await ask([`silent/${model}`, 'other/m']), [200, /from another/], 'the next model answers')
  })
}

/** Repeats a piece, each in its own tick of the event loop, and ends. */
async function * repeated (before: string, piece: string, after: string): AsyncGenerator<string> {
  yield before
  for (let count = 0; count < 50; count++) {
    yield piece
    await new Promise(resolve => { setImmediate(resolve) })
  }
  yield after
}

t.test('a ping that is passed to the caller counts as an event', async t => {
  const ping = frames({ type: 'ping' })
  const end = frames({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' })
  const upstream = await fakeUpstream({ headers: eventStream, pieces: repeated(claude, ping, end) })
  t.teardown(upstream.close)
  const claudes = upstreamAt(upstream.url, 'claudes', 'anthropic')
  const timeouts = { ...claudes.timeouts, idleEventsMs: 1 }
  const { post } = await testGateway(t, { providers: [{ ...claudes, timeouts }] })
  const answer = await post('/v1/messages', { model: 'claudes/m', messages, max_tokens: 9, stream: true })
  const text = await answer.text()
  t.equal(text.split(ping).length, 51)
  t.match(text, /message_stop/)
})

t.test('a complete answer after comments may take as long as the call', async t => {
  const comment = ': PROCESSING\n\n'
  const ask = async (pieces: AsyncIterable<string>, callMs: number): Promise<unknown> => {
    const upstream = await fakeUpstream({ pieces })
    t.teardown(upstream.close)
    const slow = upstreamAt(`${upstream.url}/v1`, 'slow', 'openai-compatible', { retries: 0 })
    const { post } = await testGateway(t, {
      providers: [{ ...slow, timeouts: { ...slow.timeouts, idleEventsMs: 1 } }],
      limits: { ...settings().limits, callMs }
    })
    return await (await post(chat.path, { ...chat.request, model: 'slow/m' })).json()
  }
  const done = repeated('', comment, chatAnswer('done'))
  t.match(await ask(done, 600_000), { choices: [{ message: { content: 'done' } }] })
  t.match(await ask(endless('', comment), 200), { error: { code: 'timeout' } })
})
