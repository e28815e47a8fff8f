import { once } from 'node:events'
import t from 'tap'
import { mountGateway } from '../../examples/mounted-gateway.ts'
import type { AddressInfo } from 'node:net'

t.test('a Koa app serves the gateway next to its own routes', async t => {
  const lines = t.capture(console, 'log')
  const { gateway, server } = await mountGateway({}, t.testdir())
  t.teardown(async () => await gateway.close())
  t.teardown(() => { server.close().closeAllConnections() })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on TCP
  const url = `http://127.0.0.1:${port}`
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: 'Is anyone there?' })
  })
  t.match(await answer.json(), { choices: [{ message: { content: /anyone/ } }] })
  t.equal(answer.headers.get('x-served-by'), 'my app')
  t.equal(await (await fetch(`${url}/hello`)).text(), 'Hello from my app')
  t.match(
    lines().map(({ args }) => args[0]),
    [/^POST \/v1\/chat\/completions 200 \d+ ms$/, /^GET \/hello 200 \d+ ms$/]
  )
})
