import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createDirectory, createPrivately, fileId } from '../../../lib/stores/sqlite/database-file.ts'

const modeOf = (path: string): number => statSync(path).mode & 0o777

t.test('a file and the directories above it are created for their owner only', async t => {
  const directory = join(t.testdir({}), 'a', 'b')
  createPrivately(join(directory, 'headgate.db'))
  t.same(
    [modeOf(directory), modeOf(join(directory, '..')), modeOf(join(directory, 'headgate.db'))],
    [0o700, 0o700, 0o600]
  )
  t.equal(statSync(join(directory, 'headgate.db')).size, 0)
})

t.test('an existing file is left as it is', async t => {
  const path = join(t.testdir({ file: 'content' }), 'file')
  const before = statSync(path)
  createPrivately(path)
  t.same([statSync(path).size, statSync(path).mode], [before.size, before.mode])
})

t.test(
  'a file that cannot be created is an error, without endless retries',
  { skip: process.platform !== 'linux' && 'no /proc' },
  async t => {
    t.throws(() => createDirectory('/proc/headgate/data'), { code: 'ENOENT' })
    const file = join(t.testdir({ file: '' }), 'file')
    t.throws(() => createPrivately(join(file, 'headgate.db')), { code: 'ENOTDIR' })
    t.equal(existsSync(join(file, 'headgate.db')), false)
  }
)

t.test('a file is distinguished from another one that takes its path', async t => {
  const directory = t.testdir({ one: '', two: '' })
  const [one, two] = [join(directory, 'one'), join(directory, 'two')]
  const id = fileId(one)
  writeFileSync(one, 'changed')
  t.equal(fileId(one), id)
  renameSync(two, one)
  t.not(fileId(one), id)
  t.equal(fileId(two), undefined)
})
