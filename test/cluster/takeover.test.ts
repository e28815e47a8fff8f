import { once } from 'node:events'
import t from 'tap'
import { request } from 'undici'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { chat, clusterKey, clusterOf } from '../support/cluster.ts'
import { noPostgres, postgresPlace } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { chatAnswer } from '../support/upstream.ts'

// A lease of a deferred call ends 30 s after its last renewal, and other gateways look for expired ones every
// 10 s.
t.test(
  'a deferred call whose gateway was killed is completed once, by another gateway',
  { skip: noPostgres, timeout: 90_000 },
  async t => {
    const place = await postgresPlace(t)
    let requests = 0
    const cluster = await clusterOf(t, {
      place,
      config: { deferred: { for_all_providers: true } },
      script: async () => {
        if (++requests === 1) await new Promise<never>(() => undefined) // its gateway is killed meanwhile
        return { pieces: [chatAnswer('from the second')] }
      }
    })
    const [one, two] = await Promise.all([cluster.start('one'), cluster.start('two')])
    const { status, body } = await chat(one.url, 'deferred', { body: { deferred: true } })
    t.equal(status, 200)
    await until(() => requests === 1, 'the first request')
    one.child.kill('SIGKILL')
    await once(one.child, 'close')
    const fetched = async (): Promise<{ status: number, text: string }> => {
      const answer = await request(`${two.url}/v1/chat/deferred-completion/${String(body['request_id'])}`, {
        headers: { authorization: `Bearer ${clusterKey}` }
      })
      return { status: answer.statusCode, text: await answer.body.text() }
    }
    t.equal((await fetched()).status, 202, 'any gateway can return it')
    await until(async () => (await fetched()).status === 200, 'the answer', 60_000)
    t.match((await fetched()).text, /from the second/)
    t.equal(requests, 2)
    two.child.kill('SIGTERM')
    await two.ended
    const database = await openDatabase(place)
    t.teardown(database.close)
    t.match(await database.query.selectFrom('deferred').select(['state', 'attempts']).execute(), [
      { state: 'done', attempts: 2 }
    ])
  }
)
