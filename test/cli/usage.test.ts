import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { headgate } from '../support/command.ts'
import { directoryOf, ask, startGateway, type Ended } from '../support/headgate.ts'
import { usageRowOf } from '../support/usage.ts'

t.test('workers share the limits of a key and the usage records', async t => {
  const directory = directoryOf(t, {
    '.env': 'FEW=few\nPOOR=poor\n',
    'headgate.yaml': 'keys:\n' +
      '  - {name: few, key: env:FEW, limits: {requests_per_minute: 1}}\n' +
      '  - {name: poor, key: env:POOR, limits: {budget: {usd: 0.001, per: total}}}\n' +
      'models:\n  sandbox/echo: {price: {input: 100, output: 100}}\n'
  })
  const usage = async (...args: string[]): Promise<Ended> => await headgate(t, ['usage', ...args], directory)
  t.match(await usage(), { code: 0, out: 'No usage recorded.' })
  const gateway = await startGateway(t, directory, { HEADGATE_WORKERS: '2' })
  const all = await Promise.all(Array.from({ length: 12 }, async () => await ask(gateway.url, 'few')))
  t.equal(all.filter(({ status }) => status === 200).length, 1)
  t.equal(all.filter(({ status }) => status === 429).length, 11)
  t.match(await ask(gateway.url, 'poor'), { status: 402 }, 'the maximum output costs too much')
  gateway.child.kill('SIGTERM')
  t.equal((await gateway.ended).code, 0)

  t.match(await usage(), {
    code: 0,
    out: /^KEY +CALLS +FAILED [^]*\nconfigured:few +12 +11 +0 +\d+ +0\.0 % +\d+ +\$0\.\d{4} +0\n/
  })
  t.match(
    JSON.parse((await usage('--by', 'day,key', '--since', '1d', '--json')).out),
    [1, 1].map(() => ({
      day: /^\d{4}-\d{2}-\d{2}$/,
      key: /^configured:/,
      calls: Number,
      cost_nano_usd: Number
    }))
  )
  t.match(await usage('--since', '2999-01-01'), { code: 0, out: 'No usage recorded.' })
  t.match(await usage('--by', 'modle'), { code: 2, error: /did you mean "model"/ })
  t.match(await usage('--by', 'session', '--top', '0'), { code: 2, error: /--top must be a whole number from 1 to 10000, not "0"/ })
  t.match(await usage('--since', 'long ago'), { code: 2, error: /must be a date/ })
})

t.test('the cached share of the prompt is shown', async t => {
  const directory = directoryOf(t)
  const database = await openDatabase(join(directory, '.headgate'))
  const rows = [{ prompt_tokens: 3000, cached_tokens: 2500 }, { prompt_tokens: 1000, cached_tokens: 0 }]
  await database.insertUsage(rows.map((usage, number) => (usageRowOf(number, usage))))
  await database.close()
  const { out } = await headgate(t, ['usage', '--since', '2025-11-01'], directory)
  t.match(out, /^KEY [^\n]* PROMPT +CACHED +COMPLETION [^\n]*\n\S+ +2 +0 +0 +4000 +62\.5 % /)
})
