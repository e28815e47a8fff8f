import { join } from 'node:path'
import t from 'tap'
import { openFiles } from '../../lib/http/open-files.ts'

const server = { maxClientConnections: 10_000 }

t.test('half of the file descriptors are for callers, half for providers', async t => {
  const limits = (
    soft: string
  ): string => `Limit                     Soft Limit           Hard Limit           Units     
Max processes             1024                 1024                 processes 
Max open files            ${soft.padEnd(20)} 524288               files     
`
  const directory = t.testdir({
    few: limits('1024'),
    least: limits('20'),
    many: limits('65536'),
    any: limits('unlimited'),
    none: 'nothing of the kind'
  })
  const of = (name: string) => openFiles(server, join(directory, name))
  t.same(of('few'), { limit: 1024, wanted: 20_000, low: true, connections: 480 })
  t.same(of('many'), { limit: 65_536, wanted: 20_000, low: false, connections: 10_000 })
  t.equal(of('least').connections, 1, 'it answers in any case')
  for (const name of ['any', 'none', 'missing']) {
    t.same(of(name), { wanted: 20_000, low: false, connections: 10_000 }, name)
  }
})
