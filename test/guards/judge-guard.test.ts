import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { JudgeGuard, type UnavailableGuard } from '../../lib/guards/judge-guard.ts'
import { fixed, memberName, text, toolArguments, toolResult } from '../../lib/json/place-table.ts'
import { routedCall } from '../support/stages.ts'
import type { Judge, TextAtPoint, Verdict } from '../../lib/guards/text-judge.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'

const base: GuardSettings = {
  name: 'mine',
  use: '/mine.js',
  at: ['request', 'answer', 'tool_call', 'tool_result']
}
const given: readonly TextAtPoint[] = [
  { text: 'a', point: 'request' },
  { text: 'b', point: 'request' }
]

function setUp (
  inspect: Judge['inspect'],
  more: Partial<GuardSettings> = {},
  fields: Partial<RoutedCall<object>> = {}
) {
  const failures: unknown[] = []
  const onUnavailable: UnavailableGuard = (_guard, _call, cause) => failures.push(cause)
  const guard = new JudgeGuard({ ...base, ...more }, { inspect }, onUnavailable)
  const call = routedCall({}, { record: new CallRecord('chat'), ...fields })
  return { failures, call, judge: guard.forCall(call, 'request') ?? t.fail('it inspects nothing') as never }
}

function verdict (given: Verdict): Judge['inspect'] {
  return async () => given
}

t.test('a verdict has the effect of the action, and is recorded', async t => {
  const changed = { texts: ['a', 'x'] }
  const refused = { refusal: 'it is bad.' }
  const rows = [
    [changed, {}, ['a', 'x'], 'mask', 1],
    [changed, { action: 'report' }, ['a', 'b'], 'report', 1],
    [{ ...changed, findings: 3 }, {}, ['a', 'x'], 'mask', 3],
    [refused, { action: 'report' }, ['a', 'b'], 'report', 1],
    [{ findings: 2 }, { action: 'report' }, ['a', 'b'], 'report', 2],
    [{ texts: ['a', 'b'], findings: 2 }, {}, ['a', 'b'], 'report', 2],
    [{ findings: 0 }, {}, ['a', 'b'], undefined, 0],
    [{}, {}, ['a', 'b'], undefined, 0],
    [{ texts: ['a', 'b'] }, { action: 'refuse' }, ['a', 'b'], undefined, 0]
  ] as const
  for (const [given1, more, texts, action, count] of rows) {
    const { judge, call } = setUp(verdict(given1), more)
    t.same(await judge.inspect(given), texts)
    t.match(
      call.record.guards.findings?.found,
      action === undefined ? [] : [{ guard: 'mine', point: 'request', action, count }]
    )
    t.match(
      call.record.guards.findings?.list.filter(({ action }) => action === 'inspected'),
      [{ point: 'request', count: 1 }]
    )
  }
  for (const [given1, more, message] of [
    [refused, {}, 'The guard `mine` refused this call: it is bad.'],
    [{ refusal: '' }, {}, 'The guard `mine` refused this call.'],
    [changed, { action: 'refuse' }, 'The guard `mine` refused this call.']
  ] as const) {
    const { judge, call } = setUp(verdict(given1), more)
    await t.rejects(judge.inspect(given), { code: 'content_refused', message })
    t.match(call.record.guards.findings?.found, [{ action: 'refuse', count: 1 }])
  }
})

t.test(
  'a failing, invalid or hanging guard refuses the call or lets it pass, as configured',
  async t => {
    const alive = setInterval(() => undefined, 1000) // timers of a guard do not keep a process alive
    t.teardown(() => clearInterval(alive))
    const inspections: ReadonlyArray<Judge['inspect']> = [
      async () => {
        throw new Error('down')
      },
      verdict({ texts: ['only one'] }),
      verdict({ texts: [1, 2] as never }),
      verdict({ refusal: 5 as never }),
      async (_texts, { signal }) =>
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
      async () => await new Promise(() => undefined)
    ]
    for (const inspect of inspections) {
      const { judge, failures } = setUp(inspect, { timeoutMs: 20 })
      await t.rejects(judge.inspect(given), {
        code: 'stage_unavailable',
        message: 'The guard `mine` is unavailable, so this call was refused. Try again later.'
      })
      t.equal(failures.length, 1)
      const passing = setUp(inspect, { timeoutMs: 20, whenUnavailable: 'pass' })
      t.same(await passing.judge.inspect(given), ['a', 'b'])
      t.match(passing.call.record.guards.findings?.found, [{
        point: 'request',
        action: 'unavailable',
        count: 1
      }])
    }
  }
)

t.test('a disconnect aborts the inspection, and nothing passes', async t => {
  const signal = new CallCancellation()
  let reason: unknown
  const { judge, failures } = setUp(async (_texts, { signal }) => await new Promise(() => {
    signal.addEventListener('abort', () => { reason = signal.reason })
  }), { whenUnavailable: 'pass' }, { signal })
  const judged = judge.inspect(given)
  const gone = new Error('gone')
  signal.abort(gone)
  await t.rejects(judged, gone)
  t.equal(reason, gone)
  t.equal(failures.length, 0)
})

t.test('a guard gets the texts of its points, each at one point', t => {
  const points = (
    at: GuardSettings['at'],
    point: 'request' | 'answer' | 'tool_call' | 'tool_result'
  ): unknown[] => {
    const judge = new JudgeGuard({ ...base, at }, { inspect: verdict({}) }, () => undefined).forCall(
      routedCall({}),
      point
    )
    return judge === undefined
      ? []
      : [text, fixed, toolArguments, toolResult, memberName].map(place => judge.pointOf(place))
  }
  t.same(points(base.at, 'request'), ['request', 'request', 'request', 'tool_result', undefined])
  t.same(points(['tool_result'], 'request'), [undefined, undefined, undefined, 'tool_result', undefined])
  t.same(points(['tool_call'], 'request'), [], 'a call repeated in the history is not a call')
  t.same(points(base.at, 'answer'), ['answer', 'answer', 'tool_call', 'tool_result', undefined])
  t.same(points(['answer'], 'tool_call'), [])
  t.same(points(['tool_call'], 'tool_call'), ['tool_call', 'tool_call', 'tool_call', 'tool_call', undefined])
  t.equal(
    new JudgeGuard(base, { inspect: verdict({}), points: ['answer'] }, () => undefined).forCall(
      routedCall({}),
      'request'
    ),
    undefined
  )
  t.end()
})

t.test('`report` waits for complete answers, as `stream: complete` does', t => {
  const windowOf = (more: Partial<GuardSettings>, stream = true): unknown =>
    new JudgeGuard({ ...base, ...more }, { inspect: verdict({}) }, () => undefined).forCall(
      routedCall({ stream }),
      'answer'
    )?.window
  t.same(windowOf({}), { characters: 800, overlap: 200, maxWaitMs: 1000 })
  t.same(windowOf({ window: { characters: 1, overlap: 2, maxWaitMs: 3 } }), {
    characters: 1,
    overlap: 2,
    maxWaitMs: 3
  })
  t.same(
    [windowOf({ action: 'report' }), windowOf({ stream: 'complete' }), windowOf({}, false)],
    [undefined, undefined, undefined]
  )
  t.end()
})

t.test(
  'a guard with `report` lets calls pass when unavailable, unless configured otherwise',
  async t => {
    const down: Judge['inspect'] = async () => {
      throw new Error('down')
    }
    t.same(await setUp(down, { action: 'report' }).judge.inspect(given), ['a', 'b'])
    await t.rejects(setUp(down, { action: 'report', whenUnavailable: 'refuse' }).judge.inspect(given), {
      code: 'stage_unavailable'
    })
  }
)

t.test("the caller gets a single line of a service's reason", async t => {
  const { judge } = setUp(verdict({ refusal: `${'x'.repeat(1000)}\nmore` }))
  const error = await judge.inspect(given).then(() => undefined, (thrown: unknown) => thrown)
  t.equal((error as Error).message, `The guard \`mine\` refused this call: ${'x'.repeat(300)}.`)
})
