import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importJournals } from '../../lib/usage/import-journals.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { journalName } from '../../lib/usage/journal-name.ts'
import { printLine } from '../../lib/usage/journal.ts'
import { usageRow } from '../../lib/usage/usage-row.ts'
import { routedCall } from '../support/stages.ts'
import { usageRowOf } from '../support/usage.ts'
import { storeTest, type OpenStore } from '../support/stores.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import { fillRecord } from '../support/fill-record.ts'

const models = { find: () => undefined }
const lines = (...rows: UsageRow[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')

async function importFrom (open: OpenStore, files: Record<string, string | undefined>) {
  const database = await open()
  const { directory } = database
  for (const [name, text] of Object.entries(files)) {
    if (text === undefined) mkdirSync(join(directory, name))
    else writeFileSync(join(directory, name), text)
  }
  const events: unknown[] = []
  await importJournals(database, {
    onImported: (file, rows) => {
      events.push([file.slice(directory.length + 1), rows])
    },
    onFailure: file => {
      events.push([file.slice(directory.length + 1), 'failed'])
    }
  })
  const rows = await database.query.selectFrom('usage').select(['id', 'status']).orderBy('at_ms').execute()
  return {
    events,
    rows: rows.map(({ id, status }) => [id, status]),
    left: readdirSync(directory).filter(name => /\.jsonl(?:\.part)?$/.test(name))
  }
}

storeTest('rows of abandoned journals are stored, and the files deleted', async (t, open) => {
  const result = await importFrom(open, {
    'usage-a.jsonl': lines(usageRowOf(1), usageRowOf(2)),
    'usage-b.jsonl': lines(usageRowOf(2), usageRowOf(3))
  })
  t.same(result.rows, [
    ['row-1', 200],
    ['row-2', 200],
    ['row-3', 200]
  ])
  t.same(result.events, [
    ['usage-a.jsonl', 2],
    ['usage-b.jsonl', 1]
  ])
  t.same(result.left, [])
})

storeTest('the unfinished replacement of an abandoned journal is imported as well', async (t, open) => {
  const name = journalName().replace(`-${process.pid}-`, '-4194303-').replace(/.{4}\.jsonl$/, 'else.jsonl')
  const { rows, left } = await importFrom(open, {
    [name]: lines(usageRowOf(1), usageRowOf(2)),
    [`${name}.part`]: `${lines(usageRowOf(2))}{"id":"cut`
  })
  t.same(rows, [['row-1', 200], ['row-2', 200]])
  t.same(left, [])
})

storeTest(
  'work before rows are stored is waited for, and its failure keeps the file',
  async (t, open) => {
    const database = await open()
    const stored = async (): Promise<number> =>
      (await database.query.selectFrom('usage').select('id').execute()).length
    const events = {
      onImported: () => undefined,
      onFailure: (_: string, error: unknown) => {
        failed.push(String(error))
      }
    }
    const failed: string[] = []
    const seen: Array<readonly [ids: readonly string[], stored: number]> = []
    writeFileSync(join(database.directory, 'usage-a.jsonl'), lines(usageRowOf(1), usageRowOf(2)))
    await importJournals(database, {
      ...events,
      beforeStored: async () => await Promise.reject(new Error('not now'))
    })
    t.same([failed, await stored()], [['Error: not now'], 0])
    await importJournals(database, {
      ...events,
      beforeStored: async rows => {
        seen.push([rows.map(({ id }) => id), await stored()])
      }
    })
    t.same(seen, [[['row-2', 'row-1'], 0]])
    t.equal(await stored(), 2)
  }
)

storeTest(
  'a locked store is waited for, however long, until the import is stopped',
  async (t, open) => {
    const database = await open()
    writeFileSync(join(database.directory, 'usage-a.jsonl'), lines(usageRowOf(1)))
    const events = { onImported: () => undefined, onFailure: (_: string, error: unknown) => t.error(error) }
    const startedMs = performance.now()
    let tries = 0
    // The clock advances an hour with each attempt.
    t.intercept(performance, 'now', { value: () => startedMs + tries * 3_600_000 })
    const lockedUntil = (freeAt: number) => ({
      ...database,
      insertUsage: async (rows: readonly UsageRow[]) => {
        if (++tries < freeAt) throw new Error('database is locked')
        return await database.insertUsage(rows)
      }
    })
    await importJournals(lockedUntil(Infinity), { ...events, isStopped: () => tries === 3 })
    t.same(
      readdirSync(database.directory).filter(name => /\.jsonl(?:\.part)?$/.test(name)),
      ['usage-a.jsonl'],
      'it stays for the next start'
    )
    await importJournals(lockedUntil(6), events)
    t.equal(tries, 6)
    t.match(await database.query.selectFrom('usage').select('id').execute(), [{ id: 'row-1' }])
  }
)

storeTest(
  'of two lines of a call the second counts, and a truncated line is ignored',
  async (t, open) => {
    const { rows, left } = await importFrom(open, {
      'usage-a.jsonl': `${lines(usageRowOf(1), usageRowOf(1, { status: 499 }))}{"id":"row-2","call`
    })
    t.same(rows, [['row-1', 499]])
    t.same(left, [])
  }
)

storeTest('only the last line of each call is sent to the database', async (t, open) => {
  const database = await open()
  const rows = Array.from({ length: 300 }, (_, number) => usageRowOf(number))
  // A batch has some thousand lines: most calls end in another batch than they began in.
  writeFileSync(
    join(database.directory, 'usage-a.jsonl'),
    lines(
      ...rows.map(row => ({ ...row, outcome: 'interrupted' as const, model: 'm'.repeat(5000) })),
      ...rows
    )
  )
  let given = 0
  await importJournals(
    {
      ...database,
      insertUsage: async some => {
        given += some.length
        return await database.insertUsage(some)
      }
    },
    { onImported: () => undefined, onFailure: (_file, error) => t.fail(String(error)) }
  )
  t.equal(given, rows.length)
  t.equal(
    (await database.query.selectFrom('usage').select('id').where('outcome', '=', 'ok').execute()).length,
    rows.length
  )
})

storeTest('more rows than one step takes are stored', async (t, open) => {
  const { events } = await importFrom(open, {
    'usage-a.jsonl': lines(...Array.from({ length: 450 }, (_, number) => usageRowOf(number)))
  })
  t.same(events, [['usage-a.jsonl', 450]])
})

storeTest(
  'an empty journal is deleted silently; an unreadable or unwritable one is kept and reported',
  async (t, open) => {
    const bad = { ...usageRowOf(1), endpoint: null }
    const { events, left } = await importFrom(open, {
      'usage-empty.jsonl': '',
      'usage-folder.jsonl': undefined,
      'usage-wrong.jsonl': `${JSON.stringify(bad)}\n`
    })
    t.same(events, [
      ['usage-folder.jsonl', 'failed'],
      ['usage-wrong.jsonl', 'failed']
    ])
    t.same(left, ['usage-folder.jsonl', 'usage-wrong.jsonl'])
  }
)

storeTest(
  'a deleted directory has no journals; an unreadable one is reported',
  async (t, open) => {
    const database = await open()
    const failed: string[] = []
    const look = async (directory: string): Promise<void> => {
      await importJournals(
        { ...database, directory },
        {
          onImported: () => t.fail('nothing is there'),
          onFailure: (place, error) => {
            failed.push(`${place}: ${String(error)}`)
          }
        }
      )
    }
    const file = join(database.directory, 'file')
    writeFileSync(file, '')
    await look(join(database.directory, 'gone'))
    t.same(failed, [])
    await look(file)
    t.match(failed, [/file: Error: ENOTDIR/])
  }
)

storeTest(
  'of two journals with lines of a call the last line counts, whichever is imported first',
  async (t, open) => {
    const openRow = (number: number, parts: Partial<UsageRow> = {}): UsageRow =>
      usageRowOf(number, { outcome: 'interrupted', status: null, duration_ms: 0, ...parts })
    for (const [first, second] of [
      ['usage-a.jsonl', 'usage-b.jsonl'],
      ['usage-b.jsonl', 'usage-a.jsonl']
    ] as const) {
      const result = await importFrom(open, {
        [first]: lines(openRow(1), openRow(2), openRow(3)),
        [second]: lines(usageRowOf(1), openRow(2, { status: 599, duration_ms: 700 }))
      })
      t.same(result.rows, [
        ['row-1', 200],
        ['row-2', 599],
        ['row-3', null]
      ])
    }
  }
)

storeTest(
  'the end user of a call is stored with its row, even for an interrupted call',
  async (t, open) => {
    const database = await open()
    const attributions = [
      { endUser: 'ada', tags: ['x', 'y "z"'] },
      { session: 's' },
      { metadata: { a: 'b' } },
      {}
    ]
    const rows = attributions.map((attribution, index) => {
      const record = fillRecord(new CallRecord('chat'), {
        caller: { keyId: 'key-1', ...attribution },
        routing: { modelId: 'a/m', requestCount: 1, attemptsAtWork: 1 },
        limits: { rowId: `row-${index}` }
      })
      return printLine(usageRow({ ...routedCall({}), record }, models, undefined, 'interrupted') as UsageRow)
    })
    writeFileSync(join(database.directory, 'usage-a.jsonl'), rows.map(row => `${row}\n`).join(''))
    await importJournals(database, { onImported: () => undefined, onFailure: (_, error) => t.error(error) })
    const nothing = { end_user: null, session: null, tags: null, metadata: null }
    t.same(
      await database.query
        .selectFrom('usage')
        .select(['end_user', 'session', 'tags', 'metadata'])
        .orderBy('id')
        .execute(),
      [
        { ...nothing, end_user: 'ada', tags: '["x","y \\"z\\""]' },
        { ...nothing, session: 's' },
        { ...nothing, metadata: '{"a":"b"}' },
        nothing
      ]
    )
  }
)
