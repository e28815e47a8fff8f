import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ExportStore } from '../../lib/exports/export-store.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { headgate } from '../support/command.ts'
import { directoryOf, launch } from '../support/headgate.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Test } from 'tap'

async function directoryWith (t: Test, rows: number): Promise<string> {
  const directory = directoryOf(t)
  const database = await openDatabase(join(directory, '.headgate'))
  await database.insertUsage(Array.from({ length: rows }, (_, number) => usageRowOf(number)))
  await database.close()
  return directory
}

t.test('records of a period are printed as CSV or JSON lines', async t => {
  const directory = await directoryWith(t, 3)
  const usage = async (...args: string[]) => await headgate(t, ['usage', 'export', ...args], directory)
  const { code, out } = await usage('--since', '2025-11-01')
  t.equal(code, 0)
  t.same(
    out
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as { id: string }).id),
    ['row-0', 'row-1', 'row-2']
  )
  t.match(
    await usage(
      '--format',
      'csv',
      '--since',
      '2025-11-21T01:00:00.001Z',
      '--until',
      '2025-11-21T01:00:00.002Z'
    ),
    {
      code: 0,
      out: /^id,call_id,at_ms,[^\n]*\r\n+row-1,call,1763686800001,[^\n]*\r\n$/
    }
  )
  t.match(await usage('--since', '1d'), { code: 0, out: '' })
  t.match(await usage('--format', 'xml'), { code: 2, error: /--format must be csv or jsonl/ })
  t.match(await usage('--until', 'later'), { code: 2, error: /--until must be a date/ })
})

t.test('it exits successfully as soon as its reader closes the pipe', async t => {
  const directory = await directoryWith(t, 5000) // 2 MB, more than a pipe buffers
  const { child, ended } = launch(t, ['usage', 'export', '--since', '2025-11-01'], directory)
  child.stdout?.once('data', () => child.stdout?.destroy())
  t.match(await ended, { code: 0, error: '' })
})

t.test('configured exports are written at once, and failures are reported', async t => {
  const directory = await directoryWith(t, 3)
  writeFileSync(join(directory, 'headgate.yaml'), 'usage: {exports: {files: {directory: out}}}')
  const run = async () => await headgate(t, ['usage', 'export', '--now'], directory)
  t.match(await run(), { code: 0, out: 'files: wrote 0 files', error: '' }, 'its first day is not over')
  const database = await openDatabase(join(directory, '.headgate'))
  await new ExportStore(database).add(
    'files',
    { fromMs: Date.UTC(2025, 10, 21), untilMs: Date.UTC(2025, 10, 22) },
    0
  )
  await database.close()
  t.match(await run(), { code: 1, out: 'files: wrote 0 files', error: /^files: ENOENT/ })
  mkdirSync(join(directory, 'out'))
  t.match(await run(), { code: 0, out: 'files: wrote 1 files', error: '' })
  t.match(
    readFileSync(join(directory, 'out', 'usage-20251121T00Z-20251122T00Z.csv'), 'utf8'),
    /^id,[^\r]*\r\nrow-0,[^\r]*\r\nrow-1,[^\r]*\r\nrow-2,[^\r]*\r\n$/
  )
})

t.test('without targets there is nothing to write', async t => {
  const directory = await directoryWith(t, 0)
  t.match(await headgate(t, ['usage', 'export', '--now'], directory), {
    code: 1,
    error: /add a target to usage\.exports/
  })
})
