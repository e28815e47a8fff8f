import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readRegularFile, readTextFile } from '../../lib/net/read-regular-file.ts'

t.test('a file is read, also through a link', async t => {
  const directory = t.testdir({ file: `über ${'x'.repeat(200_000)}`, empty: '' })
  symlinkSync(join(directory, 'file'), join(directory, 'link'))
  t.equal(readTextFile(join(directory, 'link')), `über ${'x'.repeat(200_000)}`)
  t.equal(readRegularFile(join(directory, 'empty')).length, 0)
})

t.test('anything but a regular file, or a file that is too large, is refused at once', async t => {
  const directory = t.testdir({})
  const at = (name: string): string => join(directory, name)
  execFileSync('mkfifo', [at('pipe')])
  mkdirSync(at('directory'))
  writeFileSync(at('large'), '')
  truncateSync(at('large'), 16 * 1024 * 1024 + 1)
  for (const [path, code] of [
    [at('pipe'), 'not a regular file'], [at('directory'), 'EISDIR'], ['/dev/zero', 'not a regular file'],
    [at('large'), 'larger than 16 MB'], [at('nothing'), 'ENOENT']
  ] as const) t.throws(() => readRegularFile(path), { code }, path)
})
