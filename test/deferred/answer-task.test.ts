import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { createTaskAnswerer, type DeferredTask } from '../../lib/deferred/answer-task.ts'
import { route } from '../support/stages.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { ApiKey, PartyLimits, KeyMember } from '../../lib/core/key.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Reply } from '../../lib/core/reply.ts'

const key: ApiKey = { id: 'key-1', name: 'test' }
const attribution = { tags: ['a'], endUser: 'ada', session: 's', metadata: { b: 'c' } }
const stored: DeferredTask = {
  id: 'call-7',
  key,
  request: { model: 'm', messages: [] },
  routes: [route],
  attribution
}
const ok: Reply = { status: 200, headers: {}, body: '{"a":1}' }
const never = new AbortController().signal

interface Run {
  readonly parts?: Parameters<typeof settings>[0]
  readonly find?: () => ApiKey | undefined
  readonly signal?: AbortSignal
  readonly admitted?: ApiKey
  readonly requestedStages?: readonly string[]
  readonly hashed?: boolean | undefined
  readonly digestEndUsers?: (key: ApiKey) => (name: string) => string
}

async function run (
  answer: Parameters<typeof createTaskAnswerer>[1],
  {
    parts,
    find = () => key,
    signal = never,
    admitted = key,
    requestedStages,
    hashed,
    digestEndUsers
  }: Run = {}
) {
  const ended: Call[] = []
  const task = createTaskAnswerer(
    {
      keys: { check: () => undefined, find },
      settings: settings(parts),
      ...digestEndUsers !== undefined && { recordRules: { digestEndUsers } }
    },
    answer,
    {
      onEnd: call => {
        ended.push(call)
      }
    }
  )
  const kept: DeferredTask = {
    ...stored, key: admitted, requestedStages, attribution: { ...attribution, hashed }
  }
  const outcome = await task(JSON.stringify(kept), signal).catch((error: unknown) => error)
  return { outcome, record: ended[0]?.record, ended: ended.length, calls: ended }
}

t.test('a task completes as its call would have, and ends once', async t => {
  let seen: unknown
  const { outcome, record, ended } = await run(
    async call => {
      seen = [call.id, call.request, call.routes, call.key]
      return await Promise.resolve(ok)
    },
    {
      parts: {
        limits: { ...settings().limits, defaultKeyLimits: { tokensPerMinute: 5, requestsPerMinute: 1 } }
      }
    }
  )
  t.strictSame(outcome, { status: 200, body: '{"a":1}' })
  t.strictSame(
    seen,
    ['call-7', stored.request, stored.routes, { ...key, limits: { tokensPerMinute: 5 } }],
    'only limits on its usage are still counted'
  )
  t.match(record, {
    caller: { keyId: 'key-1', ...attribution },
    request: { requestedModel: 'one/m' },
    end: { status: 200, outcome: 'ok' }
  })
  t.equal(ended, 1)
})

t.test('the record of a cancelled task is written once its usage is known', async t => {
  const { promise: known, resolve } = withResolvers<undefined>()
  const cancelled = new AbortController()
  const { ended, calls } = await run(async ({ record }) => {
    record.end.whenUsageKnown = known.then(() => undefined)
    cancelled.abort(new GatewayError('client_closed_request'))
    throw cancelled.signal.reason
  }, { signal: cancelled.signal })
  t.equal(ended, 0)
  resolve(undefined)
  await until(() => calls.length === 1, 'the end of the call')
  t.equal(calls[0]?.record.end.outcome, 'client_closed')
})

t.test('a cancelled task is no success, even if its answer was read to the end', async t => {
  for (const [code, outcome, end] of [
    ['client_closed_request', { code: 'client_closed_request' }, { outcome: 'client_closed' }],
    ['shutting_down', { status: 200, body: '{"a":1}' }, { outcome: 'ok', status: 200 }]
  ] as const) {
    const stopping = new AbortController()
    const ran = await run(async () => {
      stopping.abort(new GatewayError(code))
      return await Promise.resolve(ok)
    }, { signal: stopping.signal })
    t.match([ran.outcome, ran.record?.end], [outcome, end], code)
  }
})

t.test('a task counts towards the current limits of its key, project and owner', async t => {
  const project = (requestsPerMinute: number, more: object = {}) => ({
    id: 'project-1',
    name: 'team',
    limits: { requestsPerMinute, concurrentCalls: 1, ...more }
  })
  const member = (limits: PartyLimits): KeyMember => ({ id: 'user-1', name: 'Ada', limits })
  const budget = { usd: 1, per: 'day' } as const
  const now: ApiKey = {
    ...key,
    limits: { budget, strict: false, concurrentCalls: 2 },
    project: project(9, { tokensPerMinute: 7, strict: false }),
    member: member({ budget, requestsPerMinute: 9, concurrentCalls: 1 })
  }
  const expected: ApiKey = {
    ...key,
    limits: { budget, strict: false },
    project: { id: 'project-1', name: 'team', limits: { tokensPerMinute: 7, strict: false } },
    member: member({ budget })
  }
  const { project: _project, member: _member, ...alone } = expected
  for (const [present, counted] of [
    [now, expected],
    [{ ...key, limits: { budget, strict: false } }, alone]
  ] as const) {
    let seen: unknown
    await run(async call => {
      seen = call.key
      return await Promise.resolve(ok)
    }, {
      find: () => present,
      admitted: { ...key, project: project(5), member: member({ concurrentCalls: 1 }) }
    })
    t.strictSame(seen, counted)
  }
})

t.test('a task that requested a removed guard does not run', async t => {
  let runs = 0
  const { outcome } = await run(
    async () => {
      runs++
      return await Promise.resolve(ok)
    },
    { requestedStages: ['gone'] }
  )
  t.match(outcome, {
    status: 503,
    body: /stage_unavailable.*the guard `gone`|the guard `gone`.*stage_unavailable/
  })
  t.equal(runs, 0)
})

t.test('a failure becomes the answer, and is recorded', async t => {
  const failure = new GatewayError('upstream_error', { cause: 'why' })
  const { outcome, record, ended } = await run(async () => await Promise.reject(failure))
  t.strictSame(outcome, { status: 502, body: JSON.stringify(failure.toBody()) })
  t.match(record?.end, { status: 502, outcome: 'error', errorCode: 'upstream_error', cause: 'why' })
  t.equal(ended, 1)
})

t.test('a streamed answer is an internal error', async t => {
  const { outcome } = await run(
    async () => await Promise.resolve({ ...ok, body: (async function* () {})() })
  )
  t.match(outcome, { status: 500 })
})

t.test(
  'a large answer is stored as text; one over the storage limit fails, and its call is recorded',
  async t => {
    const parts = { limits: { ...settings().limits, storedBodyBytes: 1000 } }
    const printed = await run(async () => ({ ...ok, body: Buffer.from('{"a":"ä"}') }), { parts })
    t.strictSame(printed.outcome, { status: 200, body: '{"a":"ä"}' })
    for (const body of ['x'.repeat(1001), Buffer.alloc(1001)]) {
      const { outcome, record } = await run(
        async ({ record }) => {
          record.usage.total = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
          return { ...ok, body }
        },
        { parts }
      )
      t.match(outcome, {
        status: 413,
        body: /"code":"file_too_large".*"param":"deferred"|"param":"deferred".*"code":"file_too_large"/
      })
      t.match(record, {
        end: { status: 413, outcome: 'error', errorCode: 'file_too_large' },
        usage: { total: { totalTokens: 3 } }
      })
    }
  }
)

t.test('the task of a key that was revoked or may no longer chat spends nothing', async t => {
  for (const find of [() => undefined, () => ({ ...key, endpoints: ['embeddings'] })]) {
    let called = false
    const { outcome } = await run(async () => { called = true; return await Promise.resolve(ok) }, { find })
    t.match(outcome, { status: 401 })
    t.equal(called, false)
  }
})

t.test('a task that takes too long is aborted', async t => {
  const { outcome } = await run(async ({ signal }) => await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  }), { parts: { limits: { ...settings().limits, callMs: 5 } } })
  t.match(outcome, { status: 504 })
})

t.test('a stopping process returns the task by rejecting with the reason', async t => {
  const stopping = new AbortController()
  const begun = withResolvers<void>()
  const running = run(
    async ({ signal }) => {
      begun.resolve()
      return await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      )
    },
    { signal: stopping.signal }
  )
  await begun.promise
  const reason = new GatewayError('shutting_down')
  stopping.abort(reason)
  const { outcome, record, ended } = await running
  t.equal(outcome, reason)
  t.match(record?.end, { outcome: 'error', errorCode: 'shutting_down' })
  t.equal(ended, 1)
})

t.test('an end user is hashed once if names are hashed by now', async t => {
  const digestEndUsers = (): ((name: string) => string) => name => `digest of ${name}`
  for (const [hashed, endUser] of [[false, 'digest of ada'], [true, 'ada']] as const) {
    const { record } = await run(async () => await Promise.resolve(ok), { digestEndUsers, hashed })
    t.equal(record?.caller.endUser, endUser)
    t.equal(Reflect.has(record ?? {}, 'hashed'), false)
  }
})
