import t, { type Test } from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { chatUpstreamAt, testGateway, type TestGateway } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { Database } from '../../lib/stores/database.ts'

interface Place {
  readonly api: TestGateway
  readonly database: Database
  /** Does what the gateway does once a minute. */
  readonly minute: () => void
}

async function start (t: Test): Promise<Place> {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const everyMinute: Array<() => void> = []
  const { setInterval: original } = globalThis
  const noting = (work: () => void, ms?: number): NodeJS.Timeout => {
    if (ms === 60_000) everyMinute.push(work)
    return original(work, ms)
  }
  globalThis.setInterval = Object.assign(noting, original)
  try {
    const api = await testGateway(t, {
      providers: [chatUpstreamAt(`${upstream.url}/v1`)],
      responses: { ...settings().responses, keepMs: 1 }
    }, {}, { database, usageDatabase: database })
    return { api, database, minute: () => { for (const work of everyMinute) work() } }
  } finally {
    globalThis.setInterval = original
  }
}

t.test('expired responses are deleted', async t => {
  const { api, database, minute } = await start(t)
  const stored = async (): Promise<number> =>
    (await database.query.selectFrom('responses').select('id').execute()).length
  t.equal((await api.post('/v1/responses', { model: 'openai/gpt-5', input: 'hi' })).status, 200)
  await until(async () => await stored() === 1, 'the response to be stored')
  minute()
  await until(async () => await stored() === 0, 'the response to be deleted')
  t.same(api.lines.filter(({ level }) => level === 'error'), [])
})

t.test('a store that cannot delete what expired is reported, and calls go on', async t => {
  const { api, database, minute } = await start(t)
  await database.query.schema.dropTable('responses').execute()
  minute()
  await until(() => api.lines.some(({ msg }) => msg === 'failed to delete expired responses'), 'the message')
  const answer = await api.post('/v1/chat/completions', { model: 'openai/gpt-5', messages: 'hi' })
  t.equal(answer.status, 200)
})
