import t from 'tap'
import { callFrom, sandboxProvider, testServices, textOf } from '../../lib/public/testing.ts'
import { providerCall } from '../../lib/public/stages.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { collect } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

t.test('a call names its provider and model, and has its request as the body', async t => {
  const request = { model: 'openai/team/gpt', messages: [] }
  const call = callFrom(request, { headers: { 'x-a': 'b' } })
  t.match(call, {
    request,
    headers: { 'x-a': 'b' },
    routes: [{ providerId: 'openai', model: 'team/gpt', modelId: 'openai/team/gpt' }],
    key: { id: 'test' }
  })
  t.equal(await call.body(), request)
  t.equal(call.signal.aborted, false)
})

t.test('the simulated provider answers a stage, and services end with `close`', async t => {
  const services = testServices(sandboxProvider())
  const call = callFrom<ChatInput>({
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Say hello.' }]
  })
  const batches = await collect(providerCall(services, 'chat')(once(call)))
  t.match(batches[0]?.events.find(({ type }) => type === 'text-delta'), { text: /hello/i })
  t.equal(services.keys.check('anything')?.id, 'test')
  await services.close()
})

t.test('the body of a reply is read as text, including characters across a cut', async t => {
  const bytes = Buffer.from('ü')
  async function * pieces (): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 1)
    yield bytes.subarray(1)
  }
  async function * texts (): AsyncGenerator<string> { yield * ['a', 'b'] }
  const reply = { status: 200, headers: {} }
  t.equal(await textOf({ ...reply, body: 'all' }), 'all')
  t.equal(await textOf({ ...reply, body: bytes }), 'ü')
  t.equal(await textOf({ ...reply, body: pieces() }), 'ü')
  t.equal(await textOf({ ...reply, body: texts() }), 'ab')
})
