import { applyImport } from '../../lib/accounts/apply-import.ts'
import { dayMs } from '../../lib/core/day.ts'
import { digestOf } from '../../lib/keys/key-text.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { usageTotals } from '../../lib/usage/totals.ts'
import { storeTest } from '../support/stores.ts'
import type { Database } from '../../lib/stores/database.ts'
import type {
  ImportedDay,
  ImportedKey,
  ImportedOrganisation
} from '../../lib/accounts/imported-organisation.ts'

const monthMs = Date.UTC(2026, 9)
const nowMs = Date.UTC(2026, 9, 14, 12)

function day (atMs: number, parts: Partial<ImportedDay> = {}): ImportedDay {
  return {
    atMs,
    model: 'openai/gpt-4o',
    provider: 'openai',
    calls: 10,
    promptTokens: 1000,
    completionTokens: 100,
    cachedTokens: 200,
    cacheWriteTokens: 0,
    nanoUsd: 5e9,
    ...parts
  }
}

function organisationOf (...keys: ReadonlyArray<Partial<ImportedKey>>): ImportedOrganisation {
  return {
    users: [],
    projects: [
      {
        sourceId: 't',
        name: 'Team',
        createdAtMs: 1,
        members: [],
        spent: [{ fromMs: monthMs, nanoUsd: 3e9 }]
      }
    ],
    keys: keys.map((key, index) => ({
      digest: digestOf(`sk-${index}`),
      name: `key ${index}`,
      createdAtMs: 1,
      spent: [],
      isBlocked: false,
      project: 't',
      ...key
    }))
  }
}

/** Returns the totals of the endpoint `import` by model, without rows that only hold spending. */
async function sums (database: Database): Promise<unknown> {
  return await database.query
    .selectFrom('usage_rollups')
    .where('span_ms', '=', dayMs)
    .where('endpoint', '=', 'import')
    .where('model', '!=', '')
    .select([
      'from_ms',
      'model',
      'calls',
      'prompt_tokens',
      'completion_tokens',
      'cached_tokens',
      'cost_nano_usd',
      'latencies'
    ])
    .orderBy('from_ms')
    .orderBy('model')
    .execute()
}

const asSum = ({
  atMs,
  model,
  calls,
  promptTokens,
  completionTokens,
  cachedTokens,
  nanoUsd
}: ImportedDay) => ({
  from_ms: atMs,
  model,
  calls,
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  cached_tokens: cachedTokens,
  cost_nano_usd: nanoUsd,
  latencies: null
})

storeTest(
  'imported days of a key are added to the totals once, however often they are imported',
  async (t, open) => {
    const database = await open()
    const history = [
      day(monthMs - 40 * dayMs),
      day(monthMs + dayMs),
      day(monthMs + dayMs, { model: 'anthropic/claude', provider: 'anthropic', calls: 1, nanoUsd: 0 })
    ]
    const before = [history[0], history[2], history[1]].flatMap(each => each ?? [])
    for (let time = 0; time < 3; time++) {
      await applyImport(database, 'litellm', organisationOf({ history }))
      t.same(await sums(database), before.map(asSum))
    }
    const more = day(monthMs + dayMs, { calls: 15, promptTokens: 1800, nanoUsd: 7e9 })
    for (let time = 0; time < 2; time++) {
      await applyImport(
        database,
        'litellm',
        organisationOf({ history: [...history.slice(0, 1), more, ...history.slice(2)] })
      )
      t.same(((await sums(database)) as unknown[])[2], asSum(more), 'a day that grew at the source')
    }
  }
)

storeTest('reports show imported usage, and budgets count it with other spending', async (t, open) => {
  const database = await open()
  await applyImport(
    database,
    'litellm',
    organisationOf({
      history: [day(monthMs + dayMs), day(monthMs + 2 * dayMs, { calls: 3 })],
      spent: [{ fromMs: monthMs, nanoUsd: 1e9 }]
    })
  )
  const [key] = await database.query.selectFrom('keys').select('id').execute()
  t.equal(await usedBetween(database.query, 'nanoUsd', key?.id ?? '', monthMs, nowMs), 11e9)
  const { totals } = await usageTotals(database.query, monthMs, ['day', 'model'])
  const byDay = new Map(
    totals
      .filter(({ group }) => group['model'] === 'openai/gpt-4o')
      .map(({ group, sums }) => [group['day'], [sums.calls, sums.cost_nano_usd]])
  )
  t.same([byDay.get('2026-10-02'), byDay.get('2026-10-03'), byDay.size], [[10, 5e9], [3, 5e9], 2])
})

storeTest(
  'the history of a deleted key stays, but no longer counts in the period of its project',
  async (t, open) => {
    const database = await open()
    const gone = { history: [day(monthMs - dayMs), day(monthMs + dayMs)] }
    await applyImport(database, 'litellm', organisationOf(gone, {}))
    const [key] = await database.query.selectFrom('keys').select('id').where('name', '=', 'key 0').execute()
    const [project] = await database.query
      .selectFrom('projects')
      .select('id')
      .where('name', '=', 'Team')
      .execute()
    const used = async (id = '', fromMs = monthMs): Promise<number> =>
      await usedBetween(database.query, 'nanoUsd', id, fromMs, nowMs)
    t.same([await used(key?.id), await used(project?.id)], [5e9, 8e9])
    const without = organisationOf(gone, {})
    for (let time = 0; time < 2; time++) {
      await applyImport(database, 'litellm', { ...without, keys: without.keys.slice(1) })
      t.same([await used(key?.id), await used(project?.id)], [0, 3e9])
      t.equal(((await sums(database)) as unknown[]).length, 2)
    }
  }
)

storeTest('a history of thousands of days is imported in one transaction', async (t, open) => {
  const database = await open()
  const history = Array.from({ length: 3000 }, (_, index) =>
    day(monthMs - (index % 300) * dayMs, { model: `m${Math.floor(index / 300)}`, provider: '' })
  )
  await applyImport(database, 'litellm', organisationOf({ history }))
  const total = await database.query
    .selectFrom('usage_rollups')
    .where('span_ms', '=', dayMs)
    .where('model', '!=', '')
    .select(({ fn }) => fn.sum<number>('calls').as('calls'))
    .executeTakeFirst()
  t.equal(Number(total?.calls), 30_000)
})
