import fc from 'fast-check'
import t from 'tap'
import { beginTrace, callerBaggage, callerTrace } from '../../lib/telemetry/trace-context.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const valid = `00-${traceId}-${parentId}-01`

t.test('a valid traceparent is read, also of later versions', async t => {
  t.match(callerTrace({ traceparent: valid }), { traceId, parentId, isSampled: true, state: undefined })
  t.match(callerTrace({ traceparent: `00-${traceId}-${parentId}-00` }), { isSampled: false })
  t.match(
    callerTrace({ traceparent: `00-${traceId}-${parentId}-03` }),
    { isSampled: true },
    'other flags count nothing'
  )
  t.match(callerTrace({ traceparent: `cc-${traceId}-${parentId}-01-what-comes-later` }), { traceId })
})

t.test('a malformed traceparent is ignored', async t => {
  for (const traceparent of [
    '',
    'x',
    valid.toUpperCase(),
    ` ${valid}`,
    `${valid}-more`,
    `ff-${traceId}-${parentId}-01`,
    `00-${'0'.repeat(32)}-${parentId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${parentId}-1`,
    `${valid}, ${valid}`,
    `00-${traceId.slice(1)}-${parentId}-01`,
    `${valid}\n`
  ]) {
    t.equal(callerTrace({ traceparent }), undefined, traceparent)
  }
  t.equal(callerTrace({}), undefined)
})

t.test(
  'malformed members of tracestate are dropped, and at most 512 characters are read',
  async t => {
    t.equal(callerTrace({ traceparent: valid, tracestate: 'rojo=1, congo=t61' })?.state, 'rojo=1,congo=t61')
    t.equal(callerTrace({ traceparent: valid, tracestate: 'rojo=1,=,ROJO' })?.state, 'rojo=1')
    t.equal(callerTrace({ traceparent: valid, tracestate: `a=${'x'.repeat(600)}` })?.state, undefined)
  }
)

t.test('baggage is passed on unchanged, unless it is malformed or too long', async t => {
  for (const baggage of ['userId=alice', 'a=1,b=2;property;key=value', 'a = %20x ', 'a=']) {
    t.equal(callerBaggage({ baggage }), baggage, baggage)
  }
  for (const baggage of ['', 'a', 'a=1,', 'a="1"', 'a=\u00e4', `a=${'x'.repeat(8192)}`]) {
    t.equal(callerBaggage({ baggage }), undefined, baggage.slice(0, 20))
  }
})

t.test('no header value causes an error', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (traceparent, tracestate, baggage) => {
        const trace = beginTrace({ traceparent, tracestate, baggage }, () => true)
        const { traceparent: sent } = trace.child().headers('all')
        return /^[\da-f]{32}$/.test(trace.traceId) && /^00-[\da-f]{32}-[\da-f]{16}-01$/.test(sent ?? '')
      })
    )
  )
})

t.test('servers get whether the call is sampled, and whether its trace id is random', async t => {
  for (const [given, isSampled, sent] of [
    ['00', false, '00'],
    ['01', true, '01'],
    ['02', false, '02'],
    ['02', true, '03'],
    ['03', true, '03'],
    ['ff', true, '03'],
    ['fd', false, '00']
  ] as const) {
    const child = beginTrace({ traceparent: `00-${traceId}-${parentId}-${given}` }, () => isSampled).child()
    const { traceparent } = child.headers('traceparent')
    t.equal(traceparent, `00-${traceId}-${child.spanId}-${sent}`, given)
  }
  t.match(beginTrace({}, () => true).child().headers('all'), { traceparent: /-01$/ })
})

t.test(
  "each child has its own span in the caller's trace, and sends a server only what is allowed",
  async t => {
    const trace = beginTrace({ traceparent: valid, tracestate: 'a=1', baggage: 'b=2' }, () => false)
    t.match(trace, { traceId, parentId, isSampled: false })
    t.not(trace.spanId, parentId)
    const [one, two] = [trace.child(), trace.child()]
    t.not(one.spanId, two.spanId)
    t.strictSame(one.headers('none'), {})
    t.strictSame(one.headers('traceparent'), {
      traceparent: `00-${traceId}-${one.spanId}-00`,
      tracestate: 'a=1'
    })
    t.strictSame(two.headers('all'), {
      traceparent: `00-${traceId}-${two.spanId}-00`,
      tracestate: 'a=1',
      baggage: 'b=2'
    })
  }
)
