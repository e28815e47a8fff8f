import { join } from 'node:path'
import t from 'tap'
import { requestOf } from '../support/limits.ts'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { headgate } from '../support/command.ts'
import { ask, directoryOf, startGateway } from '../support/headgate.ts'

t.test(
  'a reservation that waits for a locked store delays no other',
  async t => {
    const directory = directoryOf(t, { 'headgate.yaml': 'providers: {sandbox: {}}\n' })
    const keyWith = async (name: string, ...limits: string[]): Promise<string> => {
      const { out } = await headgate(t, ['keys', 'create', '--name', name, ...limits], directory)
      return /hg_\S+/.exec(out)?.[0] ?? ''
    }
    const budgetKey = await keyWith('budget', '--budget', '20/month')
    const limitedKey = await keyWith('limited', '--requests-per-minute', '1000')
    const gateway = await startGateway(t, directory, { HEADGATE_WORKERS: '2' })

    // With another gateway on the store, each budget reservation is written to it.
    const shared = await openDatabase(join(directory, '.headgate'), { busyTimeoutMs: 0 })
    t.teardown(shared.close)
    const other = new LocalLimiter({ shared })
    t.teardown(() => other.close())
    await other.reserve(
      requestOf({ keyId: 'other', limits: { budget: { usd: 1, per: 'day' } }, tokens: 0, nanoUsd: 0 })
    )
    t.match(await ask(gateway.url, budgetKey), { status: 200 })

  const database = await openDatabase(shared.directory)
  t.teardown(database.close)
  const lock = await database.query.startTransaction().execute()
  await lock.deleteFrom('secrets').execute()
  let isLocked = true
  const lockedAtEnd = ask(gateway.url, budgetKey).then(({ status }) => ({ status, isLocked }))
  const statuses = new Set<number>()
  for (let call = 0; call < 20; call++) statuses.add((await ask(gateway.url, limitedKey)).status)
  t.same([...statuses], [200])
  isLocked = false
  await lock.rollback().execute()
  t.same(await lockedAtEnd, { status: 200, isLocked: false }, 'it waited for the store, the others did not')
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
})
