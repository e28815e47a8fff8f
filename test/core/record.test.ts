import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import {
  CallRecord, noteError, noteToolCall, ToolFacts, noteIgnored, RequestFacts, hadChoiceOfRoutes, RoutingFacts,
  cutName
} from '../../lib/core/record.ts'
import { noteOutput, noteUsage } from '../../lib/core/usage-facts.ts'
import { route } from '../support/routes.ts'
import { testGateway } from '../support/gateway.ts'

t.test('all records have the same shape, whatever is set', async t => {
  const record = new CallRecord('chat')
  const fieldsOf = (): unknown => Object.entries(record).map(([name, group]: [string, unknown]) =>
    [name, group instanceof Object ? Object.keys(group) : undefined])
  const fields = fieldsOf()
  noteUsage(record.usage, { promptTokens: 1, completionTokens: 2, totalTokens: 3 }, undefined)
  noteOutput(record.usage, 3)
  noteError(record.end, new Error('x'))
  t.same(fieldsOf(), fields)
})

t.test('the first end of a call counts', async t => {
  const record = new CallRecord('chat')
  t.equal(noteError(record.end, new GatewayError('upstream_timeout', { cause: 'slow' })), 'error')
  t.equal(noteError(record.end, new GatewayError('client_closed_request')), 'error')
  t.strictSame([record.end.errorCode, record.end.cause], ['upstream_timeout', 'slow'])
})

t.test('a disconnect is not an error, and an unknown error is an internal one', async t => {
  const left = new CallRecord('chat')
  t.equal(noteError(left.end, new GatewayError('client_closed_request')), 'client_closed')
  const broken = new CallRecord('chat')
  const cause = new Error('x')
  t.equal(noteError(broken.end, cause), 'error')
  t.strictSame([broken.end.errorCode, broken.end.cause], ['internal_error', cause])
})

t.test('ids of tool calls are recorded in order, and a call without one is left out', async t => {
  const tools = new ToolFacts()
  noteToolCall(tools, '')
  t.equal(tools.callIds, undefined)
  noteToolCall(tools, 'a')
  noteToolCall(tools, 'b')
  t.same(tools.callIds, ['a', 'b'])
})

t.test('ignored fields are recorded once, up to 20, each cut at 64 characters', async t => {
  const request = new RequestFacts()
  noteIgnored(request, 'x'.repeat(100))
  noteIgnored(request, 'x'.repeat(100))
  t.same(request.ignoredFields, ['x'.repeat(64)])
  for (let number = 0; number < 30; number++) noteIgnored(request, `field ${number}`)
  t.equal(request.ignoredFields?.length, 20)
})

t.test('a call had several routes if one was left over, or one failed or was skipped', async t => {
  const routing = new RoutingFacts()
  t.notOk(hadChoiceOfRoutes(routing))
  routing.routes = [route('one/a')]
  t.notOk(hadChoiceOfRoutes(routing))
  routing.unusedRoutes = [{ route: route('two/b'), reason: 'cooling_down' }]
  t.ok(hadChoiceOfRoutes(routing))
  routing.unusedRoutes = undefined
  routing.routes = [route('one/a'), route('two/b')]
  t.ok(hadChoiceOfRoutes(routing))
})

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
