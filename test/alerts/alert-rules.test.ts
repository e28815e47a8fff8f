import { alertRules, type Findings } from '../../lib/alerts/alert-rules.ts'
import { ExportStore } from '../../lib/exports/export-store.ts'
import { openKeyStore } from '../../lib/keys/key-store.ts'
import { Projects } from '../../lib/accounts/projects.ts'
import { Reports } from '../../lib/usage/reports.ts'
import { statementRunner } from '../../lib/stores/use-store.ts'
import { Secret } from '../../lib/core/secret.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { storeTest, type OpenStore } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import type { KeyStore } from '../../lib/keys/key-store.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000] as const
/** A Friday, 10:30 UTC. */
const nowMs = Date.UTC(2026, 10, 27, 10, 30)

interface World {
  readonly database: Database
  readonly keys: KeyStore
  readonly projects: Projects
  readonly find: (rule: keyof typeof alertRules, atMs?: number) => Promise<Findings>
  readonly spend: (keyId: string, usd: number, atMs?: number, parts?: Partial<UsageRow>) => Promise<void>
}

async function world (t: Test, open: OpenStore, parts: Partial<Settings> = {}): Promise<World> {
  const database = await open()
  const keys = await openKeyStore(database, parts.keys ?? [], { pollMs: 60_000 })
  t.teardown(keys.close)
  const reports = new Reports(database)
  t.teardown(async () => await reports.close())
  let rows = 0
  return {
    database,
    keys,
    projects: new Projects(database.query, statementRunner(database, 'Projects')),
    find: async (rule, atMs = nowMs) => {
      const found = await alertRules[rule]?.({
        settings: settings(parts),
        query: database.query,
        reports,
        configuredKeys: () => keys.configured(),
        nowMs: atMs
      })
      return found ?? {}
    },
    spend: async (keyId, usd, atMs = nowMs - minuteMs, more = {}) => {
      await database.insertUsage([
        usageRowOf(++rows, {
          key_id: keyId,
          at_ms: atMs + rows,
          cost_nano_usd: Math.round(usd * 1e9),
          attempts: 1,
          ...more
        })
      ])
    }
  }
}

const limits = (usd: number, more: object = {}): PartyLimits => ({ budget: { usd, per: 'month', ...more } })

storeTest(
  'a budget alert is raised at 50, 80 and 100 %, only for the highest reached, once per window',
  async (t, open) => {
    const { keys, find, spend } = await world(t, open)
    const { id } = await keys.create({ name: 'build', limits: limits(10) })
    const ids = new Set<string>()
    const percents = async (atMs = nowMs): Promise<unknown[]> => {
      const { alerts = [] } = await find('budgets', atMs)
      for (const alert of alerts) ids.add(alert.id)
      return alerts.map(({ data }) => data['percent'])
    }
    t.same(await percents(), [])
    await spend(id, 4.99)
    t.same(await percents(), [])
    await spend(id, 0.01)
    t.same(await percents(), [50])
    t.same(await percents(nowMs + minuteMs), [50])
    t.equal(ids.size, 1, 'the same alert on the next evaluation')
    await spend(id, 4)
    t.same(await percents(), [80])
    await spend(id, 0.999)
    const { alerts } = await find('budgets')
    t.match(
      alerts,
      [
        {
          event: 'budget.threshold',
          message: 'The API key build has spent 100 % of its budget of $10 a month.',
          data: {
            key: { id, name: 'build' },
            percent: 100,
            budget_usd: 10,
            from: '2026-11-01T00:00:00.000Z',
            until: '2026-12-01T00:00:00.000Z'
          }
        }
      ],
      'a strict budget counts as used up when less than a thousandth is left'
    )
    await percents()
    t.equal(ids.size, 3)
    const next = Date.UTC(2026, 11, 3)
    await spend(id, 6, next - minuteMs)
    t.same(await percents(next), [50], 'the next month starts over')
    t.equal(ids.size, 4)
  }
)

storeTest(
  'budgets of projects, defaults and configured keys raise alerts; idle keys are skipped',
  async (t, open) => {
    const parts: Partial<Settings> = {
      keys: [{ name: 'mine', key: new Secret('k'), limits: limits(1, { per: 'day' }) }],
      limits: { ...settings().limits, defaultKeyLimits: limits(100) }
    }
    const { keys, projects, find, spend } = await world(t, open, parts)
    const project = await projects.create({ name: 'blue', limits: { budget: { usd: 20, per: 'week' } } })
    const one = (await keys.create({ name: 'one', projectId: project.id })).id
    const two = (await keys.create({ name: 'two', projectId: project.id })).id
    const configured = keys.configured()[0]?.id ?? ''
    await spend(one, 9)
    await spend(two, 8)
    await spend(configured, 0.9)
    const messages = async (atMs?: number): Promise<string[]> =>
      ((await find('budgets', atMs)).alerts ?? []).map(({ message }) => message).toSorted()
    t.same(await messages(), [
      'The API key mine has spent 80 % of its budget of $1 a day.',
      'The project blue has spent 80 % of its budget of $20 a week.'
    ])
    await spend(two, 60)
    t.same(await messages(), [
      'The API key mine has spent 80 % of its budget of $1 a day.',
      'The API key two has spent 50 % of its budget of $100 a month.',
      'The project blue has spent 100 % of its budget of $20 a week.'
    ])
    t.same(await messages(nowMs + 2 * hourMs), [])
  }
)

storeTest(
  'spending in an hour is unusual above four times the median of fourteen days and above $5',
  async (t, open) => {
    const { keys, projects, find, spend } = await world(t, open)
    const project = await projects.create({ name: 'blue' })
    const { id } = await keys.create({ name: 'build', projectId: project.id })
    const found = async (): Promise<unknown[]> =>
      ((await find('unusualHours')).alerts ?? []).map(({ message, data }) => [message, data['hour']])
    await spend(id, 100)
    t.same(await found(), [], 'there is no history to compare with')
    // Thirteen of fourteen days have spending in this hour: the median of 2, 2, … 2, 0 is 2.
    for (let day = 1; day <= 14; day++) await spend(id, day === 5 ? 0 : 2, nowMs - day * dayMs)
    t.same(await found(), [
      ['The project blue has spent $100.00 in an hour, usually $2.00.', '2026-11-27T10:00:00.000Z']
    ])
    await spend('key-1', 4.9)
    t.equal((await found()).length, 1, 'less than $5 is ignored')
    await spend('key-1', 0.2)
    t.same(
      (await found()).map(String).toSorted()[0],
      'The project Default has spent $5.10 in an hour, usually $0.00.,2026-11-27T10:00:00.000Z'
    )
    const later = (await find('unusualHours', nowMs + hourMs)).alerts ?? []
    t.same(
      later.map(({ id }) => id).toSorted(),
      ((await find('unusualHours')).alerts ?? []).map(({ id }) => id).toSorted(),
      'an hour later the alerts have the same ids'
    )
  }
)

storeTest('spending of mirrored calls belongs to a project of its own', async (t, open) => {
  const { find, spend } = await world(t, open)
  for (let day = 1; day <= 14; day++) await spend('key-1', 2, nowMs - day * dayMs)
  await spend('key-1', 7)
  await spend('mirror', 6, nowMs - minuteMs, { endpoint: 'mirror' })
  t.match((await find('unusualHours')).alerts, [
    {
      message: 'The project mirror has spent $6.00 in an hour, usually $0.00.',
      data: { project: { id: 'mirror' } }
    }
  ])
})

storeTest('spending of exactly four times the median is not unusual', async (t, open) => {
  const { find, spend } = await world(t, open)
  for (let day = 1; day <= 14; day++) await spend('key-1', 2, nowMs - day * dayMs)
  await spend('key-1', 8)
  t.same((await find('unusualHours')).alerts, [])
  await spend('key-1', 0.01)
  t.match((await find('unusualHours')).alerts, [{ data: { spent_usd: 8.01, median_usd: 2 } }])
})

storeTest('a key that expires soon raises an alert, whether configured or created', async (t, open) => {
  const { keys, find } = await world(t, open, {
    keys: [
      { name: 'mine', key: new Secret('k'), expiresAtMs: nowMs + dayMs },
      { name: 'later', key: new Secret('l'), expiresAtMs: nowMs + 30 * dayMs }
    ],
    alerts: { webhooks: {}, emails: {}, errorPercent: 20, keyExpiryDays: 3 }
  })
  await keys.create({ name: 'soon', expiresAtMs: nowMs + 3 * dayMs })
  await keys.create({ name: 'not yet', expiresAtMs: nowMs + 3 * dayMs + 1 })
  await keys.create({ name: 'never' })
  await keys.create({ name: 'expired', expiresAtMs: nowMs })
  await keys.create({ name: 'revoked', expiresAtMs: nowMs + dayMs })
  await keys.revoke('revoked')
  const { alerts = [] } = await find('expiring')
  t.same(alerts.map(({ message }) => message).toSorted(), [
    'The API key mine expires at 2026-11-28T10:30:00.000Z.',
    'The API key soon expires at 2026-11-30T10:30:00.000Z.'
  ])
  const ids = new Set(((await find('expiring', nowMs + hourMs)).alerts ?? []).map(({ id }) => id))
  t.ok(alerts.every(({ id }) => ids.has(id)), 'an hour later the alerts have the same ids')
})

/** Steps of a call with these requests; those with a reason failed. */
function steps (...requests: ReadonlyArray<readonly [provider: string, reason?: string]>): string {
  return JSON.stringify({
    requests: requests.map(([provider, reason]) => ({
      provider,
      model: 'm',
      at_ms: 0,
      ...reason !== undefined && { reason }
    }))
  })
}

storeTest(
  'a provider is down when every request to it failed, and up again when one succeeds',
  async (t, open) => {
    const { find, spend } = await world(t, open, {
      providers: [
        providerSettings('openai', 'openai'),
        providerSettings('groq', 'openai'),
        { ...providerSettings('off', 'openai'), enabled: false }
      ]
    })
    const states = async (atMs?: number): Promise<unknown[]> =>
      ((await find('providers', atMs)).conditions ?? []).map(({ name, holds }) => [name, holds])
    t.same(await states(), [
      ['provider openai', undefined],
      ['provider groq', undefined]
    ])
    const failed = ['openai', 'upstream_unreachable'] as const
    await spend('key-1', 0, undefined, {
      provider: 'groq',
      steps: steps(failed, failed, ['groq']),
      attempts: 3
    })
    await spend('key-1', 0, undefined, {
      provider: 'groq',
      steps: steps(failed, failed, ['groq']),
      attempts: 3
    })
    t.same(
      await states(),
      [
        ['provider openai', undefined],
        ['provider groq', false]
      ],
      'four failures may come from a single call'
    )
    await spend('key-1', 0, undefined, {
      provider: 'openai',
      outcome: 'error',
      status: 502,
      steps: steps(failed)
    })
    t.same(await states(), [
      ['provider openai', true],
      ['provider groq', false]
    ])
    t.match((await find('providers')).conditions?.[0], {
      began: { event: 'provider.down', message: 'The last 5 requests to the provider openai failed.' },
      ended: { event: 'provider.up' }
    })
    await spend('key-1', 0, undefined, { provider: 'openai' })
    t.same(await states(), [
      ['provider openai', false],
      ['provider groq', false]
    ])
    t.same(
      await states(nowMs + 10 * minuteMs),
      [
        ['provider openai', undefined],
        ['provider groq', undefined]
      ],
      'without requests the state is unknown'
    )
  }
)

storeTest(
  'errors are high when more than a fifth of at least twenty calls fail; client errors do not count',
  async (t, open) => {
    const { find, spend } = await world(t, open)
    const state = async (atMs?: number): Promise<unknown> =>
      (await find('errors', atMs)).conditions?.[0]?.holds
    for (let number = 0; number < 15; number++) await spend('key-1', 0)
    for (let number = 0; number < 3; number++) {
      await spend('key-1', 0, undefined, { outcome: 'error', status: 502 })
    }
    t.equal(await state(), undefined, 'eighteen calls are too few to tell')
    await spend('key-1', 0, undefined, { outcome: 'interrupted', status: null })
    for (let number = 0; number < 6; number++) {
      await spend('key-1', 0, undefined, { outcome: 'error', status: 429 })
    }
    for (let number = 0; number < 20; number++) {
      await spend('mirror', 0, undefined, { endpoint: 'mirror', outcome: 'error', status: 500 })
    }
    t.equal(await state(), false, 'four of twenty-five')
    await spend('key-1', 0, undefined, { outcome: 'error', status: 200 })
    await spend('key-1', 0, undefined, { outcome: 'error', status: 500 })
    t.equal(await state(), true, 'six of twenty-seven')
    t.match((await find('errors')).conditions, [
      { began: { event: 'errors.high', message: '22 % of the last 27 calls failed.' } }
    ])
    t.equal(await state(nowMs + 10 * minuteMs), undefined)
  }
)

storeTest('an export alert is raised after three failures, until a file is written', async (t, open) => {
  const how = { format: 'csv', gzip: false, every: 'day' } as const
  const exports = { files: { ...how, directory: '/a' }, cloud: { ...how, directory: '/b' } }
  const { database: { query, now }, find } = await world(t, open, { usage: { ...settings().usage, exports } })
  const store = new ExportStore({ query, now })
  const holds = async (): Promise<unknown> =>
    Object.fromEntries(((await find('exports')).conditions ?? []).map(({ name, holds }) => [name, holds]))
  await store.add('files', { fromMs: 0, untilMs: dayMs }, 0)
  t.same(await holds(), { 'export files': false, 'export cloud': false })
  for (const expected of [undefined, undefined, true, true]) {
    const taken = await store.take('files', 1000)
    if (taken === undefined) throw new Error('nothing to take')
    await store.finish(taken, { error: 'the disk is full', next_at_ms: 0 })
    t.same(await holds(), { 'export files': expected, 'export cloud': false })
  }
  t.match((await find('exports')).conditions?.[0]?.began, {
    event: 'export.failing',
    message: 'Usage cannot be exported to files: the disk is full',
    data: { target: 'files', from: '1970-01-01T00:00:00.000Z' }
  })
  const taken = await store.take('files', 1000)
  if (taken !== undefined) await store.finish(taken, { state: 'written', error: null, attempts: 0 })
  t.same(await holds(), { 'export files': false, 'export cloud': false })
})
