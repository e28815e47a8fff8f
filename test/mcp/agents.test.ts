import t from 'tap'
import { createAgents } from '../../lib/mcp/agents.ts'
import { loadUndici } from '../../lib/net/load-undici.ts'

t.test('each agent is made once, when it is first needed, and all are ended together', async t => {
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

t.test('undici is loaded once', async t => {
  t.equal(loadUndici(), loadUndici())
})
