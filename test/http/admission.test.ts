import { getHeapStatistics } from 'node:v8'
import t from 'tap'
import { asGatewayError } from '../../lib/core/errors.ts'
import { Admission, type AdmissionLimits } from '../../lib/http/admission.ts'

const limits: AdmissionLimits = { openCalls: 4, maxSharePerKey: 0.5, bodyMemoryBytes: 1000, uploadDiskBytes: 100 }

/** Returns the answer to what throws. */
function refusal (attempt: () => unknown): unknown {
  try {
    attempt()
    return undefined
  } catch (error) {
    const failure = asGatewayError(error)
    return [failure.status, failure.toBody(), failure.headers()]
  }
}

const headers = { 'retry-after': '1', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1s' }
const body = (message: string): object => ({ error: { message, type: 'server_error', code: 'overloaded', param: null } })

t.test('a key that has its share of open calls is refused more, and others are not', async t => {
  const admission = new Admission(limits)
  const calls = [admission.enter('a'), admission.enter('a')]
  t.same(refusal(() => admission.enter('a')), [
    503,
    body('This API key has reached its share of 2 open calls. Try again later.'),
    { ...headers, 'x-ratelimit-limit-requests': '2' }
  ])
  calls.push(admission.enter('b'), admission.enter('c'))
  t.same(refusal(() => admission.enter('d')), [
    503, body('Too many concurrent requests. Try again later.'), { ...headers, 'x-ratelimit-limit-requests': '4' }
  ])
  t.equal(admission.openCalls, 4)
  for (const call of calls) call.leave()
  calls[0]?.leave()
  t.equal(admission.openCalls, 0, 'leaving twice gives back one place')
})

t.test('a call gives back the memory and disk it took, also what arrives after its end', async t => {
  const admission = new Admission(limits)
  const call = admission.enter('a')
  const other = admission.enter('a')
  call.memory.take(400)
  call.memory.take(100)
  call.disk.take(50)
  t.same(admission.inUse, { memoryBytes: 500, diskBytes: 50 })
  t.same(refusal(() => other.memory.take(1)), [503, body('The gateway is out of memory. Try again later.'), headers])
  t.same(refusal(() => other.disk.take(1)), [503, body('The gateway is out of disk space. Try again later.'), headers])
  call.leave()
  call.memory.take(300)
  t.same(admission.inUse, { memoryBytes: 0, diskBytes: 0 })
  const late = admission.enter('a')
  late.leave()
  late.disk.take(50)
  t.same(admission.inUse, { memoryBytes: 0, diskBytes: 0 }, 'disk that was never used')
})

t.test('a body that could never fit is too large, and no other call is waited for', async t => {
  const call = new Admission(limits).enter('a')
  t.match(refusal(() => call.memory.take(501)), [413, { error: { code: 'file_too_large', message: 'The body needs more memory than one API key may use.' } }])
})

t.test('what leaves half of a key\'s share is cheap', async t => {
  const admission = new Admission(limits)
  const call = admission.enter('a')
  t.same([call.memory.isCheap(250), call.memory.isCheap(251)], [true, false])
  const more = admission.enter('b')
  more.memory.take(200)
  t.same([call.memory.isCheap(200), more.memory.isCheap(51)], [true, false], 'what a key holds in all its calls counts')
})

t.test('without a setting, bodies may take a quarter of the heap', async t => {
  const { bodyMemoryBytes: _given, ...others } = limits
  const call = new Admission({ ...others, maxSharePerKey: 1 }).enter('a')
  const quarter = Math.floor(getHeapStatistics().heap_size_limit / 4)
  call.memory.take(quarter)
  t.match(refusal(() => call.memory.take(1)), [413])
})
