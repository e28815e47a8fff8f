import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { budgetLane, httpLanes } from '../../lib/load/http-lanes.ts'
import { nanoUsdPerCall } from '../../lib/load/simulated-provider.ts'
import { headgate } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { directoryOf, launch, startGateway } from '../support/headgate.ts'
import { httpServer } from '../support/http-server.ts'
import { shortRun } from '../support/rounds.ts'
import type { Row } from '../../lib/load/compare-gateways.ts'

const key = 'a-key-of-twenty-characters'
const budgetKey = 'a-key-with-a-budget-of-dollars'
const budgetUsd = 0.05
const slowMs = 500
const slowStage = `import { setTimeout } from 'node:timers/promises'
export default { request: async () => { await setTimeout(${slowMs}) } }`

interface Report {
  readonly provider: object
  readonly rows: readonly Row[]
  readonly notes: readonly string[]
  readonly limits: readonly string[]
}

/** Configuration of a gateway with the entry that the command prints, and a key with a budget. */
function configuration (port: number, more: object = {}): string {
  const price = { input: 2, cached_input: 0.5, output: 8 }
  return JSON.stringify({
    server: { port: 0 },
    metrics: { port: 0 },
    dashboard: false,
    providers: {
      bench: { kind: 'openai-compatible', base_url: `http://127.0.0.1:${port}/v1`, list_models: false }
    },
    models: Object.fromEntries(
      ['json', 'eights', 'paced-5', 'wait-1000'].map(model => [`bench/${model}`, { price }])
    ),
    keys: [
      { name: 'bench', key: 'env:BENCH_KEY' },
      { name: 'budget', key: 'env:BUDGET_KEY', limits: { budget: { usd: budgetUsd, per: 'total' } } }
    ],
    ...more
  })
}

/** Starts a gateway for each of these additions to the configuration. */
async function gateways (t: Test, port: number, ...additions: readonly object[]) {
  const directory = directoryOf(
    t,
    Object.fromEntries(
      additions.map((more, index) => [
        String(index),
        { 'headgate.yaml': configuration(port, more), 'slow.mjs': slowStage }
      ])
    )
  )
  return await Promise.all(
    additions.map(
      async (_, index) =>
        await startGateway(t, join(directory, String(index)), { BENCH_KEY: key, BUDGET_KEY: budgetKey })
    )
  )
}

/** Runs in another directory than the gateways, which use the directory of the test. */
async function bench (t: Test, args: readonly string[], env?: Readonly<Record<string, string>>) {
  return await headgate(t, ['bench', ...args], import.meta.dirname, env)
}

t.test(
  'a slowed gateway shows its added latency, costs match, and no budget is overrun',
  { skip: shortRun },
  async t => {
    const port = await freePort()
    const [a, b] = await gateways(t, port, {}, { stages: [{ name: 'slow', use: './slow.mjs' }] })
    if (a === undefined || b === undefined) throw new Error('two were started')
    const { code, out, error } = await bench(
      t,
      [
        a.url,
        `${b.url}/v1`,
        '--listen',
        `127.0.0.1:${port}`,
        '--rates',
        '20',
        '--seconds',
        '0.5',
        '--json',
        '--key-a',
        'env:KEY',
        '--key-b',
        key,
        '--budget-key-a',
        budgetKey,
        '--budget-key-b',
        budgetKey,
        '--pid-a',
        String(a.child.pid)
      ],
      { KEY: key }
    )
    t.equal(code, 0, error)
    t.match(error, 'providers:\n  bench:\n    kind: openai-compatible\n')
    const { provider, rows, notes, limits } = JSON.parse(out) as Report
    const { providers, models } = JSON.parse(configuration(port)) as { providers: object, models: object }
    t.same(provider, { providers, models }, 'the printed entry works')
    t.ok(limits.length > 0)
    for (const { name } of httpLanes) {
      const of = (gateway: string): Row => {
        const row = rows.find(row => row.lane === name && row.gateway === gateway)
        if (row === undefined) throw new Error(`no row for ${gateway} in ${name}`)
        return row
      }
      const [direct, fast, slow] = [of('direct'), of('A'), of('B')]
      for (const row of [direct, fast, slow]) {
        t.match(
          row,
          { rate: 20, due: 10, answered: 10, providerCalls: 10, failures: {} },
          `${row.gateway}, ${name}`
        )
        t.ok(row.p50Ms > 0 && row.p99Ms >= row.p50Ms)
      }
      t.ok(slow.p50Ms >= slowMs, `${name}: ${slow.p50Ms} ms`)
      for (const row of [fast, slow]) t.equal(row.addedP50Ms, row.p50Ms - direct.p50Ms, name)
      t.ok((fast.cpuUsPerCall ?? 0) > 50 && (fast.memoryBytes ?? 0) > 2e7)
      t.equal(slow.cpuUsPerCall, undefined)
      const exact = name.startsWith('JSON') ? 0 : undefined
      for (const { costError } of [fast, slow]) {
        t.equal(costError && Math.round(costError * 1e9), exact, name)
      }
    }
    for (const row of rows.filter(({ lane }) => lane === budgetLane.name)) {
      t.equal(row.overshoot, 0, `${row.gateway}: ${row.providerCalls} calls`)
      t.ok(row.providerCalls > 0 && (row.providerCalls * nanoUsdPerCall) / 1e9 <= budgetUsd)
      t.equal(
        row.answered + Object.values(row.failures).reduce((sum, count) => sum + count, 0),
        budgetLane.calls
      )
    }
    t.equal(rows.filter(({ lane }) => lane === budgetLane.name).length, 2)
    t.ok(notes.includes('B: CPU and memory are empty without --pid-b or --metrics-b.'), notes.join('\n'))
  }
)

t.test(
  'wrong costs, an overrun budget, local answers and falling behind are reported',
  { skip: shortRun },
  async t => {
    const port = await freePort()
    const [honest] = await gateways(t, port, {})
    if (honest === undefined) throw new Error('one was started')
    // A proxy in front of the gateway: `/more` reports 10 % higher costs and enforces no budget, `/cached`
    // replays an answer, `/serial` delays each call by 100 ms.
    let answers = 0
    let cached: Buffer | undefined
    let last = Promise.resolve()
    const { url: wrong } = await httpServer(t, (request, response) => {
      const mode = /^\/\w+/.exec(request.url ?? '')?.[0]
      void (async () => {
        const pieces: Buffer[] = []
        for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
        if (mode === '/serial') {
          await (last = last.then(async () => {
            await setTimeout(100)
          }))
        }
        if (mode === '/cached' && cached !== undefined && answers++ > 0) return response.end(cached)
        const answer = await fetch(`${honest.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: Buffer.concat(pieces)
        })
        const cost = Number(answer.headers.get('x-headgate-cost-usd')) * 1.1
        response.writeHead(answer.status, {
          'content-type': 'application/json',
          'x-litellm-response-cost': String(cost)
        })
        cached = Buffer.from(await answer.arrayBuffer())
        return response.end(cached)
      })()
    })
    const compared = async (
      a: string,
      b: string,
      ...args: readonly string[]
    ): Promise<Report & { readonly code: number | null }> => {
      const { code, out, error } = await bench(t, [
        a,
        b,
        '--listen',
        `127.0.0.1:${port}`,
        '--seconds',
        '0.5',
        '--lanes',
        'JSON, 1 KB',
        '--key-a',
        key,
        '--key-b',
        key,
        '--json',
        ...args
      ])
      t.equal(out === '', false, error)
      return { code, ...(JSON.parse(out) as Report) }
    }

    const first = await compared(honest.url, `${wrong}/more`, '--rates', '20', '--budget-key-b', key)
    t.equal(first.code, 0)
    t.equal(
      Math.round(
        (first.rows.find(({ gateway, rate }) => gateway === 'B' && rate === 20)?.costError ?? 0) * 1e6
      ),
      100_000
    )
    const overrun = (250 * nanoUsdPerCall) / 1e9 / budgetUsd - 1
    t.equal(
      first.rows.find(({ overshoot }) => overshoot !== undefined)?.overshoot?.toFixed(6),
      overrun.toFixed(6)
    )

    const second = await compared(`${wrong}/cached`, `${wrong}/serial`, '--rates', '40,20')
    t.match(
      second.notes.join('\n'),
      /^A, JSON, 1 KB body, 20\/s: 10 answers did not come from the provider; is caching enabled\?$/m
    )
    // A slow machine may keep A from 40 as well.
    const ratesOf = (name: string) =>
      second.rows.filter(({ gateway }) => gateway === name).map(({ rate }) => rate)
    t.same(ratesOf('direct'), [20, 40])
    t.same(ratesOf('B'), [20], 'B fell behind at 20')
    const behind = second.rows.find(({ gateway }) => gateway === 'B')
    t.ok(
      (behind?.perSecond ?? 0) < 15 && (behind?.p99Ms ?? 0) > 500,
      'latencies are measured from the scheduled time'
    )
  }
)

t.test(
  'there is one table, which explains empty cells and names a gateway that lacks the provider',
  async t => {
    const port = await freePort()
    const [{ url } = { url: '' }] = await gateways(t, port, {})
    const common = [
      '--listen',
      `127.0.0.1:${port}`,
      '--rates',
      '20',
      '--seconds',
      '0.2',
      '--lanes',
      '33 KB',
      '--key-a',
      key,
      '--key-b',
      key
    ]
    const { code, out } = await bench(t, [url, url, ...common])
    t.equal(code, 0)
    t.equal(out.match(/^LANE +DUE\/S +GATEWAY +CALLS\/S .* OVERSHOOT$/gm)?.length, 1)
    t.equal(out.match(/^JSON, 33 KB body +20 +(?:direct|A|B) +\d/gm)?.length, 3)
    t.match(out, '- A: OVERSHOOT is empty without --budget-key-a.')
    t.match(await bench(t, [url, 'http://127.0.0.1:1', ...common, '--wait', '0']), {
      code: 1,
      error: /B cannot be measured: connect ECONNREFUSED/
    })
    t.match(await bench(t, [url, url, ...common, '--provider-b', 'other', '--wait', '0']), {
      code: 1,
      error: /B cannot be measured: 404 model_not_found/
    })
  }
)

t.test('wrong options are refused before anything is measured', async t => {
  const a = 'http://127.0.0.1:1'
  for (const [args, message] of [
    [[a], /name two gateways/],
    [[a, 'gateway'], /URL_B must be an address such as http:\/\/127\.0\.0\.1:8080, not "gateway"/],
    [[a, a, '--rates', '50,fast'], /--rates must be between 1 and 5000, not "fast"/],
    [[a, a, '--seconds', '61'], /--seconds must be between 0\.1 and 60/],
    [[a, a, '--rates', '5000', '--seconds', '60'], /this makes 3600000 calls, more than 500000/],
    [[a, a, '--lanes', 'none'], /no lane contains "none"; there are "JSON, 1 KB body"/],
    [[a, a, '--listen', '8790'], /--listen must be HOST:PORT, not "8790"/],
    [[a, a, '--key-a', 'env:NOT_SET'], /--key-a: the variable NOT_SET is not set/],
    [[a, a, '--pid-a', '1', '--metrics-a', a], /give --pid-a or --metrics-a, not both/]
  ] as const) {
    t.match(await bench(t, [...args]), { code: 2, error: message }, args.join(' '))
  }
  t.match(await bench(t, [a, a, '--pid-a', '2147483000']), { code: 1, error: /no process has the id/ })
})

t.test('the bundled command runs, and exits when its simulated provider cannot listen', async t => {
  const { url } = await httpServer(t, () => undefined)
  const { host } = new URL(url)
  const { ended } = launch(
    t,
    ['bench', 'http://127.0.0.1:1', 'http://127.0.0.1:1', '--listen', host],
    t.testdir()
  )
  t.match(await ended, { code: 1, error: /the simulated provider cannot listen: .*EADDRINUSE/ })
})
