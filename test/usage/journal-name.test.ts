import { spawnSync } from 'node:child_process'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { finishedJournalName, isAbandoned, journalName } from '../../lib/usage/journal-name.ts'

t.test('a journal of this process is in use, a complete one is not', async t => {
  t.equal(isAbandoned(join('/data', journalName())), false)
  t.equal(isAbandoned(join('/data', finishedJournalName())), true)
  t.not(journalName(), journalName())
  t.not(finishedJournalName(), finishedJournalName())
})

t.test('other files are never journals', async t => {
  for (const name of [
    'headgate.db',
    'usage-.jsonl',
    'usage-a.json',
    'usage-a.jsonl.part',
    'journal-abc-1-x.jsonl',
    'my-usage-a.jsonl'
  ]) {
    t.equal(isAbandoned(`/data/${name}`), false, name)
  }
})

t.test('the journal of an exited process is abandoned, that of a running process is not', async t => {
  const dead = spawnSync(process.execPath, ['-e', '']).pid
  const own = journalName()
  const of = (pid: number): string =>
    join(t.testdirName, own.replace(`-${process.pid}-`, `-${pid}-`).replace(/.{4}\.jsonl$/, 'else.jsonl'))
  t.testdir({})
  t.equal(isAbandoned(of(dead)), true)
  t.equal(isAbandoned(`${of(dead)}.part`), true, 'nor will anyone complete its replacement')
  t.equal(isAbandoned(join('/data', `${journalName()}.part`)), false)
  t.equal(
    isAbandoned(of(process.pid)),
    true,
    'not by a name of this very process: a container has started again'
  )
  writeFileSync(of(process.ppid), '')
  t.equal(isAbandoned(of(process.ppid)), false)
})

t.test('for another machine only the time of the last heartbeat counts', async t => {
  const path = join(t.testdir({ 'journal-000000000000-1-x.jsonl': '' }), 'journal-000000000000-1-x.jsonl')
  t.equal(isAbandoned(path), false)
  const before = (seconds: number): Date => new Date(Date.now() - seconds * 1000)
  utimesSync(path, before(50), before(50))
  t.equal(isAbandoned(path), false)
  utimesSync(path, before(61), before(61))
  t.equal(isAbandoned(path), true)
  t.equal(isAbandoned(path.replace('-x', '-gone')), false, 'one that is gone is no one\'s')
})

t.test(
  'a journal of a suspended process is in use, one of an earlier process with the same id is not',
  { skip: process.platform !== 'linux' && 'no start of a process' },
  async t => {
    const path = join(t.testdir({}), journalName().replace(`-${process.pid}-`, `-${process.ppid}-`))
    writeFileSync(path, '')
    const realNow = Date.now
    const clock = t.intercept(Date, 'now', { value: () => realNow() + 3_600_000 })
    t.equal(isAbandoned(path), false, 'an hour without a sign of life')
    utimesSync(path, new Date(0), new Date(0))
    t.equal(isAbandoned(path), true, 'the process began after the last change')
    clock.restore()
  }
)
