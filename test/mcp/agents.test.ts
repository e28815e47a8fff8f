import t from 'tap'
import { createAgents } from '../../lib/mcp/agents.ts'
import { loadUndici } from '../../lib/net/load-undici.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { until } from '../support/until.ts'

t.test('each agent is created once, on first use, and all are closed together', async t => {
  const agents = createAgents({ allowedHosts: [], connectMs: 1000 })
  const [checked, open] = [agents.checked(), agents.open()]
  t.equal(agents.checked(), checked)
  t.equal(agents.open(), open)
  t.not(checked, open)
  await agents.destroy()
  t.same([checked.destroyed, open.destroyed], [true, true])
  await t.resolves(
    createAgents({ allowedHosts: [], connectMs: 1000 }).destroy(),
    'also where none was needed'
  )
})

t.test('connections that the proxy has not completed are closed with the agents', async t => {
  const proxy = await startConnectProxy(t, 'nothing')
  const agents = createAgents({ allowedHosts: ['10.0.0.1'], connectMs: 60_000, proxy: proxy.url })
  const request = agents.checked().request({ origin: 'http://10.0.0.1', path: '/', method: 'GET' })
  const failed = t.rejects(request, { code: 'UND_ERR_DESTROYED' })
  await until(() => proxy.requests.length === 1, 'the proxy to be asked')
  await agents.destroy()
  await failed
  await until(() => proxy.connections() === 0, 'the proxy to see it closed')
})

t.test('undici is loaded once', async t => {
  t.equal(loadUndici(), loadUndici())
})
