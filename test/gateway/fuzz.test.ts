import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { testGateway } from '../support/gateway.ts'
import { providerSettings } from '../support/settings.ts'

const sandbox = { ...providerSettings('sandbox', 'sandbox'), baseUrl: 'sandbox:', options: { words_per_second: 0 } }

const anything = fc.anything({ maxDepth: 2 })
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string() }),
  fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url: fc.constantFrom('https://example.com/a.png', 'data:image/png;base64,AA') }) })
)
const message = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'developer', 'assistant'), content: fc.string() }),
  fc.record({ role: fc.constant('user'), content: fc.oneof(fc.string(), fc.array(part, { minLength: 1, maxLength: 3 })) }),
  fc.record({ role: fc.constant('tool'), content: fc.string(), tool_call_id: fc.string() })
)
/** Fields with values that are allowed, whatever a provider makes of them. */
const right = fc.record({
  model: fc.constantFrom('sandbox/echo', 'sandbox/story', 'sandbox/thinker'),
  messages: fc.oneof(fc.array(message, { minLength: 1, maxLength: 4 }), fc.string()),
  stream: fc.boolean(),
  n: fc.integer({ min: 1, max: 4 }),
  stop: fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 4 })),
  max_tokens: fc.integer({ min: 1, max: 20 }),
  temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  logprobs: fc.boolean(),
  tools: fc.array(fc.record({ type: fc.constant('function'), function: fc.record({ name: fc.stringMatching(/^[a-z]{1,9}$/), parameters: fc.dictionary(fc.string(), anything) }) }), { maxLength: 2 }),
  tool_choice: fc.constantFrom('none', 'auto', 'required'),
  response_format: fc.record({ type: fc.constant('json_schema'), json_schema: fc.record({ name: fc.constant('x'), schema: fc.dictionary(fc.string(), anything) }) }),
  system: fc.string(),
  metadata: fc.dictionary(fc.string({ maxLength: 9 }), fc.string(), { maxKeys: 3 })
}, { requiredKeys: ['model', 'messages'] })

/** A right request, or one in which a field or two are anything at all. */
const request = fc.tuple(right, fc.option(fc.dictionary(fc.constantFrom('model', 'messages', 'stream', 'n', 'stop', 'tools', 'tool_choice', 'response_format', 'system', 'metadata', 'thinking', 'mcp_servers'), anything, { maxKeys: 2 }), { nil: {} }))
  .map(([fields, odd]) => ({ ...fields, ...odd }))

t.test('whatever is sent, the answer is an answer or says what is wrong', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const seen = new Map<number, number>()
  await fc.assert(fc.asyncProperty(request, async body => {
    const response = await api.post('/v1/chat/completions', body)
    seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
    const text = await response.text()
    if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
      t.ok(text.endsWith('data: [DONE]\n\n'), 'a stream ends')
      return
    }
    const answer = JSON.parse(text) as Record<string, unknown>
    const shape = { 200: 'choices', 422: 'detail' }[response.status] ?? 'error'
    t.ok(shape in answer, `${response.status}: ${text.slice(0, 100)}`)
    t.ok(response.status < 500, `${response.status} for ${JSON.stringify(body)}`)
  }), { numRuns: 400 })
  t.ok(seen.has(200) && seen.has(422), 'some were right and some were not')
})

t.test('bytes that are no HTTP at all end a connection, not the gateway', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const port = Number(new URL(api.url).port)
  await fc.assert(fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async bytes => {
    await new Promise<void>(resolve => {
      const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
      socket.on('error', () => undefined).on('close', () => resolve()).resume()
    })
  }), { numRuns: 100 })
  t.equal((await api.get('/v1/models')).status, 200)
})
