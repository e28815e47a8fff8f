import { join } from 'node:path'
import t from 'tap'
import { directoryOf, ask, startGateway } from '../support/headgate.ts'
import { headgate } from '../support/command.ts'
import { httpServer } from '../support/http-server.ts'
import { eventually } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import { dayMs } from '../../lib/core/day.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const adminKey = 'hga_0123456789012345678901234567890123456789'
const configuration = `
keys: [{name: team, key: env:TEAM}]
models:
  sandbox/echo: {price: {input: 100, output: 100}}
  sandbox/story: {price: {input: 1, output: 1}}
routes:
  inner: [sandbox/echo]
  shared: {models: [inner], mirror: {model: sandbox/story, share: 1}}
`

interface Row { readonly model: string, readonly side: string, readonly calls: number, readonly cost: number }

/** Parses the printed table. */
function rowsOf (out: string): Row[] {
  return out.split('\n').slice(1).map(line => {
    const [model = '', side = '', calls, , , , , , cost = ''] = line.split(/ {2,}/)
    return { model, side, calls: Number(calls), cost: Number(cost.replace(/[~$+]/g, '')) }
  })
}

t.test('a route is compared with its mirror, from the store and over the admin API', async t => {
  const directory = directoryOf(t, {
    '.env': `TEAM=team\nHEADGATE_ADMIN_KEY=${adminKey}\n`,
    'headgate.yaml': configuration
  })
  const gateway = await startGateway(t, directory)
  for (let call = 0; call < 3; call++) t.equal((await ask(gateway.url, 'team', 'shared')).status, 200)
  const compare = async (...args: string[]) => await headgate(t, ['compare', ...args], directory)
  const sides = ['--a', 'model=shared,endpoint=chat', '--b', 'endpoint=mirror']
  const table = await eventually(
    async () => rowsOf((await compare(...sides)).out),
    // Rows of models and of totals are read in order.
    rows => rows.length === 4 && rows.every(({ calls }) => calls === 3),
    'the calls in the store',
    20_000
  )
  t.same(
    table.map(({ model, side, calls }) => [model, side, calls]),
    [
      ['sandbox/echo', 'a', 3],
      ['sandbox/story', 'b', 3],
      ['all', 'a', 3],
      ['all', 'b', 3]
    ]
  )
  t.ok((table[2]?.cost ?? 0) > (table[3]?.cost ?? 1), 'the mirror is cheaper')

  const env = { HEADGATE_ADMIN_KEY_A: adminKey, HEADGATE_ADMIN_KEY: adminKey.replace('0', 'x') }
  const url = gateway.url.replace(/\/v1$/, '')
  const remote = await headgate(
    t,
    ['compare', '--a', `url=${url}/v1,endpoint=chat,endpoint=messages`, '--b', 'endpoint=mirror', '--json'],
    directory,
    { ...env, TEAM: 'team' }
  )
  t.equal(remote.error, '')
  t.match(JSON.parse(remote.out), {
    a: { totals: { calls: 3, errors: 0 }, groups: [{ name: 'sandbox/echo', totals: { calls: 3 } }] },
    b: { totals: { calls: 3, errors: 0 }, groups: [{ name: 'sandbox/story', totals: { calls: 3 } }] }
  })
  t.match(
    await headgate(t, ['compare', '--a', `url=${url}`, '--b', `url=${url}`], directory, env),
    { code: 1, error: /401/ },
    'the key for the other side'
  )
  t.match(
    rowsOf(
      (await compare('--a', 'from=2025-01-01,until=2025-01-02', '--b', 'from=1h,model=sandbox/story')).out
    ),
    [
      { model: 'sandbox/story', side: 'b', calls: 3 },
      { model: 'all', side: 'a', calls: 0 },
      { model: 'all', side: 'b', calls: 3 }
    ]
  )
  gateway.child.kill('SIGTERM')
  await gateway.ended
})

type Recorded = Partial<UsageRow> & { readonly daysAgo: number }

/** Fills the store of a gateway with usage records. */
async function record (directory: string, rows: readonly Recorded[]): Promise<void> {
  const database = await openDatabase(join(directory, '.headgate'))
  const nowMs = Date.now()
  await database.insertUsage(rows.map(({ daysAgo, ...row }, index) => (
    usageRowOf(index, { provider: 'sandbox', ...row, at_ms: nowMs - daysAgo * dayMs })
  )))
  await database.close()
}

const heading =
  'MODEL CALLS ERRORS CANCELLED PROMPT COMPLETION CACHED COST PER CALL FIRST p50 p95 TOTAL p50 p95'
const [echo, story] = [{ model: 'sandbox/echo' }, { model: 'sandbox/story' }]
const calls: readonly Recorded[] = [
  {
    ...echo, daysAgo: 10, prompt_tokens: 100, completion_tokens: 10, cached_tokens: 50, cost_nano_usd: 1e6,
    first_byte_ms: 2, duration_ms: 6
  },
  {
    ...echo, daysAgo: 10, prompt_tokens: 300, completion_tokens: 30, cached_tokens: 50, cost_nano_usd: 3e6,
    first_byte_ms: 4, duration_ms: 8
  },
  {
    ...echo, daysAgo: 10, prompt_tokens: 0, completion_tokens: 0, outcome: 'error', status: 502,
    cost_nano_usd: 0
  },
  {
    ...echo, daysAgo: 2, prompt_tokens: 80, completion_tokens: 8, cached_tokens: 0, cost_nano_usd: 5e5,
    first_byte_ms: 1, duration_ms: 3
  },
  {
    ...story, daysAgo: 2, prompt_tokens: 200, completion_tokens: 40, cached_tokens: 150, cost_nano_usd: 2e6,
    first_byte_ms: 5, duration_ms: 9
  },
  {
    ...story, daysAgo: 2, prompt_tokens: 200, completion_tokens: 5, outcome: 'client_closed', status: 499,
    cost_nano_usd: 1e6, estimated: 1
  }
]

/** Returns the lines of a table with single spaces. */
const linesOf = (out: string): string[] => out.split('\n').map(line => line.replaceAll(/ +/g, ' '))

t.test('periods, routes and gateways are compared by their recorded values', async t => {
  const files = { '.env': `TEAM=team\nHEADGATE_ADMIN_KEY=${adminKey}\n`, 'headgate.yaml': configuration }
  const both = directoryOf(t, { one: files, other: { ...files } })
  const [directory, other] = [join(both, 'one'), join(both, 'other')]
  await record(directory, calls)
  const compare = async (a: string, b: string, env: Readonly<Record<string, string>> = {}) =>
    await headgate(t, ['compare', '--a', a, '--b', b], directory, env)
  const before = 'a 3 33.3 % 0.0 % 400 40 25.0 % $0.0040 $0.001333 2 ms 4 ms 6 ms 8 ms'
  const echoAfter = '1 0.0 % 0.0 % 80 8 0.0 % $0.0005 $0.000500 1 ms 1 ms 3 ms 3 ms'
  const storyAfter = '2 0.0 % 50.0 % 400 45 37.5 % ~$0.0030 ~$0.001500 5 ms 5 ms 9 ms 9 ms'
  const after = 'b 3 0.0 % 33.3 % 480 53 31.3 % ~$0.0035 ~$0.001167 1 ms 5 ms 3 ms 9 ms'
  const periods = await compare('from=14d,until=7d', 'from=7d')
  t.same(linesOf(periods.out), [
    heading.replace('MODEL', 'MODEL SIDE'),
    `sandbox/echo ${before}`,
    `sandbox/echo b ${echoAfter}`,
    `sandbox/story b ${storyAfter}`,
    `all ${before}`,
    `all ${after}`
  ], periods.error)

  const routes = await compare('model=inner,from=7d', 'model=sandbox/story,from=7d')
  t.same(linesOf(routes.out).slice(1), [
    `sandbox/echo a ${echoAfter}`,
    `sandbox/story b ${storyAfter}`,
    `all a ${echoAfter}`,
    `all b ${storyAfter}`
  ], routes.error)

  await record(other, [{
    ...story, daysAgo: 2, prompt_tokens: 10, completion_tokens: 20, cached_tokens: 5, cost_nano_usd: 7e6,
    first_byte_ms: 7, duration_ms: 9
  }])
  const running = await Promise.all([directory, other].map(async cwd => await startGateway(t, cwd)))
  const [a, b] = running.map(({ url }) => `url=${url.replace(/\/v1$/, '')},from=7d`)
  const gateways = await compare(a ?? '', b ?? '', { HEADGATE_ADMIN_KEY: adminKey })
  t.same(linesOf(gateways.out).slice(1).toSorted(), [
    `all a ${after.slice(2)}`,
    'all b 1 0.0 % 0.0 % 10 20 50.0 % $0.0070 $0.007000 7 ms 7 ms 9 ms 9 ms',
    `sandbox/echo a ${echoAfter}`,
    `sandbox/story a ${storyAfter}`,
    'sandbox/story b 1 0.0 % 0.0 % 10 20 50.0 % $0.0070 $0.007000 7 ms 7 ms 9 ms 9 ms'
  ], gateways.error)
  for (const { child, ended } of running) {
    child.kill('SIGTERM')
    await ended
  }
})

t.test('an unreadable side is refused with the correct syntax', async t => {
  const compare = async (...args: string[]) => await headgate(t, ['compare', ...args])
  for (const [args, error] of [
    [['--a', 'from=7d'], /--b SIDE is missing/],
    [['--a', 'modle=x', '--b', 'from=7d'], /--a: "modle=x" must be one of from=…, until=…, url=…, model=…/],
    [['--a', 'model=', '--b', 'from=7d'], /--a: "model=" must be one of/],
    [['--a', 'from=long ago', '--b', 'from=7d'], /--a: from must be a date/],
    [['--a', 'from=7d,until=14d', '--b', 'from=7d'], /--a: from must be before until/],
    [['--a', 'url=example.com', '--b', 'from=7d'], /--a: url must start with http/]
  ] as const) {
    t.match(await compare(...args), { code: 2, error })
  }
  t.match(await compare('--a', 'url=https://a.example', '--b', 'url=https://b.example'), {
    code: 1,
    error: /Neither HEADGATE_ADMIN_KEY_[AB] nor HEADGATE_ADMIN_KEY is set/
  })
})

t.test('a gateway with an unexpected answer is refused with its address', async t => {
  let answer: unknown
  const { url } = await httpServer(t, (_request, response) => { response.end(JSON.stringify(answer)) })
  const totals = {
    calls: 1, errors: 1, cancelled: 1, prompt_tokens: 1, completion_tokens: 1, cached_tokens: 1, cost_usd: 1,
    estimated_calls: 1, unpriced_calls: 1, latency_ms: { p50: 1, p95: 1 }, first_byte_ms: null
  }
  const compare = async () =>
    await headgate(t, ['compare', '--a', `url=${url}`, '--b', `url=${url}`], t.testdir(), {
      HEADGATE_ADMIN_KEY: adminKey
    })
  for (const wrong of [
    {},
    { totals: 'no', groups: [] },
    { totals, groups: 7 },
    { totals, groups: [null] },
    { totals, groups: [{ name: 7, totals }] },
    { totals: { ...totals, cost_usd: 'free' }, groups: [] },
    { totals: { ...totals, latency_ms: {} }, groups: [] }
  ]) {
    answer = wrong
    t.match(await compare(), {
      code: 1,
      out: '',
      error: `headgate compare: --a: ${url} does not answer with the usage that this version compares.`
    })
  }
  answer = { totals, groups: [{ name: 'a\u001b[2J\nb', totals }] }
  t.match(await compare(), { code: 0, out: /^MODEL .*\na\\u001b\[2J\\u000ab  a / })
})
