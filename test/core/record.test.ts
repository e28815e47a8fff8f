import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { CallRecord, noteError, noteToolCall, ToolFacts } from '../../lib/core/record.ts'
import { noteOutput, noteUsage } from '../../lib/core/usage-facts.ts'

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
