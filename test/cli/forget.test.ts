import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { forget } from '../../lib/cli/forget.ts'
import { SharedAnswers } from '../../lib/coordination/shared-answers.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Terminal } from '../../lib/process/terminal.ts'
import type { Test } from 'tap'

async function run (t: Test, args: readonly string[], config = '', redis = ''): Promise<readonly string[]> {
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  writeFileSync(
    file,
    `providers: { sandbox: { enabled: true } }\nserver: { data_dir: ${directory} }\n${config}`
  )
  const database = await openDatabase(directory)
  await database.insertUsage([usageRowOf(1, { end_user: 'ada' }), usageRowOf(2, { end_user: 'bob' })])
  const lines: string[] = []
  // all that the command uses
  const terminal = {
    env: { REDIS: redis },
    cwd: directory,
    out: (line: string) => {
      lines.push(line)
    }
  } as Partial<Terminal> as Terminal
  try {
    t.equal(await forget.run([...args, '--config', file], terminal), 0)
    const rows = await database.query.selectFrom('usage').select('end_user').orderBy('id').execute()
    t.same(
      rows.map(({ end_user: endUser }) => endUser),
      [null, 'bob']
    )
    const acts = await database.query
      .selectFrom('audit')
      .select(['actor', 'action', 'subject', 'after'])
      .execute()
    t.same(
      acts,
      [
        {
          actor: 'command line',
          action: 'end_user.forget',
          subject: null,
          after: JSON.stringify({ calls: 1, responses: 0, deferred: 0 })
        }
      ],
      'without the name of the end user'
    )
  } finally {
    await database.close()
  }
  return lines
}

const done =
  'Forgot the end user in 1 usage records, and deleted their bodies, 0 stored responses and 0 deferred completions.'

t.test('only the named end user is forgotten', async t => {
  t.same(await run(t, ['--end-user', 'ada']), [done])
  for (const args of [[], ['--end-user', '']]) {
    await t.rejects(run(t, args), {
      message: 'name the end user: headgate forget --end-user NAME',
      exitCode: 2
    })
  }
})

t.test('it lists where cached answers are stored, and deletes those in Redis', async t => {
  t.same(await run(t, ['--end-user', 'ada'], 'cache: { answers: {} }\n'), [
    done,
    'Cached answers are in the memory of each process: reload its configuration to drop them.'
  ])
  await t.test('Redis', { skip: noRedis }, async t => {
    const redis = await startRedis(t)
    const answers = new SharedAnswers(await redis.connect(t))
    answers.set('a', 'text', 60_000)
    await until(async () => (await answers.get('a')) === 'text', 'the answer')
    const config = `cache: { answers: {} }\ncoordination: { url: 'env:REDIS' }\n`
    t.same(await run(t, ['--end-user', 'ada'], config, redis.url), [done, 'Deleted 1 cached answer.'])
    t.equal(await answers.get('a'), undefined)
  })
})
