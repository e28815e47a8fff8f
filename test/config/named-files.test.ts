import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { namedFiles } from '../../lib/config/named-files.ts'

t.test('a configuration may name any file, a draft only files in use or in its directory', async t => {
  const root = t.testdir({ outside: 'a', used: 'b', here: { below: 'c', '..odd': 'e', deep: { file: 'd' } } })
  const directory = join(root, 'here')
  symlinkSync(join(root, 'outside'), join(directory, 'link'))
  symlinkSync(root, join(directory, 'up'))
  symlinkSync(join(directory, 'below'), join(directory, 'own-link'))
  const all = namedFiles(directory)
  t.same([all.read('../outside'), all.read('below')], ['a', 'c'])
  t.same([...all.named], [join(root, 'outside'), join(directory, 'below')])

  const draft = namedFiles(directory, new Set([join(root, 'used')]))
  t.same(['below', 'deep/file', '..odd', 'own-link', '../used', join(root, 'used')].map(draft.read), [
    'c',
    'd',
    'e',
    'c',
    'b',
    'b'
  ])
  for (const path of [
    '../outside',
    join(root, 'outside'),
    'deep/../../outside',
    'link',
    'up/outside',
    '/etc/hostname',
    '..',
    '.'
  ]) {
    t.throws(() => draft.read(path), { code: /outside the directory/ }, path)
  }
  t.throws(() => draft.read('nothing'), { code: 'ENOENT' })
})
