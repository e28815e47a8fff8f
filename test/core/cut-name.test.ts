import t from 'tap'
import { cutName } from '../../lib/core/cut-name.ts'
import { testGateway } from '../support/gateway.ts'

t.test('a long name is cut at 256 characters', async t => {
  t.equal(cutName('openai/gpt-4.1'), 'openai/gpt-4.1')
  t.equal(cutName('x'.repeat(2_000_000)).length, 256)
})

t.test('a long name is truncated in rows and logs, on any endpoint', async t => {
  const api = await testGateway(t)
  const model = `one/${'m'.repeat(10_000)}`
  const bodies = {
    '/v1/chat/completions': { model, messages: 'x' },
    '/v1/completions': { model, prompt: 'x' },
    '/v1/embeddings': { model, input: 'x' },
    '/v1/responses': { model, input: 'x' },
    '/v1/messages': { model, max_tokens: 5, messages: [{ role: 'user', content: 'x' }] },
    '/v1/images/generations': { model, prompt: 'x' },
    '/v1/audio/speech': { model, input: 'x', voice: 'x' }
  }
  for (const [path, body] of Object.entries(bodies)) {
    for (const names of [body, { ...body, model: [model, model] }]) {
      const { status } = await api.post(path, names)
      t.ok(status === 422 || status === 400, `${path} ${status}`)
    }
  }
  t.ok(api.lines.length > 0)
  for (const line of api.lines) t.ok(JSON.stringify(line).length < 5000, JSON.stringify(line).slice(0, 200))
})
