import { getHeapStatistics } from 'node:v8'
import t from 'tap'
import { asGatewayError } from '../../lib/core/errors.ts'
import { Admission, type AdmissionBounds } from '../../lib/http/admission.ts'

const limits: AdmissionBounds = {
  openCalls: 4,
  maxSharePerKey: 0.5,
  bodyMemoryBytes: 1000,
  uploadDiskBytes: 100
}

/** Returns status, message and code of the error that a function throws. */
function refusal (attempt: () => unknown): unknown {
  try {
    attempt()
    return undefined
  } catch (error) {
    const failure = asGatewayError(error)
    return [failure.status, failure.toBody(), failure.headers()]
  }
}

const headers = {
  'retry-after': '1',
  'x-ratelimit-remaining-requests': '0',
  'x-ratelimit-reset-requests': '1s'
}
const body = (message: string): object => ({
  error: { message, type: 'server_error', code: 'overloaded', param: null }
})

t.test('a key with its full share of open calls is refused more, other keys are not', async t => {
  const admission = new Admission(limits)
  const calls = [admission.enter('a'), admission.enter('a')]
  t.same(
    refusal(() => admission.enter('a')),
    [
      503,
      body('This API key has reached its share of 2 open calls. Try again later.'),
      { ...headers, 'x-ratelimit-limit-requests': '2' }
    ]
  )
  calls.push(admission.enter('b'), admission.enter('c'))
  t.same(
    refusal(() => admission.enter('d')),
    [
      503,
      body('Too many concurrent calls. Try again later.'),
      { ...headers, 'x-ratelimit-limit-requests': '4' }
    ]
  )
  t.equal(admission.openCalls, 4)
  for (const call of calls) call.close()
  calls[0]?.close()
  t.equal(admission.openCalls, 0, 'leaving twice gives back one place')
})

t.test('a call releases its memory and disk space when it ends, also for late data', async t => {
  const admission = new Admission(limits)
  const call = admission.enter('a')
  const other = admission.enter('a')
  call.memory.take(400)
  call.memory.take(100)
  call.disk.take(50)
  t.same(admission.inUse, { memoryBytes: 500, diskBytes: 50 })
  t.same(
    refusal(() => other.memory.take(1)),
    [503, body('The gateway is out of memory. Try again later.'), headers]
  )
  t.same(
    refusal(() => other.disk.take(1)),
    [503, body('The gateway is out of disk space. Try again later.'), headers]
  )
  call.close()
  call.memory.take(300)
  t.same(admission.inUse, { memoryBytes: 0, diskBytes: 0 })
  const late = admission.enter('a')
  late.close()
  late.disk.take(50)
  t.same(admission.inUse, { memoryBytes: 0, diskBytes: 0 }, 'disk that was never used')
})

t.test('memory that is kept is released by whoever keeps it, and by nobody before', async t => {
  const admission = new Admission({ ...limits, maxSharePerKey: 1 })
  const call = admission.enter('a')
  call.memory.take(100)
  const release = call.memory.keep()
  t.equal(call.memory.bytes, 0, 'ending the call would free nothing')
  call.close()
  call.memory.take(200)
  t.same(admission.inUse, { memoryBytes: 300, diskBytes: 0 })
  t.equal(admission.openCalls, 0)
  release()
  call.memory.take(1)
  t.same(admission.inUse, { memoryBytes: 0, diskBytes: 0 })
})

t.test('memory is kept while half of it is free, or for one call', async t => {
  const admission = new Admission(limits)
  const large = admission.enter('a')
  large.memory.take(400)
  const release = large.memory.keep()
  const small = admission.enter('a')
  small.memory.take(1)
  t.same(
    refusal(() => small.memory.keep()),
    [503, body('The gateway is out of memory for work in the background. Try again later.'), headers]
  )
  release()
  large.close()
  small.memory.keep()
})

t.test('a body that could never fit is refused as too large at once', async t => {
  const call = new Admission(limits).enter('a')
  t.match(
    refusal(() => call.memory.take(501)),
    [
      413,
      { error: { code: 'file_too_large', message: 'The body needs more memory than one API key may use.' } }
    ]
  )
})

t.test(
  'memory shortage ends stalled calls: of the same key if its share is used up, else of any',
  async t => {
    let nowMs = 1000
    t.intercept(performance, 'now', { value: () => nowMs })
    const admission = new Admission({ ...limits, openCalls: 40, patienceMs: 1000 })
    const ended: string[] = []
    const reading = (name: string, keyId: string, bytes: number): void => {
      const call = admission.enter(keyId)
      call.memory.take(bytes)
      admission.stalled.set(
        {
          keyId,
          get heldBytes () {
            return call.memory.bytes
          },
          endAsTooSlow: () => {
            ended.push(name)
            call.close()
          }
        },
        true
      )
      nowMs += 10
    }
    reading('b1', 'b', 200)
    reading('a1', 'a', 0)
    reading('a2', 'a', 100)
    reading('a3', 'a', 300)
    const call = admission.enter('a')
    t.equal(
      (refusal(() => call.memory.take(100)) as unknown[])[0],
      503,
      'nobody has waited for a second yet'
    )
    t.same(ended, [])
    nowMs += 1000
    call.memory.take(100)
    t.same(ended, ['a2'], 'its own share was used up')
    t.equal((refusal(() => admission.enter('a').memory.take(501)) as unknown[])[0], 413)
    t.same(ended, ['a2'], 'nobody is ended for what could never fit')
    const others = ['c', 'd', 'e'].map(keyId => admission.enter(keyId))
    others[0]?.memory.take(200)
    others[1]?.memory.take(100)
    others[2]?.memory.take(50)
    t.same(ended, ['a2'])
    admission.enter('f').memory.take(100)
    t.same(ended, ['a2', 'b1'], 'all of it is used, so who has waited longest')
    t.end()
  }
)

t.test("an amount that leaves half of a key's share free counts as cheap", async t => {
  const admission = new Admission(limits)
  const call = admission.enter('a')
  t.same([call.memory.leavesHalfFree(250), call.memory.leavesHalfFree(251)], [true, false])
  const more = admission.enter('b')
  more.memory.take(200)
  t.same(
    [call.memory.leavesHalfFree(200), more.memory.leavesHalfFree(51)],
    [true, false],
    'what a key holds in all its calls counts'
  )
})

t.test('bodies may take a quarter of the heap by default', async t => {
  const { bodyMemoryBytes: _given, ...others } = limits
  const call = new Admission({ ...others, maxSharePerKey: 1 }).enter('a')
  const quarter = Math.floor(getHeapStatistics().heap_size_limit / 4)
  call.memory.take(quarter)
  t.match(
    refusal(() => call.memory.take(1)),
    [413]
  )
})

t.test('callers of other keys are not cut off for a request that its own key could not hold', async t => {
  let nowMs = 1000
  t.intercept(performance, 'now', { value: () => nowMs })
  const admission = new Admission({ ...limits, openCalls: 40, patienceMs: 1000 })
  let ended = 0
  const other = admission.enter('b')
  other.memory.take(300)
  admission.stalled.set(
    {
      keyId: 'b',
      get heldBytes () {
        return other.memory.bytes
      },
      endAsTooSlow: () => {
        ended++
      }
    },
    true
  )
  admission.enter('a').memory.take(350)
  nowMs += 2000
  t.equal((refusal(() => admission.enter('a').memory.take(400)) as unknown[])[0], 503)
  t.equal(ended, 0)
})

t.test('arriving bytes count in the share of their key and are released bit by bit', t => {
  const admission = new Admission(limits)
  const first = admission.holdMemory('a')
  const other = admission.holdMemory('a')
  const shared = admission.holdMemory()
  first.take(400)
  other.take(100)
  t.match(refusal(() => other.take(1)), [503], 'the share of the key')
  shared.take(200)
  first.release(300)
  other.take(200)
  t.equal(admission.inUse.memoryBytes, 600)
  for (const memory of [first, other, shared]) memory.release(1000)
  t.equal(admission.inUse.memoryBytes, 0, 'no more than was taken')
  t.end()
})
