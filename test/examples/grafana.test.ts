/** Compiles the dashboard in examples/ against the types of Grafana's own package. */

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { plainNode } from '../support/plain-node.ts'

const root = join(import.meta.dirname, '../../..')
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const dashboard = readFileSync(join(root, 'examples/grafana.json'), 'utf8')

/** Returns the compiler errors for a dashboard: none if Grafana's types allow it. */
function compile (t: Test, json: string): string[] {
  const file = join(t.testdir(), 'dashboard.ts')
  writeFileSync(file, `import type { GrafanaDashboard } from '${root}/test/support/grafana-dashboard.ts'
export default ${json.trim()} satisfies GrafanaDashboard
`)
  const options = '--ignoreConfig --noEmit --strict --skipLibCheck --allowImportingTsExtensions --types node'
  const resolution = '--module esnext --moduleResolution bundler'
  const [command, parameters] = plainNode(tsc, ...options.split(' '), ...resolution.split(' '), file)
  const { status, stdout, stderr } = spawnSync(command, parameters, { encoding: 'utf8', cwd: root })
  return status === 0 ? [] : `${stdout}${stderr}`.trimEnd().split('\n')
}

t.test("the dashboard compiles against Grafana's types", async t => {
  t.same(compile(t, dashboard), [])
})

for (const [what, from, to, says] of [
  ['a name that no panel has', '"gridPos"', '"gridPosition"', /'"gridPosition"' does not exist/],
  ['a place that no legend has', '"placement": "bottom"', '"placement": "under"', /LegendPlacement/],
  ['a style that no line has', '"drawStyle": "line"', '"drawStyle": "lines"', /'"lines"'/],
  ['a name that no field has', '"fillOpacity"', '"opacity"', /'"opacity"' does not exist/],
  ['a query without its expression', '"expr"', '"expression"', /'"expression"' does not exist/],
  ['a time at which no variable is read', '"refresh": 2', '"refresh": 9', /'9'.*VariableRefresh/],
  ['a panel of a kind that is not described', '"type": "timeseries"', '"type": "graph"', /'"graph"'/]
] as const) {
  t.test(`${what} is an error`, async t => {
    t.ok(dashboard.includes(from), from)
    const lines = compile(t, dashboard.replace(from, to))
    t.match(lines, [says])
    t.equal(lines.length, 1)
  })
}
