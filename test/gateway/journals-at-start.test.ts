import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { chatUpstreamAt, testGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import { usageRowOf } from '../support/usage.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

t.test('a gateway serves calls while it imports the journals of earlier processes', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  writeFileSync(join(database.directory, 'usage-a.jsonl'), `${JSON.stringify(usageRowOf(1))}\n`)
  const upstream = await fakeUpstream({ pieces: [chatAnswer('there')] })
  t.teardown(upstream.close)
  const mayStore = withResolvers<void>()
  const importing = withResolvers<void>()
  const api = await testGateway(t, { providers: [chatUpstreamAt(upstream.url)] }, {}, {
    usageDatabase: {
      ...database,
      insertUsage: async (rows: readonly UsageRow[]) => {
        importing.resolve()
        await mayStore.promise
        return await database.insertUsage(rows)
      }
    }
  })
  t.teardown(mayStore.resolve)
  await importing.promise
  t.equal((await fetch(`${api.url}/readyz`)).status, 200)
  const messages = [{ role: 'user', content: 'hi' }]
  t.equal((await api.post('/v1/chat/completions', { model: 'openai/gpt-5', messages })).status, 200)
  const stored = async (): Promise<string[]> => {
    const rows = await database.query.selectFrom('usage').select('id').where('id', '=', 'row-1').execute()
    return rows.map(({ id }) => id)
  }
  t.same(await stored(), [])
  mayStore.resolve()
  await until(async () => (await stored()).length === 1, 'the record to be stored')
})
