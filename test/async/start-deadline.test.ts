import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { startDeadline } from '../../lib/async/start-deadline.ts'
import { until } from '../support/until.ts'

const late = new Error('late')
const left = new Error('left')

t.test('the signal aborts when the deadline passes', async t => {
  const deadline = startDeadline(5, new CallCancellation(), late)
  t.same([deadline.signal.aborted, deadline.passed()], [false, false])
  await until(() => deadline.signal.aborted, 'the deadline')
  t.same([deadline.signal.reason, deadline.passed()], [late, true])
})

t.test('the signal aborts with its parent, for the same reason', async t => {
  const parent = new CallCancellation()
  const deadline = startDeadline(60_000, parent, late)
  parent.abort(left)
  t.same([deadline.signal.reason, deadline.passed()], [left, false])
  t.equal(startDeadline(60_000, parent, late).signal.reason, left, 'also when the parent had aborted before')
})

t.test(
  'ending the deadline stops the timer, aborts its signal and detaches from the parent',
  async t => {
    const parent = new CallCancellation()
    const deadline = startDeadline(1, parent, late)
    deadline.end()
    t.same([deadline.signal.reason, deadline.passed()], [late, false])
    parent.abort(left)
    const other = startDeadline(2, new CallCancellation(), late)
    await until(() => other.passed(), 'a deadline that was set later')
    t.same([deadline.signal.reason, deadline.passed()], [late, false])
  }
)

t.test('no signal is derived from AbortSignal.timeout(), which may be collected early', async t => {
  const lib = join(import.meta.dirname, '../../../lib')
  const wrong = readdirSync(lib, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .filter(name => /AbortSignal\.any\(.*AbortSignal\.timeout\(/.test(readFileSync(join(lib, name), 'utf8')))
  t.same(wrong, [], 'use `startDeadline` there')
})
