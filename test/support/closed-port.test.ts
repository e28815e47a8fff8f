import { existsSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { closedPort, closedUrl } from './closed-port.ts'

const range = '/proc/sys/net/ipv4/ip_local_port_range'

t.test('the closed port refuses sockets and fetch', async t => {
  await t.rejects(once(connect(closedPort, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
  await t.rejects(fetch(closedUrl), { cause: { code: 'ECONNREFUSED' } })
})

t.test('no server that listens on port 0 gets it', { skip: !existsSync(range) && 'not Linux' }, async t => {
  const [first = 0] = readFileSync(range, 'utf8').trim().split(/\s+/).map(Number)
  t.ok(first > closedPort, `the system gives ports from ${first} on`)
})
