import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { xaiChat } from '../../lib/providers/xai/index.ts'
import { errorOf, readResponse, streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { readEvents } from '../support/read-events.ts'
import { xaiAsk, xaiBody } from '../support/xai.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures/xai')
const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as Array<{ name: string, request: Partial<ChatInput> }> // ours

function fixture (name: string): Partial<ChatInput> {
  const found = requests.find(request => request.name === name)
  if (found === undefined) throw new Error(`no fixture ${name}`)
  return found.request
}

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.sse'))
  t.ok(names.length >= 4)
  for (const name of names) {
    const bytes = readFileSync(join(fixtures, name))
    const expected: unknown = JSON.parse(readFileSync(join(fixtures, name.replace('.sse', '.events.json')), 'utf8'))
    for (const size of cutSizes) {
      t.same(readEvents(cut(bytes, size), streamOf(xaiChat, xaiAsk({ n: 2 }))), expected, `${name} ${size}`)
    }
  }
})

t.test('reasoning counted beside the completion is counted in, and only then', async t => {
  const usageOf = (prompt: number, completion: number, total: number, reasoning?: number): unknown => {
    const events = readResponse(xaiChat, {
      choices: [{ index: 0, message: { role: 'assistant', content: '303', reasoning_content: 'hm' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, completion_tokens_details: { reasoning_tokens: reasoning } }
    }, xaiAsk())
    return events.at(-1)
  }
  t.match(usageOf(32, 9, 135, 94), { usage: { completionTokens: 103, totalTokens: 135, reasoningTokens: 94 } })
  t.match(usageOf(32, 103, 135, 94), { usage: { completionTokens: 103 } }, 'already counted in')
  t.match(usageOf(32, 9, 41), { usage: { completionTokens: 9 } })
  t.match(usageOf(32, 9, 40, 3), { usage: { completionTokens: 9 } }, 'a total that fits neither is left alone')
})

t.test('an error under status 200 is what its words say, in one piece or in a stream', async t => {
  const cases: Array<[unknown, string, number]> = [
    [{ code: 'The service is currently unavailable', error: 'The model is at capacity' }, 'upstream_overloaded', 503],
    [{ code: 'Client specified an invalid argument', error: 'Bad stop' }, 'upstream_invalid_request', 400],
    [{ code: 'Some resource has been exhausted', error: 'Too many' }, 'rate_limit_exceeded', 429],
    [{ code: 'permission-denied', error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO' }, 'content_policy_violation', 400],
    [{ code: 'Unheard of', error: 'What' }, 'upstream_error', 502],
    [{ error: 'Only words' }, 'upstream_error', 502]
  ]
  for (const [body, code, status] of cases) {
    t.throws(() => readResponse(xaiChat, body, xaiAsk()), { code, status }, JSON.stringify(body))
    const stream = Buffer.from(`data: ${JSON.stringify(body)}\n\n`)
    t.throws(() => readEvents([stream], streamOf(xaiChat, xaiAsk())), { code, status }, `streamed ${code}`)
  }
  t.throws(() => readEvents([Buffer.from('data: {"code": "half\n\n')], streamOf(xaiChat, xaiAsk())), { code: 'upstream_invalid_response' })
})

t.test('a refusal by status blames the content, the field or the key, and names no one', async t => {
  const error = (status: number, body: unknown, callerKey = false): GatewayError => {
    return errorOf(xaiChat, { status, headers: {}, body }, xaiAsk(), callerKey ? 'own-key' : undefined)
  }
  const refused = error(403, {
    code: 'permission-denied',
    error: 'Content violates usage guidelines. Team: team-canary, API key ID: canary-id, Model: grok-4.6, Failed check: SAFETY_CHECK_TYPE_BIO'
  })
  t.match(refused, { code: 'content_policy_violation', status: 400, fault: 'caller', message: /SAFETY_CHECK_TYPE_BIO/ })
  t.notMatch(JSON.stringify([refused.toBody(), refused.cause]), /canary/)
  t.match(error(403, { code: 'permission-denied', error: 'The key is blocked' }), { code: 'upstream_auth_failed', status: 502, fault: 'credential' })
  t.match(error(403, { code: 'permission-denied', error: 'The key is blocked' }, true), { code: 'invalid_provider_key', status: 403 })
  t.match(error(400, { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***' }), { code: 'upstream_auth_failed' })
  t.match(error(410, { error: 'Live search is deprecated.' }), { code: 'unsupported_parameter', status: 400, param: 'search_parameters' })
  t.match(error(429, { error: 'slow' }), { code: 'rate_limit_exceeded', fault: 'rate_limit' })
})

t.test('the body holds what xAI knows, as it wants it', async t => {
  t.same(xaiBody({}), { model: 'grok-4.6', messages: [{ role: 'user', content: 'hi' }] })
  const { messages: _, model, tools, ...rest } = xaiBody(fixture('every field it takes'), true)
  const { tools: __, ...expected } = fixture('every field it takes')
  t.same(rest, { ...expected, stop: ['END'], stream: true, stream_options: { include_usage: true } })
  t.equal(model, 'grok-4.6')
  t.same(tools, [{ type: 'function', function: { name: 'ferry_times', parameters: { type: 'object', properties: { pier: { anyOf: [{ type: 'string' }] } } } } }])
  t.same(xaiBody(fixture('fields of others')), { model: 'grok-4.6', messages: [{ role: 'user', content: 'hi' }], reasoning_effort: 'low' })
  t.same(xaiBody(fixture('a conversation with functions')), {
    model: 'grok-4.6',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'When?' }, { type: 'image_url', image_url: { url: 'https://example.com/clock.png' } }], name: 'ada' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call00002', type: 'function', function: { name: 'now', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'call00002', content: 'noon' },
      { role: 'user', content: 'Thanks' }
    ],
    tools: [{ type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } }],
    tool_choice: { type: 'function', function: { name: 'now' } },
    parallel_tool_calls: false
  })
})

t.test('what would give the caller something else than requested is refused, by name', async t => {
  const rows: Array<[Partial<ChatInput>, string]> = [
    [{ modalities: ['text', 'audio'], audio: { format: 'wav', voice: 'eve' } }, 'modalities'],
    [{ audio: { format: 'wav', voice: 'eve' } }, 'audio'],
    [{ logprobs: true, top_logprobs: 9 }, 'top_logprobs'],
    [{ seed: 2 ** 31 }, 'seed'],
    [{ tools: [{ type: 'custom', custom: { name: 'sql' } }] }, 'tools[0].type']
  ]
  for (const [request, param] of rows) t.throws(() => xaiBody(request), { code: 'unsupported_parameter', status: 400, param }, param)
})
