import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { sseFrames } from '../../lib/wire/sse-frames.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'

const frames = sseFrames<Parameters<Parameters<typeof sseFrames>[0]>[0]>(({ call }) => ({
  print: events => events.length === 0 ? '' : `data: ${call.id} ${events.join()}\n\n`,
  end: () => 'data: end\n\n'
}))

t.test("frames of all batches are followed by the printer's last text", async t => {
  t.same(await collect(frames(batchesOf(routedCall({}), [['a'], [], ['b', 'c']]))), [
    'data: call-1 a\n\n',
    'data: call-1 b,c\n\n',
    'data: end\n\n'
  ])
})

t.test('an empty answer gives no frames', async t => {
  t.same(await collect(frames(batchesOf(routedCall({}), []))), [])
})

t.test('a failure after the first batch is the last message, and is recorded', async t => {
  const call = routedCall({})
  const failure = new GatewayError('upstream_stream_interrupted', { cause: 'why' })
  t.same(await collect(frames(batchesOf(call, [['a']], failure))), [
    'data: call-1 a\n\n', `event: error\ndata: ${JSON.stringify(failure.toBody())}\n\n`
  ])
  t.strictSame(
    [call.record.end.outcome, call.record.end.errorCode, call.record.end.cause],
    ['error', 'upstream_stream_interrupted', 'why']
  )
})

t.test('an earlier failure is thrown', async t => {
  const failure = new GatewayError('upstream_error')
  await t.rejects(collect(frames(batchesOf(routedCall({}), [], failure))), failure)
})

t.test('the reason a call was ended takes precedence over the resulting error', async t => {
  const aborted = (code: 'timeout' | 'client_closed_request'): AbortSignal =>
    AbortSignal.abort(new GatewayError(code))
  const late = routedCall({}, { signal: aborted('timeout') })
  t.equal((await collect(frames(batchesOf(late, [['a']], new Error('socket closed'))))).length, 2)
  t.equal(late.record.end.errorCode, 'timeout')
  const left = routedCall({}, { signal: aborted('client_closed_request') })
  t.same(
    await collect(frames(batchesOf(left, [['a']], new Error('socket closed')))),
    ['data: call-1 a\n\n'],
    'a caller who has left is sent nothing'
  )
  t.equal(left.record.end.outcome, 'client_closed')
})

t.test('a printer may print failures in its own way', async t => {
  const own = sseFrames<Parameters<Parameters<typeof sseFrames>[0]>[0]>(() => ({
    print: () => 'data: a\n\n', end: () => '', fail: ({ code }, { id }) => `data: ${id} ${code}\n\n`
  }))
  t.same(await collect(own(batchesOf(routedCall({}), [['a']], new GatewayError('upstream_error')))), [
    'data: a\n\n',
    'data: call-1 upstream_error\n\n'
  ])
})
