/** `end_users.store: hashed`: records of calls have digests instead of the names of end users. */

import { endUserDigest } from '../../lib/stores/end-user-digests.ts'
import { storeSecret } from '../../lib/stores/store-secret.ts'
import { adminGateway } from '../support/admin.ts'
import { chatUpstreamAt } from '../support/gateway.ts'
import { modelSettings } from '../support/settings.ts'
import { storeTest } from '../support/stores.ts'
import { eventually, until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

storeTest(
  'records, logs and reports have digests, filters also take names, and budgets apply',
  async (t, _open, place) => {
    const usage = { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 }
    const upstream = await fakeUpstream({ pieces: [chatAnswer('three', usage)] })
    t.teardown(upstream.close)
    const gateway = await adminGateway(
      t,
      {
        providers: [chatUpstreamAt(upstream.url)],
        models: [modelSettings('openai/m', { price: { input: 100, output: 1000 } })],
        endUsers: { store: 'hashed', required: true, defaultBudget: { usd: 1, per: 'day' } }
      },
      {},
      place
    )
    const { api, database } = gateway
    const { key } = await gateway.keys.create({ name: 'caller' })
    const authorization = `Bearer ${key}`
    const digest = endUserDigest(await storeSecret(database.query))('default', 'ada')
    const ask = async (user: string): Promise<number> => {
      const answer = await api.post(
        '/v1/chat/completions',
        { model: 'openai/m', messages: 'hi', max_tokens: 1000, user },
        { headers: { authorization } }
      )
      await answer.text()
      return answer.status
    }
    t.same([await ask('ada'), await ask('bob')], [200, 200])
    t.match(upstream.requests.map(({ text }) => JSON.parse(text).user), ['ada', 'bob'], 'providers get names')
    const lines = await eventually(
      async () => api.lines.filter(({ msg, endpoint }) => msg === 'call' && endpoint === 'chat'),
      found => found.length === 2,
      'the lines of the calls'
    )
    t.equal(lines[0]?.['end_user'], digest)

    await until(
      async () => (await database.query.selectFrom('usage').select('id').execute()).length === 2,
      'the records'
    )
    const { send } = await gateway.user('owner')
    for (const name of ['ada', digest]) {
      const { body } = await send(`GET /admin/v1/calls?end_user=${name}`)
      t.same(body.data.map(({ end_user: endUser }: { end_user: string }) => endUser), [digest], name)
      const usage = (await send(`GET /admin/v1/usage?group_by=end_user&end_user=${name}`)).body
      t.equal(usage.totals.calls, 1)
      t.same(usage.groups.map(({ id }: { id: string }) => id), [digest])
    }
    t.equal((await send('GET /admin/v1/calls?end_user=eve')).body.data.length, 0)
    const csv = await (await fetch(`${api.url}/admin/v1/calls.csv?end_user=ada`, {
      headers: (await gateway.user('owner')).headers
    })).text()
    t.match(csv, digest)
    t.notMatch(csv, /\bada\b/)

    const status = await (
      await api.get('/v1/key', { headers: { authorization, 'x-litellm-end-user-id': 'ada' } })
    ).json() as { readonly limits: readonly object[] }
    t.match(status.limits, [{ of: 'end_user', id: digest, limit: 1, remaining: 0 }])
    t.same([await ask('ada'), await ask('eve')], [402, 200], 'each end user has a budget')
    t.notMatch(JSON.stringify(api.lines), /"ada"/)
  }
)
