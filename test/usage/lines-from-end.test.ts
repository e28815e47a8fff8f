import { execFileSync } from 'node:child_process'
import { appendFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { importJournals } from '../../lib/usage/import-journals.ts'
import { linesFromEnd } from '../../lib/usage/lines-from-end.ts'
import { usageRowOf } from '../support/usage.ts'

async function read (path: string): Promise<string[]> {
  const lines: string[] = []
  for await (const some of linesFromEnd(path)) lines.push(...some)
  return lines
}

t.test('lines are read from last to first, complete at any chunk size', async t => {
  const path = join(t.testdir(), 'lines')
  writeFileSync(path, '')
  t.same(await read(path), [])
  writeFileSync(path, 'ä\nb\n\nc')
  t.same(await read(path), ['c', '', 'b', 'ä'])
  const lines = Array.from({ length: 30_000 }, (_, number) => `${number} ${'é€'.repeat(number % 40)}`)
  writeFileSync(path, lines.join('\n'))
  t.same(await read(path), lines.toReversed())
})

t.test('a pipe in place of a journal is reported and not waited for', async t => {
  const directory = t.testdir({})
  const path = join(directory, 'usage-x.jsonl')
  execFileSync('mkfifo', [path])
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const failures: unknown[] = []
  await importJournals(database, {
    onImported: () => t.fail('nothing can be imported'),
    onFailure: (file, error) => { failures.push([file, error]) }
  })
  t.match(failures, [[path, { code: 'not a regular file' }]])
})

t.test('a journal of more than 512 MB, damaged in the middle, is imported', async t => {
  const directory = t.testdir()
  const path = join(directory, 'usage-x.jsonl')
  writeFileSync(path, `${JSON.stringify(usageRowOf(1))}\n`)
  truncateSync(path, 560 * 1024 * 1024)
  appendFileSync(path, `\n${JSON.stringify(usageRowOf(2))}\n`)
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const imported: number[] = []
  await importJournals(database, {
    onImported: (_, rows) => imported.push(rows),
    onFailure: (_, error) => t.fail(String(error))
  })
  t.same(imported, [2])
  t.same(await database.query.selectFrom('usage').select('id').orderBy('id').execute(), [
    { id: 'row-1' },
    { id: 'row-2' }
  ])
})
