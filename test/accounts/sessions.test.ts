import t from 'tap'
import { Sessions } from '../../lib/accounts/sessions.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'

const device = { address: '127.0.0.1', userAgent: 'test' }
const dayMs = 86_400_000

t.test('a session that was not used for three days is neither found nor listed', async t => {
  const { query, close } = await openSqlite(t.testdir())
  t.teardown(close)
  const sessions = new Sessions(query, async work => await work())
  const user = { id: 'user_1', email: 'a@example.com', name: 'a', role: 'member', created_at_ms: 0 } as const
  await query.insertInto('users').values({
    ...user, email_by_other: null, password: null, last_seen_at_ms: null, disabled_at_ms: null, limits: null
  }).execute()
  const used = await sessions.create(user.id, device, false)
  const idle = await sessions.create(user.id, device, false)
  await query
    .updateTable('sessions')
    .set({ last_seen_at_ms: Date.now() - 3 * dayMs - 1000 })
    .where('id', '=', idle.row.id)
    .execute()
  t.match(await sessions.find(used.token), { session: { id: used.row.id } })
  t.equal(await sessions.find(idle.token), undefined)
  t.match(await sessions.list(user.id, used.row.id), [{ id: used.row.id, current: true }])
  t.equal((await sessions.list(user.id, used.row.id)).length, 1)
})
