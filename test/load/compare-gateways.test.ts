import t from 'tap'
import { compareGateways, type Gateway, type Row } from '../../lib/load/compare-gateways.ts'
import { httpLanes } from '../../lib/load/http-lanes.ts'
import type { openLoop } from '../../lib/load/open-loop.ts'

const gateway = (name: string): Gateway => ({
  name, url: new URL(`http://${name}.test/v1`), key: undefined, provider: name
})

const provider = { port: 0, calls: () => 0, close: async () => undefined }

async function compared (rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = []
  for await (const row of rows) all.push(row)
  return all
}

/** Pretends load: every call is answered, at the share of the rate that the provider's prefix names. */
const pretended = (shares: Readonly<Record<string, number>>): typeof openLoop =>
  async (_target, _lane, { provider: name, count, perSecond }) => ({
    due: count,
    answered: count,
    failures: {},
    perSecond: perSecond * (shares[name] ?? 1),
    p50Ms: 1,
    p99Ms: 2,
    maxMs: 3
  })

t.test('a gateway that falls behind at a rate is not tried at higher ones', async t => {
  const rows = await compared(
    compareGateways(gateway('direct'), [gateway('A'), gateway('B')], provider, {
      lanes: httpLanes.slice(0, 2),
      rates: [20, 40, 80],
      seconds: 1,
      budgetUsd: 1,
      load: pretended({ A: 0.95, B: 0.94 })
    })
  )
  const inLane = ['direct 20', 'A 20', 'B 20', 'direct 40', 'A 40', 'direct 80', 'A 80']
  t.same(rows.map(({ gateway, rate }) => `${gateway} ${rate}`), [...inLane, ...inLane])
})

t.test('who goes first alternates', async t => {
  const rows = await compared(
    compareGateways(gateway('direct'), [gateway('A'), gateway('B')], provider, {
      lanes: httpLanes.slice(0, 1), rates: [20, 40, 80], seconds: 1, budgetUsd: 1, load: pretended({})
    })
  )
  t.same(rows.filter(({ gateway }) => gateway !== 'direct').map(({ gateway }) => gateway).join(''), 'ABBAAB')
})
