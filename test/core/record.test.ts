import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { CallRecord, noteError, noteOutput, noteUsage } from '../../lib/core/record.ts'

const usage = (promptTokens: number, completionTokens: number) => ({
  promptTokens, completionTokens, totalTokens: promptTokens + completionTokens
})

t.test('all records have one shape, whatever becomes known', async t => {
  const record = new CallRecord('chat')
  const fields = Object.keys(record)
  noteUsage(record, usage(1, 2), undefined)
  noteOutput(record, 3)
  noteError(record, new Error('x'))
  t.same(Object.keys(record), fields)
})

t.test('usage is that of all turns, each counted once however often it is reported', async t => {
  const record = new CallRecord('chat')
  record.usageEstimated = true
  noteUsage(record, usage(10, 1), undefined)
  noteUsage(record, usage(10, 5), undefined)
  t.strictSame([record.usage, record.answers.length], [usage(10, 5), 1], 'a later report of one answer replaces the earlier')
  const first = record.usage
  noteUsage(record, usage(20, 2), first)
  t.strictSame(record.usage, usage(30, 7))
  t.strictSame(record.answers, [{ earlier: undefined, usage: usage(10, 5) }, { earlier: first, usage: usage(20, 2) }])
  t.equal(record.usageEstimated, false)
})

t.test('output adds up, and none so far is not zero', async t => {
  const record = new CallRecord('chat')
  noteOutput(record, 0)
  t.equal(record.outputCharacters, undefined)
  noteOutput(record, 6)
  noteOutput(record, 1)
  t.equal(record.outputCharacters, 7)
})

t.test('the first end of a call is its end', async t => {
  const record = new CallRecord('chat')
  t.equal(noteError(record, new GatewayError('upstream_timeout', { cause: 'slow' })), 'error')
  t.equal(noteError(record, new GatewayError('client_closed_request')), 'error')
  t.strictSame([record.errorCode, record.cause], ['upstream_timeout', 'slow'])
})

t.test('a caller who has left is no error, and what is not ours is an internal one', async t => {
  const left = new CallRecord('chat')
  t.equal(noteError(left, new GatewayError('client_closed_request')), 'client_closed')
  const broken = new CallRecord('chat')
  const cause = new Error('x')
  t.equal(noteError(broken, cause), 'error')
  t.strictSame([broken.errorCode, broken.cause], ['internal_error', cause])
})
