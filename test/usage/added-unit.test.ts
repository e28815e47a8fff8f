/**
 * Adds a unit to a copy of the built gateway: a row of the table, its columns in the store, and an adapter
 * that reports it. Prices, budgets, records, sums, exports and the log follow.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lastNumber, migrations } from '../../lib/stores/migrations.ts'
import { changeBuild, copyBuild } from '../support/copied-build.ts'
import { directoryOf, launch } from '../support/headgate.ts'
import { shortRun } from '../support/rounds.ts'

const row = `
  lines: {
    recorded: { column: 'lines', noun: 'lines', label: 'Lines' },
    price: { field: 'per_thousand_lines', per: 1000, description: 'USD per thousand lines of a document.' }
  },`

const step = `{
  number: ${lastNumber(migrations) + 1},
  sql: \`
    alter table usage add column lines bigint;
    alter table usage_rollups add column lines bigint not null default 0;
    alter table name_rollups add column lines bigint not null default 0\`
}`

const [used, most] = [40, 60]

t.test('adding a unit takes one row, a price and columns', { skip: shortRun }, async t => {
  const folder = directoryOf(t)
  const main = copyBuild(folder)
  const change = (name: string, found: string, replacement: string): void => {
    changeBuild(folder, name, found, replacement)
  }
  change('schemas/billed-units.js', 'nonTokenUnits = {', `nonTokenUnits = {${row}`)
  change('lib/stores/migrations.js', '...usageSteps', `...usageSteps, ${step}`)
  // What its endpoint knows: the estimate of a request, and what the provider reports.
  const estimates = 'lib/limits/estimate-units.js'
  change(estimates, 'typical: { pages: pageCount ?? 1 }', `typical: { lines: ${used} }`)
  change(estimates, 'max: { pages: pageCount ?? selected?.length ?? maxPages }', `max: { lines: ${most} }`)
  change(estimates, 'min: { pages: pageCount ?? 1 }', `min: { lines: ${most} }`)
  change('lib/providers/mistral/ocr.js', 'units: { pages: inOrder.length }', `units: { lines: ${used} }`)
  const price = { per_thousand_lines: 0.5 }
  writeFileSync(join(folder, 'headgate.yaml'), JSON.stringify({
    providers: { sandbox: {} },
    models: { 'sandbox/reader': { price } },
    keys: [{ name: 'reader', key: 'env:READER_KEY', limits: { budget: { usd: 0.06, per: 'total' } } }]
  }))
  const env = { PORT: '0', READER_KEY: 'key-of-the-reader-000000' }
  const gateway = launch(t, ['start'], folder, env, [main])
  const [, url = ''] = await gateway.line(/^Headgate listens on (\S+)$/)
  const read = async (): Promise<Response> => await fetch(`${url}/v1/ocr`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${env.READER_KEY}`,
      'content-type': 'application/json',
      'x-litellm-end-user-id': 'someone'
    },
    body: JSON.stringify({
      model: 'sandbox/reader',
      document: { type: 'image_url', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
    })
  })

  const first = await read()
  t.equal(first.status, 200, await first.text())
  t.equal(first.headers.get('x-headgate-cost-usd'), '0.02', '40 lines at 50 cents a thousand')
  await gateway.line(new RegExp(`"lines":${used},.*"msg":"call"`))
  t.equal((await read()).status, 200)
  const refused = await read()
  t.equal(refused.status, 402, 'the 2 cents that are left do not pay for 60 lines')
  gateway.child.kill('SIGTERM')
  await gateway.ended

  const usage = async (...args: string[]): Promise<string> => {
    const { code, out, error } = await launch(t, ['usage', ...args], folder, env, [main]).ended
    t.equal(code, 0, error)
    return out
  }
  for (const grouping of ['model', 'end_user']) {
    const groups: unknown = JSON.parse(await usage('--by', grouping, '--json'))
    t.match(groups, [{ lines: 2 * used, cost_nano_usd: 40_000_000 }], grouping)
  }
  const lines = (await usage('export', '--format', 'jsonl')).trim().split('\n')
  t.match(lines.map(line => JSON.parse(line) as object), [
    { lines: used, cost_nano_usd: 20_000_000, pages: null },
    { lines: used, cost_nano_usd: 20_000_000 },
    { status: 402 }
  ])
})
