import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { replaceFile } from '../../lib/net/replace-file.ts'

t.test('a file is replaced entirely, and a link is replaced by a file', async t => {
  const directory = t.testdir({ file: 'before', other: 'other' })
  symlinkSync(join(directory, 'other'), join(directory, 'link'))
  for (const name of ['file', 'link']) {
    const path = join(directory, name)
    replaceFile(path, 'after', 0o600)
    t.equal(readFileSync(path, 'utf8'), 'after', name)
    t.equal(statSync(path).mode & 0o777, 0o600)
  }
  t.equal(readFileSync(join(directory, 'other'), 'utf8'), 'other')
})

t.test('a failed check leaves the file unchanged, and no other file beside it', async t => {
  const directory = t.testdir({})
  const path = join(directory, 'file')
  writeFileSync(path, 'before')
  t.throws(
    () => replaceFile(path, 'after', 0o600, file => {
      t.equal(readFileSync(file, 'utf8'), 'after')
      throw new Error('refused')
    }),
    { message: 'refused' }
  )
  t.equal(readFileSync(path, 'utf8'), 'before')
  t.same(readdirSync(directory), ['file'])
})
