import t from 'tap'
import { completeAnswer } from '../../lib/load/answers.ts'
import { httpLanes, type HttpLane } from '../../lib/load/http-lanes.ts'
import { openLoop } from '../../lib/load/open-loop.ts'
import { openTarget } from '../../lib/load/send-call.ts'
import { httpServer } from '../support/http-server.ts'

const [lane = {} as HttpLane] = httpLanes

t.test(
  'calls are sent on schedule even while none is answered, and their time counts from then',
  async t => {
    const cameMs: number[] = []
    let release = (): void => undefined
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const { url } = await httpServer(t, (_request, response) => {
      cameMs.push(performance.now())
      if (cameMs.length === 20) release()
      void released.then(() => response.end(completeAnswer))
    })
    const target = openTarget(new URL(url), 'key')
    const startedMs = performance.now()
    const result = await openLoop(target, lane, { provider: 'bench', count: 20, perSecond: 100 })
    target.agent.destroy()
    t.match(result, { due: 20, answered: 20, failures: {} })
    t.equal(result.costUsd, undefined, 'no answer says what it costs')
    const lastDueMs = 190
    t.ok((cameMs.at(-1) ?? 0) - startedMs >= lastDueMs, 'none is sent before it is due')
    t.ok(result.maxMs >= lastDueMs, 'the first was due that long before the last, and waited for it')
    t.ok(result.p50Ms < result.maxMs)
  }
)

t.test('refused, wrong and broken answers count as failed, each with its reason', async t => {
  const answers = [
    { status: 429, body: '{"error": {"code": "budget_exceeded", "message": "of key-1"}}' },
    { status: 200, body: completeAnswer.replace('gateway reads', 'gateway read') },
    { status: 200, body: completeAnswer, cost: '0.5' },
    { status: 502, body: '<html>' }
  ]
  let at = 0
  const { url } = await httpServer(t, (_request, response) => {
    const { status, body, cost } = answers[at++ % answers.length] ?? { status: 500, body: '' }
    response.writeHead(status, cost === undefined ? {} : { 'x-headgate-cost-usd': cost }).end(body)
  })
  const target = openTarget(new URL(url), undefined)
  const { due, answered, failures, costUsd } = await openLoop(target, lane, {
    provider: 'bench',
    count: 8,
    perSecond: 1_000
  })
  target.agent.destroy()
  t.same([due, answered, costUsd], [8, 2, 1])
  const reasons = Object.keys(failures).toSorted()
  t.equal(reasons.length, 3)
  t.match(reasons, [/^429 budget_exceeded$/, /^502$/, /^a different answer came/])
})

t.test('a call that times out counts as failed', async t => {
  const { url } = await httpServer(t, () => undefined)
  const target = openTarget(new URL(url), undefined)
  const { failures } = await openLoop(target, lane, {
    provider: 'bench',
    count: 3,
    perSecond: 1_000,
    graceMs: 50
  })
  t.same(failures, { 'no answer in time': 3 })
  target.agent.destroy()
})

t.test('failures are reported under a small fixed set of reasons, whatever a gateway answers', async t => {
  let answers = 0
  const { url } = await httpServer(t, (_request, response) => {
    response.end(`{"id": "${answers++}\u009b2J"}\n`)
  })
  const target = openTarget(new URL(url), undefined)
  const { failures } = await openLoop(target, lane, { provider: 'bench', count: 60, perSecond: 1_000 })
  target.agent.destroy()
  const reasons = Object.keys(failures)
  t.equal(Object.values(failures).reduce((sum, count) => sum + count, 0), 60)
  t.ok(reasons.length <= 21, `${reasons.length} reasons`)
  t.notMatch(reasons.join(' '), /[\n\u009b]/)
})
