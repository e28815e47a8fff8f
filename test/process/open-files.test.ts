import { join } from 'node:path'
import t from 'tap'
import { openFiles } from '../../lib/process/open-files.ts'

const server = { maxClientConnections: 10_000 }

t.test('a limit below what callers and providers may take is low', async t => {
  const limits = (soft: string): string => `Limit                     Soft Limit           Hard Limit           Units     
Max processes             1024                 1024                 processes 
Max open files            ${soft.padEnd(20)} 524288               files     
`
  const directory = t.testdir({ few: limits('1024'), many: limits('65536'), any: limits('unlimited'), none: 'nothing of the kind' })
  const of = (name: string) => openFiles(server, join(directory, name))
  t.same(of('few'), { limit: 1024, wanted: 20_000, low: true })
  t.same(of('many'), { limit: 65_536, wanted: 20_000, low: false })
  for (const name of ['any', 'none', 'missing']) t.same(of(name), { wanted: 20_000, low: false }, name)
})
