import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { CallRecord, noteError, noteOutput, noteUsage, cutName } from '../../lib/core/record.ts'
import { testGateway } from '../support/gateway.ts'

const usage = (promptTokens: number, completionTokens: number) => ({
  promptTokens, completionTokens, totalTokens: promptTokens + completionTokens
})

t.test('all records have the same shape, whatever is set', async t => {
  const record = new CallRecord('chat')
  const fields = Object.keys(record)
  noteUsage(record, usage(1, 2), undefined)
  noteOutput(record, 3)
  noteError(record, new Error('x'))
  t.same(Object.keys(record), fields)
})

t.test('usage is summed over all turns, each counted once however often it is reported', async t => {
  const record = new CallRecord('chat')
  record.usageEstimated = true
  noteUsage(record, usage(10, 1), undefined)
  noteUsage(record, usage(10, 5), undefined)
  t.strictSame(
    [record.usage, record.answerUsages.length],
    [usage(10, 5), 1],
    'a later report of the same answer replaces the earlier'
  )
  const first = record.usage
  noteUsage(record, usage(20, 2), first)
  t.strictSame(record.usage, usage(30, 7))
  t.strictSame(record.answerUsages, [
    { earlier: undefined, usage: usage(10, 5) },
    { earlier: first, usage: usage(20, 2) }
  ])
  t.equal(record.usageEstimated, false)
})

t.test('counts of parts are limited to those of their wholes, as costs assume', async t => {
  const record = new CallRecord('chat')
  noteUsage(record, { ...usage(10, 1), cachedTokens: 12, reasoningTokens: 3 }, undefined)
  t.match(record.usage, { cachedTokens: 10, reasoningTokens: 1 })
  t.match(record.answerUsages, [{ usage: { cachedTokens: 10, reasoningTokens: 1 } }])
})

t.test('output is summed, and stays absent until there is some', async t => {
  const record = new CallRecord('chat')
  noteOutput(record, 0)
  t.equal(record.outputCharacters, undefined)
  noteOutput(record, 6)
  noteOutput(record, 1)
  t.equal(record.outputCharacters, 7)
})

t.test('the first end of a call counts', async t => {
  const record = new CallRecord('chat')
  t.equal(noteError(record, new GatewayError('upstream_timeout', { cause: 'slow' })), 'error')
  t.equal(noteError(record, new GatewayError('client_closed_request')), 'error')
  t.strictSame([record.errorCode, record.cause], ['upstream_timeout', 'slow'])
})

t.test('a disconnect is not an error, and an unknown error is an internal one', async t => {
  const left = new CallRecord('chat')
  t.equal(noteError(left, new GatewayError('client_closed_request')), 'client_closed')
  const broken = new CallRecord('chat')
  const cause = new Error('x')
  t.equal(noteError(broken, cause), 'error')
  t.strictSame([broken.errorCode, broken.cause], ['internal_error', cause])
})

t.test('a long name is truncated', async t => {
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
