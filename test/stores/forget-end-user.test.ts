import { sql } from 'kysely'
import { forgetEndUser } from '../../lib/stores/forget-end-user.ts'
import { bucketOf, Durations } from '../../lib/stores/percentiles.ts'
import { planParts } from '../../lib/usage/plan-parts.ts'
import { usageParts } from '../../lib/usage/usage-parts.ts'
import { testGateway } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { storeTest } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import { sandbox } from '../support/weather-conversation.ts'
import type { Database } from '../../lib/stores/database.ts'

const tables = [
  'usage',
  'usage_rollups',
  'name_rollups',
  'counted_names',
  'spending',
  'call_bodies',
  'responses',
  'response_items',
  'response_events',
  'deferred',
  'text_pieces'
] as const

/** The tables that describe calls, without those that hold answers for callers. */
const recordTables = ['usage', 'name_rollups', 'counted_names', 'call_bodies'] as const

/** Reads every text of the tables that calls write to. */
async function allOf (
  { query }: Database,
  names: ReadonlyArray<typeof tables[number]> = tables
): Promise<string> {
  const rows = await Promise.all(
    names.map(async table => (await sql`select * from ${sql.table(table)}`.execute(query)).rows)
  )
  return JSON.stringify(rows)
}

async function sumsOf ({ query }: Database): Promise<unknown> {
  return await query
    .selectFrom('usage')
    .select(({ fn }) => [
      fn.countAll<number>().as('calls'),
      fn.sum<number>('prompt_tokens').as('tokens'),
      fn.sum<number>('cost_nano_usd').as('cost')
    ])
    .execute()
}

for (const store of ['as_given', 'hashed'] as const) {
  storeTest(`only the sums of a forgotten end user remain, and everything of others: ${store}`, async (t, open) => {
    const database = await open()
    const keepBodies = [
      {
        project: 'default',
        keepMs: 3_600_000,
        maxBytes: 1_000_000,
        redact: { fields: [], patterns: [] },
        readableBy: 'admin' as const
      }
    ]
    const { deferred } = settings()
    const api = await testGateway(
      t,
      {
        providers: [sandbox],
        calls: { keepBodies, keptMemoryBytes: 10_000_000 },
        endUsers: { store, required: false },
        deferred: { ...deferred, forAllProviders: true }
      },
      {},
      { database, usageDatabase: database }
    )
    const post = async (path: string, body: object): Promise<{ id: string }> =>
      (await (await api.post(path, body)).json()) as { id: string }
    for (const [user, secret] of [
      ['ada-42', 'of-ada'],
      ['bob', 'of-bob']
    ] as const) {
      const messages = [{ role: 'user', content: secret }]
      await post('/v1/chat/completions', {
        model: 'sandbox/echo',
        messages,
        user,
        metadata: { tags: [`tag-${secret}`], note: secret }
      })
      await post('/v1/messages', {
        model: 'sandbox/echo',
        max_tokens: 99,
        messages,
        metadata: { user_id: user }
      })
      const first = await post('/v1/responses', {
        model: 'sandbox/echo',
        input: `${secret} ${'long '.repeat(60_000)}`,
        safety_identifier: user,
        store: true
      })
      await post('/v1/responses', {
        model: 'sandbox/echo',
        input: secret,
        previous_response_id: first.id,
        safety_identifier: user,
        store: true
      })
      const { id } = await post('/v1/responses', {
        model: 'sandbox/echo',
        input: secret,
        safety_identifier: user,
        background: true,
        stream: true,
        store: true
      }).catch(() => ({ id: '' }))
      t.equal(id, '', 'a stream is no JSON')
      await post('/v1/chat/completions', { model: 'sandbox/echo', messages, user, deferred: true })
    }
    await until(
      async () =>
        (await database.query.selectFrom('deferred').select('state').execute()).every(
          ({ state }) => state === 'done'
        ),
      'the deferred calls'
    )
    await until(
      async () =>
        (await database.query.selectFrom('responses').select('status').execute()).every(
          ({ status }) => status === 'completed'
        ),
      'the responses'
    )
    await until(async () => {
      const states = await database.query.selectFrom('call_bodies').select('state').execute()
      return states.length === 16 && states.every(({ state }) => state === 'kept')
    }, 'the bodies of sixteen calls')
    await api.gateway.close()
    const before = await allOf(database)
    for (const text of ['of-ada', 'of-bob']) t.ok(before.split(text).length > 10, text)
    if (store === 'as_given') t.ok(before.split('ada-42').length > 10)
    else t.notMatch(await allOf(database, recordTables), /ada-42/)
    const sums = await sumsOf(database)

    t.same(
      await forgetEndUser(database, 'ada'),
      { calls: 0, responses: 0, atProviders: 0, deferred: 0 },
      'the name is compared exactly'
    )
    t.equal(await allOf(database), before)
    t.same(await forgetEndUser(database, 'ada-42'), { calls: 8, responses: 3, atProviders: 0, deferred: 1 })
    const after = await allOf(database)
    t.notMatch(after, /ada-42|of-ada/)
    t.equal(after.split('of-bob').length, before.split('of-bob').length)
    t.same(await sumsOf(database), sums)
    t.same(await forgetEndUser(database, 'ada-42'), { calls: 0, responses: 0, atProviders: 0, deferred: 0 })
  })
}

storeTest("the sums of an end user's pruned calls are reassigned to nobody, exactly", async (t, open) => {
  const database = await open()
  await database.insertUsage(Array.from({ length: 20 }, (_, index) => (
    usageRowOf(index, { end_user: index < 10 ? 'ada' : 'bob', duration_ms: index < 10 ? 900 : 5000 })
  )))
  await database.query.deleteFrom('usage').execute()
  const latenciesOf = async (name: string): Promise<readonly unknown[]> => (
    await database.query.selectFrom('name_rollups').select('latencies')
      .where('kind', '=', 'end_user').where('name', '=', name).execute()
  )
  await forgetEndUser(database, 'ada')
  t.same(await latenciesOf(''), await latenciesOf('bob'), 'those of all names')
  const plan = await planParts(database.query, {
    period: { fromMs: 0, untilMs: usageRowOf(20).at_ms },
    origin: {},
    by: ['end_user'],
    smallestMs: 86_400_000,
    nowMs: usageRowOf(20).at_ms
  })
  const durations = new Map<string, Durations>()
  for (const { end_user: name, latencies } of await usageParts(database.query, plan).selectAll().execute()) {
    const ofName = durations.get(name) ?? new Durations()
    ofName.addText(latencies ?? '')
    durations.set(name, ofName)
  }
  const bucket = (ms: number): string => `${bucketOf(ms)}:10`
  t.equal(durations.get('')?.text(), bucket(900), 'those without a name')
  t.equal(durations.get('bob')?.text(), bucket(5000))
})

storeTest(
  'more calls than one step takes, and stored provider objects, are forgotten and counted',
  async (t, open) => {
    const database = await open()
    const rows = Array.from({ length: 250 }, (_, index) =>
      usageRowOf(index, { end_user: index < 210 ? 'ada' : 'bob', steps: '{"error_message":"no ada"}' })
    )
    await database.insertUsage(rows)
    const response = {
      key_id: 'key-1',
      previous_id: null,
      status: 'completed',
      response: '{}',
      input: '[]',
      size_bytes: 4,
      created_at_ms: 1,
      expires_at_ms: 2,
      owner: null,
      lease_until_ms: 0,
      end_user: 'ada'
    }
    await database.query
      .insertInto('responses')
      .values(
        ['r1', 'r2'].map(id => ({
          ...response,
          id,
          root_id: id,
          origin: id === 'r1' ? '{"providerId":"openai","account":"a"}' : null
        }))
      )
      .execute()
    t.same(await forgetEndUser(database, 'ada'), { calls: 210, responses: 2, atProviders: 1, deferred: 0 })
    t.same(
      (await database.query.selectFrom('usage').select('id').where('steps', 'is not', null).execute())
        .length,
      40
    )
  }
)
