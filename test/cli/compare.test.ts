import t from 'tap'
import { directoryOf, ask, startGateway } from '../support/headgate.ts'
import { headgate } from '../support/command.ts'
import { httpServer } from '../support/http-server.ts'
import { eventually } from '../support/until.ts'

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

/** Reads the table that is printed. */
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
    // Rows of models and sums are read one after the other.
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
    'the key of the other side'
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

t.test('a side that cannot be read is refused with what to write', async t => {
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

t.test('a gateway that answers with something else is refused with its address', async t => {
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
