import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { replaceRequest } from '../../lib/dialects/replaced-request.ts'
import { routedCall } from '../support/stages.ts'

t.test('repeated replacements change only the affected strings of the request text', t => {
  const before = { a: 'x', b: 'y' }
  const body = {
    text: () => '{ "a":"x", "b":"y", "n":null }',
    print: (object: object) => `as it came: ${JSON.stringify(object)}`
  }
  const first = { ...before, a: 'X' }
  const call = replaceRequest(routedCall(before, { callerBody: () => body }), before, first)
  t.equal(call.request, first)
  const second = { ...first, b: 'Y' }
  const again = replaceRequest(
    routedCall(first, { ...call.callerBody !== undefined && { callerBody: call.callerBody } }),
    first,
    second
  )
  t.equal(again.callerBody?.()?.text(), '{ "a":"X", "b":"Y", "n":null }')
  t.equal(again.callerBody?.()?.text(), '{ "a":"X", "b":"Y", "n":null }', 'also for another route')
  t.equal(again.callerBody?.()?.print({ c: 1 }), 'as it came: {"c":1}')
  const notKept = replaceRequest(routedCall(before), before, first)
  t.equal(notKept.callerBody, undefined, 'when the body is not kept')
  t.end()
})

t.test('a project that records bodies records the replaced body', t => {
  const before = { a: 'x' }
  const kept: string[] = []
  const record = new CallRecord('chat')
  record.bodies = {
    takeRequest: pieces => {
      kept.push(Buffer.concat(pieces).toString())
    },
    takeForm: () => undefined,
    watch: reply => reply
  }
  replaceRequest(routedCall(before, { record }), before, { a: 'X' })
  record.request.bodyBytes = 100_000_000
  replaceRequest(routedCall(before, { record }), before, { a: 'X' })
  t.same(kept, ['{"a":"X"}', ''])
  t.end()
})
