import t from 'tap'
import { TraceSampler } from '../../lib/telemetry/trace-sampler.ts'

const sampler = 'parentbased_traceidratio'
const low = '00000000000000000000000000000001'
const high = 'ffffffff000000000000000000000000'

t.test('the ratio decides about calls without a trace, by trace id', async t => {
  const decides = new TraceSampler({ sampler, sample: 0.5, maxPerSecond: 10 })
  t.equal(decides.isSampled(low, undefined), true)
  t.equal(decides.isSampled(high, undefined), false)
})

t.test("a caller's decision counts for a number of calls per second, and after that the ratio", async t => {
  let nowMs = 500
  const decides = new TraceSampler({ sampler, sample: 0, maxPerSecond: 2, now: () => nowMs })
  const sampled = (): boolean[] => [1, 2, 3].map(() => decides.isSampled(low, true))
  t.strictSame(sampled(), [true, true, false])
  nowMs = 1000
  t.strictSame(sampled(), [true, true, false])
  t.equal(decides.isSampled(low, false), false)
})

t.test("a caller's decision not to sample always counts", async t => {
  const decides = new TraceSampler({ sampler, sample: 1, maxPerSecond: 0 })
  t.equal(decides.isSampled(low, false), false)
  t.equal(decides.isSampled(low, true), true, 'by the share')
})

for (const [sampler, sample, expected] of [
  ['always_on', 0.5, [true, true, true]],
  ['always_off', 0.5, [false, false, false]],
  ['traceidratio', 0.5, [true, true, false]],
  ['parentbased_always_on', 0.5, [true, false, true]],
  ['parentbased_always_off', 0.5, [false, false, false]],
  ['parentbased_traceidratio', 0.5, [true, false, false]]
] as const) {
  t.test(`\`${sampler}\` decides as OpenTelemetry's packages do`, async t => {
    const decides = new TraceSampler({ sampler, sample, maxPerSecond: 0 })
    t.strictSame(
      [decides.isSampled(low, undefined), decides.isSampled(low, false), decides.isSampled(high, undefined)],
      expected
    )
  })
}
